//! The path of one trial in this process: prepare, warm up, wait, measure, verify, and only then
//! send what was measured.

use pickfs_model::{TrialSpec, WorkerMessage};
use pickfs_workload::{Fault, Measured, ParamError, Prepared, Session, find, pin};

use crate::conversation::{hello, say, spec, wait_for_go};

/// How a trial ended early.
pub enum Ending {
    /// With this last message.
    Told(WorkerMessage),
    /// The lab is gone.
    Deserted,
}

impl Ending {
    /// A failure in words.
    pub fn failed(reason: String) -> Ending {
        Ending::Told(WorkerMessage::Failed { reason })
    }

    /// The last message, if somebody is there to hear it.
    pub fn tell(&self) {
        if let Ending::Told(message) = self {
            let _ = say(message);
        }
    }
}

impl From<Fault> for Ending {
    fn from(fault: Fault) -> Ending {
        let reason = fault.to_string();
        Ending::Told(match fault.is_skip() {
            true => WorkerMessage::Skipped { reason },
            false => WorkerMessage::Failed { reason },
        })
    }
}

impl From<ParamError> for Ending {
    fn from(error: ParamError) -> Ending {
        Ending::failed(error.to_string())
    }
}

/// Runs one trial.
pub fn run() -> Result<(), Ending> {
    hello()?;
    let spec = spec()?;
    let workload = find(&spec.workload.name)?;
    same_version(&spec, workload.version())?;
    let session = Session::new(spec, None)?;
    // Threads of the workload itself (roll ahead, reader of hot files) inherit the helper's CPU.
    pin(session.spec.helper_cpu)?;
    let mut prepared = workload.prepare(&session)?;
    pin(session.spec.cpu)?;
    let warmup_ns = prepared.warm_up(&session)?;
    say(&WorkerMessage::Ready { notes: prepared.notes(), warmup_ns })?;
    wait_for_go()?;
    let measured = prepared.measure(&session)?;
    let checked = prepared.verify(&session)?;
    report(measured, checked, &mut *prepared)
}

fn same_version(spec: &TrialSpec, ours: u32) -> Result<(), Ending> {
    let asked = spec.workload.version;
    if asked == ours {
        return Ok(());
    }
    let name = &spec.workload.name;
    Err(Ending::failed(format!("workload {name} is version {ours} here, and {asked} was asked")))
}

fn report(measured: Measured, checked: u64, _prepared: &mut dyn Prepared) -> Result<(), Ending> {
    for op in measured.ops {
        say(&WorkerMessage::Op(Box::new(op)))?;
    }
    say(&WorkerMessage::Load(measured.load))?;
    for (name, value) in measured.counts {
        say(&WorkerMessage::Count { name, value })?;
    }
    say(&WorkerMessage::Verified { checked })?;
    say(&WorkerMessage::Finished)
}
