#![allow(dead_code)]

use std::{
    io::{BufRead, BufReader, Lines, Read, Write},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
};

use pickfs_record::{TrialSpec, WorkerMessage, trial::WORKER};
use pickfs_sys::residency::{Caches, drop_caches};
use pickfs_testkit::{fake_spec, params};
use pickfs_workload::BUILD;
use serde_json::Value;

pub fn spec(workload: &str, asked: Value, directory: &Path) -> TrialSpec {
    #[cfg(feature = "engines")]
    pickfs_engine_workloads::add();
    let mut spec = fake_spec(workload, directory, params(asked));
    spec.workload.version = pickfs_workload::find(workload).map_or(1, |workload| workload.version);
    let (warmup_ns, measure_ns) = (50_000_000, 1_200_000_000);
    TrialSpec { build: BUILD.into(), warmup_ns, measure_ns, ..spec }
}

pub fn worker() -> Child {
    Command::new(env!("CARGO_BIN_EXE_pickfs"))
        .arg(WORKER)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the worker starts")
}

/// A worker that is ready to go, and what it says from then on.
pub fn ready(spec: &TrialSpec) -> (Child, Lines<BufReader<ChildStdout>>) {
    let mut worker = worker();
    let input = worker.stdin.as_mut().expect("piped");
    writeln!(input, "{}", serde_json::to_string(spec).expect("JSON")).expect("it reads");
    let mut lines = BufReader::new(worker.stdout.take().expect("piped")).lines();
    let ready = lines.by_ref().map_while(Result::ok).find(|line| line.contains("\"ready\""));
    assert!(ready.is_some(), "it becomes ready");
    (worker, lines)
}

pub fn converse(spec: &TrialSpec) -> Vec<WorkerMessage> {
    converse_with_errors(spec).0
}

pub fn talk(worker: &mut Child, spec: &TrialSpec) -> Vec<WorkerMessage> {
    let mut input = worker.stdin.take().expect("piped");
    let output = BufReader::new(worker.stdout.take().expect("piped"));
    writeln!(input, "{}", serde_json::to_string(spec).expect("JSON")).expect("it reads");
    let mut messages = Vec::new();
    for line in output.lines() {
        let message = serde_json::from_str(&line.expect("text")).expect("a message");
        if matches!(message, WorkerMessage::ColdAsked) {
            drop_caches(Caches::Both).expect("root may");
        }
        if matches!(message, WorkerMessage::ColdAsked | WorkerMessage::Ready { .. }) {
            writeln!(input, "go").expect("it waits");
        }
        messages.push(message);
    }
    messages
}

pub fn converse_with_errors(spec: &TrialSpec) -> (Vec<WorkerMessage>, String) {
    let mut worker = worker();
    let messages = talk(&mut worker, spec);
    let mut said = String::new();
    let mut errors = worker.stderr.take().expect("piped");
    errors.read_to_string(&mut said).expect("text");
    worker.wait().expect("it ends");
    (messages, said)
}

pub fn count(messages: &[WorkerMessage], wanted: &str) -> Option<f64> {
    messages.iter().find_map(|message| match message {
        WorkerMessage::Count { name, value } if name == wanted => Some(*value),
        _ => None,
    })
}

pub fn operations(messages: &[WorkerMessage], wanted: &str) -> Option<u64> {
    messages.iter().find_map(|message| match message {
        WorkerMessage::Op(op) if op.op == wanted => Some(op.service.count),
        _ => None,
    })
}

pub fn arrivals(messages: &[WorkerMessage]) -> Option<u64> {
    messages.iter().find_map(|message| match message {
        WorkerMessage::Load(load) => Some(load.arrivals),
        _ => None,
    })
}

pub fn finished(messages: &[WorkerMessage]) -> bool {
    matches!(messages.last(), Some(WorkerMessage::Finished))
}

pub fn with(mut params: Value, more: &Value) -> Value {
    let all = params.as_object_mut().expect("an object");
    all.extend(more.as_object().expect("an object").clone());
    params
}

/// The last message: Finished, Skipped or Failed with its reason.
pub fn ended(messages: &[WorkerMessage]) -> String {
    messages.last().map(|message| format!("{message:?}")).unwrap_or_default()
}

/// What is said in so many milliseconds of measurement that finish.
pub fn played(measure_ms: u64, workload: &str, params: Value) -> Vec<WorkerMessage> {
    let folder = tempfile::tempdir().expect("a folder");
    let mut spec = spec(workload, params, folder.path());
    spec.measure_ns = measure_ms * 1_000_000;
    let messages = converse(&spec);
    assert!(finished(&messages), "{messages:?}");
    messages
}

pub fn notes(messages: &[WorkerMessage]) -> &[String] {
    let Some(WorkerMessage::Ready { notes, .. }) = messages.get(1) else { panic!("{messages:?}") };
    notes
}

pub fn is_dead(process_id: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process_id}/stat"));
    stat.map_or(true, |stat| stat.contains(") Z"))
}

pub fn may_mount() -> bool {
    pickfs_testkit::may_run(&[])
}
