#![allow(clippy::unwrap_used)]

use std::{
    sync::{Arc, Mutex},
    thread::{self, ThreadId},
};

use pickfs_record::TrialSpec;
use pickfs_testkit::{fake_spec, params};
use pickfs_workload::{
    Fault, Session, find,
    phase::{Gate, LabLine},
};
use serde_json::json;

/// Who said that all is ready.
struct Lab {
    said: Mutex<Vec<ThreadId>>,
    is_gone: bool,
}

impl LabLine for Lab {
    fn begin(&self) -> Result<(), Fault> {
        self.said.lock().unwrap().push(thread::current().id());
        let gone = || Err(Fault::Failed { reason: "the lab is gone".into() });
        if self.is_gone { gone() } else { Ok(()) }
    }

    fn phase_begins(&self, _phase: &str, _number: u32) -> Result<(), Fault> {
        Ok(())
    }

    fn make_cold(&self) -> Result<(), Fault> {
        Ok(())
    }
}

/// Its recorder is there then.
#[test]
fn the_writer_alone_says_that_it_is_ready_and_what_runs_beside_it_ends_with_it() {
    for is_gone in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let asked = json!({
            "rate": 2000, "sync": "none", "file_size": "256KiB",
            "readers": 3, "reader_rate": 500, "neighbour_rate": 50,
        });
        let spec = TrialSpec {
            warmup_ns: 1_000_000,
            measure_ns: 20_000_000,
            ..fake_spec("journal", folder.path(), params(asked))
        };
        let lab = Arc::new(Lab { said: Mutex::default(), is_gone });
        let session = Session::new(spec, None).unwrap().among(Gate::default(), lab.clone());
        let mut prepared = find("journal").unwrap().make_ready(&session).unwrap();
        prepared.warm_up(&session).unwrap();
        let measured = prepared.measure(&session);
        assert_eq!(*lab.said.lock().unwrap(), [thread::current().id()]);
        match measured {
            Ok(measured) => {
                let reads = measured.ops.iter().filter(|op| op.op.starts_with("read"));
                assert!(!is_gone && reads.count() == 3, "{:?}", measured.counts);
            }
            Err(fault) => assert!(is_gone && fault.to_string().contains("the lab is gone")),
        }
    }
}

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
