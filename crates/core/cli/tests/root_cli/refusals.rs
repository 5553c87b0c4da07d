use pickfs_record::WorkerMessage;
use pickfs_sys::mount::{MountRequest, Mounted};
use pickfs_testkit::only_if;
use serde_json::{Value, json};

use crate::spoken::{converse, may_mount, spec};

fn on_ramfs(params: Value) -> Vec<WorkerMessage> {
    let folder = tempfile::tempdir().expect("a folder");
    let request = MountRequest::new("pickfs-test", folder.path(), "ramfs");
    let mounted = Mounted::mount(&request).expect("root may mount");
    let mut spec = spec("journal", params, folder.path());
    spec.measure_ns = 200_000_000;
    let messages = converse(&spec);
    mounted.unmount().expect("nobody uses it");
    messages
}

#[test]
fn a_refused_way_is_skipped_with_its_name() {
    only_if!(may_mount());
    for (params, way) in [
        (json!({ "write_path": "direct", "preallocation": "none" }), "O_DIRECT"),
        (json!({ "preallocation": "fallocate" }), "fallocate"),
    ] {
        let messages = on_ramfs(params);
        let Some(WorkerMessage::Skipped { reason }) = messages.last() else {
            panic!("{messages:?}");
        };
        assert!(reason.contains(way) && reason.contains("refused"), "{reason}");
    }
}

#[test]
fn a_fallback_is_told() {
    only_if!(may_mount());
    let messages = on_ramfs(json!({ "preallocation": "fallocate", "fallback": "allow" }));
    assert_eq!(messages.last(), Some(&WorkerMessage::Finished), "{messages:?}");
    let Some(WorkerMessage::Ready { notes, .. }) = messages.get(1) else { panic!("{messages:?}") };
    assert!(notes.iter().any(|note| note.contains("zero-filled instead")), "{notes:?}");
}
