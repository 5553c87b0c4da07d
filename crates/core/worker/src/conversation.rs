use std::{
    io::{self, BufRead, Write},
    sync::{Mutex, PoisonError},
};

use pickfs_record::{FORMAT, TrialSpec, WorkerMessage};
use pickfs_workload::{BUILD, Fault, measurement_begins, phase::LabLine};

use crate::lane::Ending;

/// A lab that is gone is no reason to go on.
pub fn say(message: &WorkerMessage) -> Result<(), Ending> {
    let mut line = serde_json::to_vec(message)
        .map_err(|error| Ending::failed(format!("a message cannot be written as JSON: {error}")))?;
    line.push(b'\n');
    let mut out = io::stdout().lock();
    out.write_all(&line).and_then(|()| out.flush()).map_err(|_| Ending::Deserted)
}

pub fn hello() -> Result<(), Ending> {
    say(&WorkerMessage::Hello { format: FORMAT, build: BUILD.into() })
}

pub fn spec() -> Result<TrialSpec, Ending> {
    let line = line()?;
    let spec: TrialSpec = serde_json::from_str(&line).map_err(|error| {
        Ending::failed(format!("the trial on standard input is malformed: {error}"))
    })?;
    if spec.format > FORMAT {
        let reason = format!(
            "the trial has format {}, and this worker ({BUILD}) reads up to {FORMAT}; install the \
             worker that came with the lab",
            spec.format
        );
        return Err(Ending::failed(reason));
    }
    if !spec.build.is_empty() && spec.build != BUILD {
        let reason = format!(
            "the lab is build {} and this worker is {BUILD}; build both together",
            spec.build
        );
        return Err(Ending::failed(reason));
    }
    Ok(spec)
}

fn wait_for_go() -> Result<(), Ending> {
    match line()?.trim() {
        "go" => Ok(()),
        other => Err(Ending::failed(format!("{other:?} on standard input; expected `go`"))),
    }
}

fn line() -> Result<String, Ending> {
    let mut line = String::new();
    match io::stdin().lock().read_line(&mut line) {
        Ok(0) => Err(Ending::Deserted),
        Ok(_) => Ok(line),
        Err(error) => Err(Ending::failed(format!("read standard input: {error}"))),
    }
}

/// Nothing is said while a phase is measured.
#[derive(Default)]
pub struct StandardLine(Mutex<Option<WorkerMessage>>);

impl StandardLine {
    /// What is said when the work can begin.
    pub fn is_ready_by(&self, word: WorkerMessage) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(word);
    }
}

impl LabLine for StandardLine {
    fn begin(&self) -> Result<(), Fault> {
        // Who measures more than once has begun by then.
        let mut ready = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(word) = ready.take() else { return Ok(()) };
        say(&word).and_then(|()| wait_for_go()).map_err(fault)?;
        measurement_begins();
        Ok(())
    }

    fn phase_begins(&self, phase: &str, number: u32) -> Result<(), Fault> {
        say(&WorkerMessage::PhaseBegins { phase: phase.into(), number }).map_err(fault)
    }

    fn make_cold(&self) -> Result<(), Fault> {
        say(&WorkerMessage::ColdAsked).and_then(|()| wait_for_go()).map_err(fault)
    }
}

fn fault(ending: Ending) -> Fault {
    let reason = match ending {
        Ending::Told(WorkerMessage::Failed { reason }) => reason,
        _ => "the lab is gone".into(),
    };
    Fault::Failed { reason }
}
