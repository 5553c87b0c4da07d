//! The real binary, spoken to as the lab does.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, Command, Stdio},
};

use pickfs_model::{FORMAT, TrialSpec, WorkerMessage, WorkloadSpec};
use pickfs_workload::BUILD;
use serde_json::{Map, Value, json};

fn spec(workload: &str, params: Value, directory: &Path) -> TrialSpec {
    let params: Map<String, Value> = params.as_object().expect("an object").clone();
    let version = pickfs_workload::find(workload).map_or(1, |workload| workload.version());
    TrialSpec {
        format: FORMAT,
        build: BUILD.into(),
        workload: WorkloadSpec { name: workload.into(), version, params },
        directory: directory.into(),
        role: "appender".into(),
        lane: 0,
        seed: 7,
        warmup_ns: 50_000_000,
        warmup_bytes: 0,
        measure_ns: 1_200_000_000,
        cpu: None,
        helper_cpu: None,
        live_fd: None,
        spikes_max: 5,
        drop_caches: false,
    }
}

fn worker() -> Child {
    Command::new(env!("CARGO_BIN_EXE_pickfs-worker"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the worker starts")
}

/// Plays a whole trial and gives every message.
fn converse(spec: &TrialSpec) -> Vec<WorkerMessage> {
    let mut worker = worker();
    let mut input = worker.stdin.take().expect("piped");
    let output = BufReader::new(worker.stdout.take().expect("piped"));
    writeln!(input, "{}", serde_json::to_string(spec).expect("JSON")).expect("it reads");
    let mut messages = Vec::new();
    for line in output.lines() {
        let message = serde_json::from_str(&line.expect("text")).expect("a message");
        if matches!(message, WorkerMessage::Ready { .. }) {
            writeln!(input, "go").expect("it waits");
        }
        messages.push(message);
    }
    worker.wait().expect("it ends");
    messages
}

fn count(messages: &[WorkerMessage], wanted: &str) -> Option<f64> {
    messages.iter().find_map(|message| match message {
        WorkerMessage::Count { name, value } if name == wanted => Some(*value),
        _ => None,
    })
}

fn laps(messages: &[WorkerMessage], wanted: &str) -> Option<u64> {
    messages.iter().find_map(|message| match message {
        WorkerMessage::Op(op) if op.op == wanted => Some(op.service.count),
        _ => None,
    })
}

fn turns(messages: &[WorkerMessage]) -> Option<u64> {
    messages.iter().find_map(|message| match message {
        WorkerMessage::Load(load) => Some(load.turns),
        _ => None,
    })
}

fn finished(messages: &[WorkerMessage]) -> bool {
    matches!(messages.last(), Some(WorkerMessage::Finished))
}

#[test]
fn the_null_workload_goes_through_the_whole_conversation() {
    let folder = tempfile::tempdir().expect("a folder");
    let messages = converse(&spec("null", json!({}), folder.path()));
    let hello = WorkerMessage::Hello { format: FORMAT, build: BUILD.into() };
    assert_eq!(messages.first(), Some(&hello));
    assert!(matches!(messages[1], WorkerMessage::Ready { warmup_ns: 50_000_000.., .. }));
    assert!(finished(&messages), "{messages:?}");
    assert_eq!(laps(&messages, "null"), turns(&messages));
    assert!(turns(&messages).is_some_and(|turns| turns > 1000));
}

#[test]
fn a_journal_is_written_synced_and_verified_record_by_record() {
    let folder = tempfile::tempdir().expect("a folder");
    let params = json!({ "sync": "fdatasync", "rate": 200, "size": "100-300" });
    let messages = converse(&spec("journal", params, folder.path()));
    assert!(finished(&messages), "{messages:?}");
    let appends = laps(&messages, "append").expect("appends");
    assert!((200..=240).contains(&appends), "{appends}");
    assert_eq!(laps(&messages, "sync"), Some(appends));
    assert_eq!(laps(&messages, "durable"), Some(appends));
    assert_eq!(count(&messages, "syncs"), Some(appends as f64));
    let checked = messages.iter().find_map(|message| match message {
        WorkerMessage::Verified { checked } => Some(*checked),
        _ => None,
    });
    assert!(checked.is_some_and(|checked| checked >= appends), "{checked:?}");
}

#[test]
fn every_write_path_is_verified() {
    for (path, preallocation, sync) in [
        ("seek-write", "none", "none"),
        ("append", "precreated", "fsync"),
        ("pwritev", "sparse", "o-dsync"),
        ("mmap", "zero-filled", "msync"),
        ("direct", "fallocate", "rwf-dsync"),
        ("io-uring", "recycled", "fdatasync"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let params = json!({
            "write_path": path, "preallocation": preallocation, "sync": sync,
            "rate": 400, "file_size": "16KiB", "fallback": "allow",
        });
        let mut spec = spec("journal", params, folder.path());
        spec.measure_ns = 400_000_000;
        let messages = converse(&spec);
        assert!(finished(&messages), "{path}: {messages:?}");
        assert!(laps(&messages, "roll").is_some_and(|rolls| rolls > 0), "{path}");
        assert!(laps(&messages, "append") == turns(&messages), "{path}");
    }
}

#[test]
fn what_does_not_go_together_is_skipped_with_the_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let messages = converse(&spec("journal", json!({ "sync": "msync" }), folder.path()));
    let Some(WorkerMessage::Skipped { reason }) = messages.last() else {
        panic!("{messages:?}");
    };
    assert!(reason.contains("msync") && reason.contains("pwrite"), "{reason}");
}

#[test]
fn a_missing_directory_and_a_strange_build_are_failures_in_words() {
    let last = |spec: &TrialSpec| match converse(spec).pop() {
        Some(WorkerMessage::Failed { reason }) => reason,
        other => panic!("{other:?}"),
    };
    let reason = last(&spec("journal", json!({}), Path::new("/proc/1/no")));
    assert!(reason.contains("/proc/1/no"), "{reason}");
    let mut strange = spec("null", json!({}), Path::new("/"));
    strange.build = "0.0.0".into();
    assert!(last(&strange).contains("0.0.0"));
    let unknown = spec("nul", json!({}), Path::new("/"));
    assert!(last(&unknown).contains("did you mean `null`?"));
}
