use pickfs_sys::mount::{MountRequest, Mounted};
use pickfs_testkit::only_if;
use serde_json::{Value, json};

use crate::spoken::{converse, ended, may_mount, spec};

/// What a journal says on ramfs: once it is ready, and at its end.
fn on_ramfs(params: Value) -> (String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let request = MountRequest::new("pickfs-test", folder.path(), "ramfs");
    let mounted = Mounted::mount(&request).expect("root may mount");
    let mut spec = spec("journal", params, folder.path());
    spec.measure_ns = 200_000_000;
    let messages = converse(&spec);
    mounted.unmount().expect("nobody uses it");
    (format!("{:?}", messages.get(1)), ended(&messages))
}

#[test]
fn a_refused_way_is_skipped_with_its_name_and_a_fallback_is_told() {
    only_if!(may_mount());
    for (params, way) in [
        (json!({ "write_path": "direct", "preallocation": "none" }), "O_DIRECT"),
        (json!({ "preallocation": "fallocate" }), "fallocate"),
    ] {
        let (_, end) = on_ramfs(params);
        let told = end.starts_with("Skipped") && end.contains(way) && end.contains("refused");
        assert!(told, "{end}");
    }
    let (ready, end) = on_ramfs(json!({ "preallocation": "fallocate", "fallback": "allow" }));
    assert_eq!(end, "Finished");
    assert!(ready.contains("zero-filled instead"), "{ready}");
}
