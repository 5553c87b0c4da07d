//! A whole trial of a workload with threads of its own, and the times of one operation.
#![allow(dead_code, clippy::unwrap_used)]

use std::path::Path;

use pickfs_record::{TrialSpec, record::OpRecord};
use pickfs_testkit::{fake_spec, params};
use pickfs_workload::{Measured, Session, find};
use serde_json::Value;

pub fn session(workload: &str, directory: &Path, asked: Value) -> Session {
    pickfs_engine_workloads::add();
    let (warmup_ns, measure_ns) = (20_000_000, 150_000_000);
    let spec = fake_spec(workload, directory, params(asked));
    Session::new(TrialSpec { warmup_ns, measure_ns, ..spec }, None).unwrap()
}

/// What was measured and how much was compared.
pub fn whole(workload: &str, asked: Value) -> (Measured, u64) {
    let folder = tempfile::tempdir().unwrap();
    let session = session(workload, folder.path(), asked);
    let mut prepared = find(workload).unwrap().make_ready(&session).unwrap();
    prepared.warm_up(&session).unwrap();
    let measured = prepared.measure(&session).unwrap();
    let checked = prepared.verify(&session).unwrap();
    (measured, checked)
}

pub fn op<'a>(measured: &'a Measured, name: &str) -> &'a OpRecord {
    measured.ops.iter().find(|op| op.op == name).unwrap()
}
