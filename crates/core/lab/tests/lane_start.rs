//! How far apart the lanes of a crew begin a phase, with nothing to do in it: the real crew, the real
//! gate, the real phases; this program is lab and lane.
//!
//! As a test it has 64 lanes, a few rounds, and a bound that only a gate that does not work exceeds.
//! For the figure: `benches/lane-start [ROUNDS [LANES]]`.

use std::{
    io::{BufRead, Write, stdin, stdout},
    process::ExitCode,
};

use pickfs_lab::{
    crew::{Around, Limits, run_crew},
    interrupt::Interrupt,
};
use pickfs_record::{FORMAT, PhaseRecord, TrialSpec, WorkUnit, WorkerMessage};
use pickfs_sys::starting_gate::StartingGate;
use pickfs_testkit::{fake_spec, params};
use pickfs_workload::{
    BUILD, Length, Session,
    phase::{Done, Gate, PhaseRunner, PhaseSpec, merged_phases},
};
use serde_json::json;

/// Far above what two busy processors need to wake 64 processes.
const BOUND_NS: u64 = 1_000_000_000;

fn main() -> ExitCode {
    if let Some(gate) = StartingGate::inherited().expect("a gate or none") {
        lane(gate);
        return ExitCode::SUCCESS;
    }
    let mut words = std::env::args().skip(1).filter_map(|word| word.parse::<u32>().ok());
    let (rounds, lanes) = (words.next().unwrap_or(5), words.next().unwrap_or(64));
    assert!(lanes > 1, "one lane has no gate");
    let phases = measured(rounds, lanes);
    assert_eq!(phases.len() as u32, rounds);
    assert!(phases.iter().all(|phase| phase.lanes == lanes && phase.is_finished()));
    let middle_ns = middle(phases.iter().map(|phase| phase.start_skew_p50_ns));
    let last_ns = middle(phases.iter().map(|phase| phase.start_skew_ns));
    println!(
        "{lanes} lanes, {rounds} rounds, medians over rounds: the median lane starts {:.2} ms behind \
         the first one, the last lane {:.2} ms",
        middle_ns as f64 / 1e6,
        last_ns as f64 / 1e6
    );
    assert!(last_ns > 0, "no clock is that coarse");
    assert!(middle_ns < BOUND_NS, "{middle_ns} ns");
    ExitCode::SUCCESS
}

fn middle(values: impl Iterator<Item = u64>) -> u64 {
    let mut sorted: Vec<u64> = values.collect();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}

fn measured(rounds: u32, lanes: u32) -> Vec<PhaseRecord> {
    let folder = tempfile::tempdir().expect("a folder");
    let seed = u64::from(rounds);
    let spec = fake_spec("null", folder.path(), params(json!({})));
    let spec = TrialSpec { build: BUILD.into(), lanes, seed, ..spec };
    let around = Around {
        page: None,
        slow_operations: None,
        interrupt: &Interrupt::default(),
        observe: &mut |_| {},
        make_cold: &mut || Ok(()),
    };
    let program = std::env::current_exe().expect("a program");
    let said = run_crew(program.as_path(), &spec, Limits::of(&spec, Length::Work(None)), around)
        .expect("a good crew");
    let phases = said.into_iter().map(|messages| {
        let phase = |message| match message {
            WorkerMessage::Phase(phase) => Some(*phase),
            _ => None,
        };
        messages.into_iter().filter_map(phase).collect()
    });
    merged_phases(&phases.collect::<Vec<_>>())
}

fn lane(gate: StartingGate) {
    say(&WorkerMessage::Hello { format: FORMAT, build: BUILD.into() });
    let spec: TrialSpec = serde_json::from_str(&line()).expect("a spec");
    // The seed says how many rounds there are.
    let rounds = spec.seed;
    let session = Session::new(spec, None).expect("a session");
    let session = Session { gate: Gate::new(Some(gate)), ..session };
    let mut runner = PhaseRunner::new(&session).expect("a directory");
    say(&WorkerMessage::Ready { notes: Vec::new(), warmup_ns: 0 });
    assert_eq!(line().trim(), "go");
    for round in 1..=rounds {
        let spec = PhaseSpec::new(&format!("start {round}"), "null", WorkUnit::Calls);
        runner.run(&spec, |_| Ok(Done::work(1.0))).expect("nothing can fail");
    }
    for phase in runner.finish().phases {
        say(&WorkerMessage::Phase(Box::new(phase)));
    }
    say(&WorkerMessage::Finished);
}

fn line() -> String {
    let mut line = String::new();
    stdin().lock().read_line(&mut line).expect("a line");
    line
}

fn say(message: &WorkerMessage) {
    let text = serde_json::to_string(message).expect("plain data");
    writeln!(stdout().lock(), "{text}").expect("the lab listens");
}
