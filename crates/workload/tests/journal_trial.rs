#![allow(clippy::unwrap_used)]

use pickfs_model::{FORMAT, TrialSpec};
use pickfs_workload::{BUILD, Session, find};
use serde_json::json;

#[test]
fn records_that_wait_for_their_sync_when_the_time_is_over_are_kept() {
    // Far more than any disk takes: the last group is always open.
    for way in [
        json!({ "sync_every": "group", "rate": 2_000_000 }),
        json!({ "sync_every": "64", "rate": 100_000 }),
        json!({ "sync_every": "64", "rate": 2_000_000, "batch": 8 }),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let spec: TrialSpec = serde_json::from_value(json!({
            "format": FORMAT, "build": BUILD, "directory": folder.path(), "role": "appender", "lane": 0,
            "workload": { "name": "journal", "version": 3, "params": way }, "seed": 42, "warmup_ns": 1_000_000,
            "warmup_bytes": 0, "measure_ns": 20_000_000, "spikes_max": 3, "drop_caches": false,
        }))
        .unwrap();
        let session = Session::new(spec, None).unwrap();
        let mut prepared = find("journal").unwrap().prepare(&session).unwrap();
        prepared.warm_up(&session).unwrap();
        let measured = prepared.measure(&session).unwrap();
        for name in ["append", "durable"] {
            let op = measured.ops.iter().find(|op| op.op == name).unwrap();
            let missed = measured.load.missed;
            assert_eq!(op.service.count, measured.load.turns, "{name}, {way}");
            assert_eq!(
                op.response.as_ref().unwrap().count,
                measured.load.turns + missed,
                "{name}, {way}"
            );
        }
    }
}
