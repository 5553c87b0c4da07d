//! Runs one phased workload in a directory, as one lane, and prints its phases: a table, or one
//! JSON object with all figures.

use std::{path::PathBuf, process::ExitCode};

use pickfs_record::Outcome;
use pickfs_testkit::fake_spec;
use pickfs_workload::{Measured, Session, find};
use serde_json::{Map, Value, json};

type Failure = Box<dyn std::error::Error>;

struct Words {
    is_json: bool,
    workload: String,
    directory: PathBuf,
    params: Map<String, Value>,
}

fn main() -> ExitCode {
    match words().and_then(|words| run(&words)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("phased: {error}");
            ExitCode::FAILURE
        }
    }
}

fn words() -> Result<Words, Failure> {
    let mut all: Vec<String> = std::env::args().skip(1).collect();
    let is_json = all.first().is_some_and(|word| word == "--json");
    all.drain(..usize::from(is_json));
    let mut all = all.into_iter();
    let (Some(workload), Some(directory)) = (all.next(), all.next()) else {
        return Err("use: phased [--json] WORKLOAD DIRECTORY [PARAMETER=VALUE ...]".into());
    };
    let params = all.map(|word| param(&word)).collect::<Result<_, _>>()?;
    Ok(Words { is_json, workload, directory: directory.into(), params })
}

fn param(word: &str) -> Result<(String, Value), Failure> {
    let (name, value) = word.split_once('=').ok_or_else(|| format!("{word}: not NAME=VALUE"))?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
    Ok((name.to_owned(), value))
}

fn run(words: &Words) -> Result<(), Failure> {
    let workload = find(&words.workload)?;
    let session =
        Session::new(fake_spec(&words.workload, &words.directory, words.params.clone()), None)?;
    let mut prepared = workload.prepare(&session)?;
    prepared.notes().iter().for_each(|note| eprintln!("{note}"));
    let measured = prepared.measure(&session)?;
    let checked = prepared.verify(&session)?;
    if words.is_json {
        println!("{}", serde_json::to_string(&as_json(&measured, checked))?);
    } else {
        print_table(&measured, checked);
    }
    Ok(())
}

fn as_json(measured: &Measured, checked: u64) -> Value {
    let phases: Vec<&_> = measured.phases.iter().collect();
    let ops = measured.ops.iter().map(|op| {
        json!({
            "op": op.op,
            "count": op.service.count,
            "mean_ns": op.service.mean_ns,
            "p50_ns": op.service.quantile(0.5).map(|row| row.value_ns),
            "p99_ns": op.service.quantile(0.99).map(|row| row.value_ns),
            "max_ns": op.service.max_ns,
        })
    });
    json!({ "phases": phases, "ops": ops.collect::<Vec<_>>(), "checked": checked })
}

fn print_table(measured: &Measured, checked: u64) {
    println!("{:<24} {:>14} {:>10} {:>7}  outcome", "phase", "per second", "seconds", "CPU");
    for phase in &measured.phases {
        let elapsed_ns = phase.elapsed_ns.max(1) as f64;
        let cpu = (phase.cpu_user_ns + phase.cpu_system_ns) as f64 / elapsed_ns;
        let outcome = match &phase.outcome {
            Outcome::Finished => phase.flags.iter().map(|flag| flag.kind.as_str()).collect(),
            Outcome::Failed { reason } => format!("failed: {reason}"),
            Outcome::Skipped { reason } => format!("skipped: {reason}"),
        };
        println!(
            "{:<24} {:>14.1} {:>10.3} {:>6.0}%  {outcome}",
            phase.phase,
            phase.rate_per_s,
            elapsed_ns / 1e9,
            100.0 * cpu,
        );
    }
    println!("{checked} chunks, files or records were compared");
}
