//! The path of one trial in this process: prepare, warm up, wait, measure, verify, and only then
//! send what was measured.

use std::sync::Arc;

use pickfs_model::{TrialSpec, WorkerMessage};
use pickfs_sys::live_page::LivePage;
use pickfs_workload::{Fault, LiveLaps, Measured, ParamError, Session, find, pin, rank};

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
    let session = Session::new(spec, live_page()?)?;
    // Threads of the workload itself (roll ahead, reader of hot files) inherit the helper's CPU.
    pin(session.spec.helper_cpu)?;
    let mut prepared = workload.prepare(&session)?;
    pin(session.spec.cpu)?;
    rank(&session.params)?;
    let warmup_ns = prepared.warm_up(&session)?;
    say(&WorkerMessage::Ready { notes: prepared.notes(), warmup_ns })?;
    wait_for_go()?;
    let measured = prepared.measure(&session)?;
    let checked = prepared.verify(&session)?;
    report(measured, checked)
}

/// The page that the lab looks at while we measure, if it handed one over.
fn live_page() -> Result<Option<Arc<dyn LiveLaps>>, Ending> {
    let page = LivePage::inherited().map_err(|error| Ending::failed(error.to_string()))?;
    Ok(page.map(|page| Arc::new(page) as Arc<dyn LiveLaps>))
}

fn same_version(spec: &TrialSpec, ours: u32) -> Result<(), Ending> {
    let asked = spec.workload.version;
    if asked == ours {
        return Ok(());
    }
    let name = &spec.workload.name;
    Err(Ending::failed(format!("workload {name} is version {ours} here, and {asked} was asked")))
}

fn report(measured: Measured, checked: u64) -> Result<(), Ending> {
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
