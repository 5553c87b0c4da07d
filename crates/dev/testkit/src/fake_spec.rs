use std::path::Path;

use pickfs_record::{FORMAT, TrialSpec, WorkloadSpec};
use serde_json::{Map, Value};

/// The fields of a JSON object: parameters of a workload.
///
/// # Panics
/// Where it is none.
pub fn params(value: Value) -> Map<String, Value> {
    let Value::Object(params) = value else { panic!("{value} is no object") };
    params
}

/// One lane's trial for any build: no warm-up, nothing measured by the clock, no caches dropped.
pub fn fake_spec(workload: &str, directory: &Path, params: Map<String, Value>) -> TrialSpec {
    TrialSpec {
        format: FORMAT,
        build: String::new(),
        workload: WorkloadSpec { name: workload.into(), version: 1, params },
        directory: directory.into(),
        role: "appender".into(),
        lane: 0,
        lanes: 1,
        seed: 42,
        warmup_ns: 0,
        warmup_bytes: 0,
        measure_ns: 0,
        cpu: None,
        helper_cpu: None,
        cpus: Vec::new(),
        scratch_bytes: None,
        io_priority: None,
        spikes_max: 5,
        drop_caches: false,
        final_sync: Vec::new(),
        sustain_ns: 0,
        among: None,
    }
}
