use std::path::Path;

use pickfs_record::{FORMAT, TrialSpec, WorkerMessage, trial::SUSTAINED_KEYS};
use pickfs_workload::BUILD;
use serde_json::json;

use crate::spoken::{arrivals, converse, count, ended, finished, operations, played, spec};

fn verified(messages: &[WorkerMessage]) -> u64 {
    let checked = messages.iter().find_map(|message| match message {
        WorkerMessage::Verified { checked } => Some(*checked),
        _ => None,
    });
    checked.expect("what was written is verified")
}

#[test]
fn the_null_workload_goes_through_the_whole_conversation() {
    let messages = played(1_200, "null", json!({}));
    let hello = WorkerMessage::Hello { format: FORMAT, build: BUILD.into() };
    assert_eq!(messages.first(), Some(&hello));
    assert!(matches!(messages[1], WorkerMessage::Ready { warmup_ns: 50_000_000.., .. }));
    assert_eq!(operations(&messages, "null"), arrivals(&messages));
    assert!(arrivals(&messages).is_some_and(|arrivals| arrivals > 1000));
}

#[test]
fn a_journal_is_written_synced_and_verified_record_by_record() {
    let params = json!({ "sync": "fdatasync", "rate": 200, "size": "100-300" });
    let messages = played(1_200, "journal", params);
    let appends = operations(&messages, "append").expect("appends");
    // 240 where the machine is idle.
    assert!((100..=240).contains(&appends), "{appends}");
    assert_eq!(operations(&messages, "sync"), Some(appends));
    assert_eq!(operations(&messages, "durable"), Some(appends));
    assert_eq!(count(&messages, "syncs"), Some(appends as f64));
    let without_io = ["no_io_p50_ns", "no_io_p99_ns", "no_io_max_ns"].map(|n| count(&messages, n));
    assert!(without_io.is_sorted() && without_io[0] > Some(0.0), "{without_io:?}");
    assert!(verified(&messages) >= appends, "{messages:?}");
}

/// The closed loop comes after the measured one: its records are verified and no operation of theirs is kept.
#[test]
fn what_a_journal_sustains_is_counted_behind_what_it_measured() {
    for (sync, final_sync) in [("none", vec!["append".to_owned()]), ("fdatasync", Vec::new())] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut spec = spec("journal", json!({ "sync": sync, "rate": 200 }), folder.path());
        (spec.sustain_ns, spec.final_sync) = (100_000_000, final_sync);
        let messages = converse(&spec);
        assert!(finished(&messages), "{messages:?}");
        let [arrivals, ns] = SUSTAINED_KEYS.map(|key| count(&messages, key).expect(key));
        assert!(arrivals > 1.0 && ns >= 1e8, "{arrivals} in {ns} ns");
        assert_eq!(operations(&messages, "append"), crate::spoken::arrivals(&messages), "{sync}");
        let checked = verified(&messages) as f64;
        assert!(checked >= arrivals, "{checked} of {arrivals}");
    }
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
        let params = json!({
            "write_path": path, "preallocation": preallocation, "sync": sync,
            "rate": 400, "file_size": "16KiB", "fallback": "allow",
        });
        let messages = played(400, "journal", params);
        assert!(operations(&messages, "roll").is_some_and(|rolls| rolls > 0), "{path}");
        assert!(operations(&messages, "append") == arrivals(&messages), "{path}");
    }
}

#[test]
fn what_cannot_be_run_is_a_failure_in_words() {
    let of = |workload, params, folder| spec(workload, params, Path::new(folder));
    let recording = json!({ "arrival": "recorded", "recording": "/nowhere/a.csv" });
    for (spec, told) in [
        (of("journal", json!({}), "/proc/1/no"), "/proc/1/no"),
        (of("journal", recording, "/tmp"), "/nowhere/a.csv: No such file"),
        (TrialSpec { build: "0.0.0".into(), ..of("null", json!({}), "/") }, "0.0.0"),
        (of("nul", json!({}), "/"), "did you mean `null`?"),
    ] {
        let end = ended(&converse(&spec));
        assert!(end.starts_with("Failed") && end.contains(told), "{end}");
    }
}
