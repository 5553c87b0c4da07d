//! Runs the workload `queue` in a directory and prints lines `metric value`, as peers/chronicle
//! does: quantiles of the append call and of write-to-read, achieved rate, share of late sends.

use std::{path::PathBuf, process::ExitCode};

use pickfs_record::{TrialSpec, record::OpRecord, trial::WORKER};
use pickfs_testkit::fake_spec;
use pickfs_workload::{Measured, Session, find, pin, roles_are_played_by};
use serde_json::{Map, Value};

const USE: &str = "use: queued DIRECTORY [PARAMETER=VALUE ...]";

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("queued: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Failure> {
    pickfs_engine_workloads::add();
    let mut words = std::env::args().skip(1);
    let first = words.next().ok_or(USE)?;
    if first == WORKER {
        return play();
    }
    roles_are_played_by(std::env::current_exe()?);
    let mut params = words.map(|word| param(&word)).collect::<Result<Map<_, _>, _>>()?;
    params.entry("reader").or_insert("thread".into());
    let warmup_ns = seconds(params.remove("warmup_s"), 5.0);
    let measure_ns = seconds(params.remove("measure_s"), 10.0);
    let spec = spec(first.into(), params, warmup_ns, measure_ns);
    let session = Session::new(spec, None)?;
    let workload = find("queue")?;
    pin(session.spec.helper_cpu)?;
    let mut prepared = workload.prepare(&session)?;
    pin(session.spec.cpu)?;
    prepared.warm_up(&session)?;
    let measured = prepared.measure(&session)?;
    prepared.verify(&session)?;
    print(&measured);
    Ok(())
}

fn play() -> Result<(), Failure> {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    let spec: TrialSpec = serde_json::from_str(&line).map_err(|_| USE)?;
    Ok(find("queue")?.play(&Session::new(spec, None)?)?)
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
    let (cpu, helper_cpu) = (Some(0), Some(1));
    TrialSpec { cpu, helper_cpu, warmup_ns, measure_ns, ..fake_spec("queue", &directory, params) }
}

fn print(measured: &Measured) {
    if let Some(append) = measured.ops.first().filter(|_| measured.load.asked_per_s.is_none()) {
        println!("throughput_per_s\t{:.1}", measured.load.achieved_per_s);
        println!("append_laps\t{}", append.service.count);
        return;
    }
    println!("achieved_per_s\t{:.1}", measured.load.achieved_per_s);
    let late = measured.counts.get("sent_late").copied().unwrap_or(0.0);
    println!("late_share\t{:.5}", late / measured.load.turns.max(1) as f64);
    for op in &measured.ops {
        print_op(op);
    }
}

fn print_op(op: &OpRecord) {
    let name = op.op.replace('-', "_");
    let quantiles = [(0.5, "p50"), (0.9, "p90"), (0.99, "p99"), (0.999, "p999"), (0.9999, "p9999")];
    for (quantile, label) in quantiles {
        let value_ns = op.service.quantile(quantile).map_or(0, |row| row.value_ns);
        println!("{name}_{label}_ns\t{value_ns}");
    }
    println!("{name}_max_ns\t{}", op.service.max_ns);
    println!("{name}_laps\t{}", op.service.count);
}
