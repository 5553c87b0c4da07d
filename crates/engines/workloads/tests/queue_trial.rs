#![allow(clippy::unwrap_used)]

mod trial;

use pickfs_record::Durability;
use pickfs_testkit::params;
use pickfs_workload::find;
use serde_json::{Value, json};
use trial::{op, session, whole};

/// A tailer in a process of its own needs the worker: crates/core/cli/tests/cli/worker_roles.rs.
fn with_thread(asked: Value) -> Value {
    let mut whole = params(json!({ "reader": "thread" }));
    whole.extend(params(asked));
    Value::Object(whole)
}

#[test]
fn every_message_has_a_operation_on_both_sides_and_is_compared() {
    let ways = [
        json!({}),
        json!({ "tailer": "read", "allocation": "sparse", "touch": "none", "madvise": "normal" }),
        json!({ "allocation": "zero-fill", "touch": "populate", "prepare": "inline" }),
        json!({ "touch": "ahead", "touch_pages": 8, "sync": "msync-async", "sync_every": 100 }),
        json!({ "sync": "fdatasync", "sync_period": "20ms", "chunk": "64KiB" }),
    ];
    for way in ways {
        let mut asked = json!({ "rate": 2000, "segment_size": "256KiB", "wait": "sleep" });
        asked.as_object_mut().unwrap().extend(params(way.clone()));
        let (measured, checked) = whole("queue", with_thread(asked));
        let arrivals = measured.load.arrivals;
        assert!(arrivals > 0, "{way}");
        for name in ["append", "write-to-read"] {
            assert_eq!(op(&measured, name).service.count, arrivals, "{way}: {name}");
            assert_eq!(
                op(&measured, name).response.as_ref().unwrap().count,
                arrivals,
                "{way}: {name}"
            );
        }
        assert_eq!(measured.counts["messages"] as u64, arrivals);
        assert!(checked >= arrivals, "{way}: {checked} of {arrivals}");
    }
}

#[test]
fn the_noise_floor_has_the_same_operations_and_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let session =
        session("queue", folder.path(), with_thread(json!({ "medium": "memory", "rate": 2000 })));
    let mut prepared = find("queue").unwrap().make_ready(&session).unwrap();
    prepared.warm_up(&session).unwrap();
    let measured = prepared.measure(&session).unwrap();
    assert_eq!(op(&measured, "write-to-read").service.count, measured.load.arrivals);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_closed_loop_runs_without_a_tailer_and_old_files_go() {
    let (measured, checked) = whole(
        "queue",
        with_thread(json!({
            "arrival": "closed", "tailer": "none", "segment_size": "64KiB", "keep": "128KiB",
            "size": 4096,
        })),
    );
    assert_eq!(measured.ops.len(), 1);
    assert!(op(&measured, "append").response.is_none());
    assert!(measured.counts["rolls"] > 0.0);
    assert!(checked < measured.load.arrivals, "{checked} of {}", measured.load.arrivals);
}

#[test]
fn parameters_that_do_not_go_together_are_told_and_durability_follows_the_sync() {
    pickfs_engine_workloads::add();
    let queue = find("queue").unwrap();
    let resolved = |value: Value| queue.validate(&params(value)).unwrap();
    assert!(queue.validate(&params(json!({ "size": 23 }))).is_err());
    assert!(queue.validate(&params(json!({ "size": "1MiB", "segment_size": "64KiB" }))).is_err());
    assert!(
        (queue.incompatible)(&resolved(json!({ "medium": "memory", "tailer": "read" }))).is_some()
    );
    assert!(
        (queue.incompatible)(&resolved(json!({ "medium": "memory", "sync": "msync" }))).is_some()
    );
    let classes = [
        (json!({ "medium": "memory" }), Durability::Nothing),
        (json!({}), Durability::ProcessCrash),
        (json!({ "sync": "msync-async" }), Durability::ProcessCrash),
        (json!({ "sync": "msync" }), Durability::PowerLoss),
        (json!({ "sync": "fdatasync", "sync_every": 2 }), Durability::ProcessCrash),
    ];
    for (asked, class) in classes {
        assert_eq!((queue.durability)(&resolved(asked.clone())), class, "{asked}");
    }
}
