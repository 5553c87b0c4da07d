//! Runs the workload `fix` in a directory and prints lines `metric value`, as peers/quickfix does:
//! quantiles of the clients' round trip, and of an order's way through the engine.
//! `warmup_s` and `measure_s` are its own words; all others are parameters of the workload.

use std::{path::PathBuf, process::ExitCode};

use pickfs_record::TrialSpec;
use pickfs_testkit::fake_spec;
use pickfs_workload::{Measured, Session, find, pin};
use serde_json::{Map, Value};

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fix-orders: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Failure> {
    pickfs_engine_workloads::add();
    let mut words = std::env::args().skip(1);
    let directory = words.next().ok_or("use: fix-orders DIRECTORY [PARAMETER=VALUE ...]")?;
    let mut params = words.map(|word| param(&word)).collect::<Result<Map<_, _>, _>>()?;
    params.entry("secondary").or_insert("thread".into());
    let warmup_ns = seconds(params.remove("warmup_s"), 5.0);
    let measure_ns = seconds(params.remove("measure_s"), 10.0);
    let session = Session::new(spec(directory.into(), params, warmup_ns, measure_ns), None)?;
    pin(session.spec.helper_cpu)?;
    let mut prepared = find("fix")?.prepare(&session)?;
    pin(session.spec.cpu)?;
    prepared.warm_up(&session)?;
    let measured = prepared.measure(&session)?;
    prepared.verify(&session)?;
    print(&measured);
    Ok(())
}

fn param(word: &str) -> Result<(String, Value), Failure> {
    let (name, value) = word.split_once('=').ok_or_else(|| format!("{word}: not NAME=VALUE"))?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
    Ok((name.to_owned(), value))
}

fn seconds(value: Option<Value>, otherwise: f64) -> u64 {
    (value.and_then(|value| value.as_f64()).unwrap_or(otherwise) * 1e9) as u64
}

fn spec(
    directory: PathBuf,
    params: Map<String, Value>,
    warmup_ns: u64,
    measure_ns: u64,
) -> TrialSpec {
    let (cpu, helper_cpu) = (Some(1), Some(0));
    TrialSpec { cpu, helper_cpu, warmup_ns, measure_ns, ..fake_spec("fix", &directory, params) }
}

fn print(measured: &Measured) {
    println!("orders_per_s\t{:.1}", measured.load.achieved_per_s);
    for op in &measured.ops {
        let name = op.op.replace('-', "_");
        for (q, word) in
            [(0.5, "p50"), (0.9, "p90"), (0.99, "p99"), (0.999, "p999"), (0.9999, "p9999")]
        {
            if let Some(row) = op.service.quantile(q) {
                println!("{name}_{word}_ns\t{}", row.value_ns);
            }
        }
        println!("{name}_max_ns\t{}", op.service.max_ns);
    }
}
