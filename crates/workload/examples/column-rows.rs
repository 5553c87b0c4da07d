//! Runs the column workload alone in a directory and prints a line for each row: no lab, one lane,
//! caches dropped by file.

use std::{error::Error, path::PathBuf};

use pickfs_model::{FORMAT, TrialSpec, WorkloadSpec};
use pickfs_workload::{BUILD, Session, find, phase::merged_phases};

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let directory = PathBuf::from(words.next().ok_or("name a directory")?);
    let params = serde_json::from_str(&words.next().unwrap_or_else(|| "{}".into()))?;
    let column = find("column")?;
    let session = Session::new(spec(directory, column.version(), params), None)?;
    let mut prepared = column.prepare(&session)?;
    let measured = prepared.measure(&session)?;
    let checked = prepared.verify(&session)?;
    let mut phases = merged_phases(std::slice::from_ref(&measured.phases));
    column.derive(&session.params, &mut phases);
    measured.notes.iter().for_each(|note| println!("{note}"));
    println!("{:<44} {:>12} {:>12}  doubts", "row", "seconds", "MB/s");
    for phase in &phases {
        let doubts: Vec<&str> = phase.flags.iter().map(|flag| flag.kind.as_str()).collect();
        let (seconds, rate) = (phase.elapsed_ns as f64 / 1e9, phase.rate_per_s / 1e6);
        println!("{:<44} {seconds:>12.6} {rate:>12.2}  {}", phase.phase, doubts.join(" "));
    }
    println!("{checked} files compared");
    Ok(())
}

fn spec(
    directory: PathBuf,
    version: u32,
    params: serde_json::Map<String, serde_json::Value>,
) -> TrialSpec {
    TrialSpec {
        format: FORMAT,
        build: BUILD.into(),
        workload: WorkloadSpec { name: "column".into(), version, params },
        directory,
        role: "lane".into(),
        lane: 0,
        lanes: 1,
        seed: 7,
        warmup_ns: 0,
        warmup_bytes: 0,
        measure_ns: 0,
        cpu: None,
        helper_cpu: None,
        cpus: Vec::new(),
        scratch_bytes: None,
        io_priority: None,
        spikes_max: 0,
        drop_caches: false,
    }
}
