mod spoken;

use std::path::Path;

use pickfs_record::WorkerMessage;
use pickfs_sys::mount::{MountRequest, Mounted};
use serde_json::{Value, json};

use crate::spoken::{converse, may_mount, spec};

fn on_a_small_disk(params: Value) -> (Option<WorkerMessage>, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let request = MountRequest::new("pickfs-test", folder.path(), "tmpfs").options("size=1m");
    let mounted = Mounted::mount(&request).expect("root may mount");
    let spoken = spoken_on(folder.path(), params);
    mounted.unmount().expect("nobody uses it");
    spoken
}

fn spoken_on(directory: &Path, params: Value) -> (Option<WorkerMessage>, String) {
    let mut spec = spec("journal", params, directory);
    spec.measure_ns = 3_000_000_000;
    let (mut messages, said) = spoken::converse_with_errors(&spec);
    (messages.pop(), said)
}

#[test]
fn a_full_disk_is_a_failure_with_call_file_and_cause() {
    if !may_mount() {
        return;
    }
    let params = json!({ "preallocation": "none", "sync": "none", "rate": 5000, "size": 1024 });
    let (last, _) = on_a_small_disk(params);
    let Some(WorkerMessage::Failed { reason }) = last else { panic!("{last:?}") };
    assert!(reason.contains("write 0000000001.journal"), "{reason}");
    assert!(reason.contains("No space left on device"), "{reason}");
}

#[test]
fn a_full_disk_under_a_mapping_ends_with_a_line() {
    if !may_mount() {
        return;
    }
    let params = json!({
        "preallocation": "sparse", "write_path": "mmap", "sync": "msync", "rate": 5000, "size": 1024,
    });
    let (last, said) = on_a_small_disk(params);
    let has_finished = matches!(last, Some(WorkerMessage::Finished));
    assert!(!has_finished);
    assert!(said.contains("SIGBUS in mapped file") && said.contains("journal-0"), "{said}");
}

#[test]
fn preparation_that_does_not_fit_is_a_failure_too() {
    if !may_mount() {
        return;
    }
    let (last, _) = on_a_small_disk(json!({ "preallocation": "zero-filled" }));
    let Some(WorkerMessage::Failed { reason }) = last else { panic!("{last:?}") };
    assert!(reason.contains("No space left on device"), "{reason}");
}

#[test]
fn the_unharmed_disk_is_enough_for_a_short_trial() {
    if !may_mount() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let messages = converse(&spec("journal", json!({ "sync": "none" }), folder.path()));
    assert_eq!(messages.last(), Some(&WorkerMessage::Finished));
}
