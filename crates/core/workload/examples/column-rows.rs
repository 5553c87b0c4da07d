//! Runs the column workload alone in a directory and prints a line for each row: no lab, one lane,
//! caches dropped by file.

use std::{error::Error, path::PathBuf};

use pickfs_testkit::fake_spec;
use pickfs_workload::{Session, find, phase::merged_phases};

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let directory = PathBuf::from(words.next().ok_or("name a directory")?);
    let params = serde_json::from_str(&words.next().unwrap_or_else(|| "{}".into()))?;
    let column = find("column")?;
    let session = Session::new(fake_spec("column", &directory, params), None)?;
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
