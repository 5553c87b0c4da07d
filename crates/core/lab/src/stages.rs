use std::time::Instant;

use pickfs_candidate::TargetError;
use pickfs_record::{Event, TrialRecord, record::SettleRecord};

use crate::{
    engines::{GuestStage, engine_of},
    machine::{Machine, blank},
    stage::{Stage, TrialOrder},
};

pub struct Stages {
    pub machine: Option<Machine>,
    pub guests: Option<Box<dyn GuestStage>>,
    pub began: Instant,
}

impl Stages {
    pub fn remove(self) -> Result<(), TargetError> {
        let scratch = self.machine.map_or(Ok(()), |machine| machine.into_scratch().remove());
        let image = self.guests.map_or(Ok(()), |guests| guests.into_image().remove());
        scratch.and(image)
    }
}

impl Stage for Stages {
    fn now_s(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    fn settle(&mut self) -> SettleRecord {
        match (&mut self.machine, &mut self.guests) {
            (Some(machine), _) => machine.settle(),
            (None, Some(guests)) => guests.settle(),
            (None, None) => SettleRecord::default(),
        }
    }

    fn stuck(&self) -> Option<String> {
        self.machine.as_ref().and_then(Machine::stuck)
    }

    fn perform(&mut self, order: &TrialOrder<'_>, tell: &mut dyn FnMut(Event)) -> TrialRecord {
        let now_s = self.now_s();
        let stage: Option<&mut dyn Stage> = match engine_of(order.cell) {
            Some(_) => self.guests.as_mut().map(|guests| guests.as_mut() as &mut dyn Stage),
            None => self.machine.as_mut().map(|machine| machine as &mut dyn Stage),
        };
        match stage {
            Some(stage) => {
                let mut record = stage.perform(order, tell);
                record.started_s = now_s;
                record
            }
            None => blank(order, pickfs_record::BackingKind::Directory, now_s),
        }
    }
}
