//! Nothing is said while a phase is measured.

use pickfs_record::WorkerMessage;
use pickfs_workload::{Fault, phase::LabLine};

use crate::{
    conversation::{say, wait_for_go},
    lane::Ending,
};

pub struct StandardLine;

impl LabLine for StandardLine {
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
