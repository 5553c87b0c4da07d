#![allow(clippy::unwrap_used)]

use pickfs_record::TrialSpec;
use pickfs_testkit::{fake_spec, params};
use pickfs_workload::{Session, find};
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
        let spec = TrialSpec {
            warmup_ns: 1_000_000,
            measure_ns: 20_000_000,
            ..fake_spec("journal", folder.path(), params(way.clone()))
        };
        let session = Session::new(spec, None).unwrap();
        let mut prepared = find("journal").unwrap().make_ready(&session).unwrap();
        prepared.warm_up(&session).unwrap();
        let measured = prepared.measure(&session).unwrap();
        for name in ["append", "durable"] {
            let op = measured.ops.iter().find(|op| op.op == name).unwrap();
            let missed = measured.load.missed;
            assert_eq!(op.service.count, measured.load.arrivals, "{name}, {way}");
            assert_eq!(
                op.response.as_ref().unwrap().count,
                measured.load.arrivals + missed,
                "{name}, {way}"
            );
        }
    }
}
