use std::time::{Duration, Instant};

use pickfs_candidate::TargetError;
use pickfs_record::{BackingKind, Event, TrialRecord, record::SettleRecord};

use crate::{
    engines::{GuestStage, engine_of},
    machine::{Machine, Means, blank},
    settle::settle,
    stage::{Stage, TrialOrder},
};

pub struct Stages {
    pub means: Means,
    pub machine: Option<Machine>,
    pub guests: Option<Box<dyn GuestStage>>,
    pub began: Instant,
}

impl Stages {
    pub fn remove(self) -> Result<(), TargetError> {
        let scratch = self.machine.map_or(Ok(()), |machine| machine.scratch.remove());
        let image = self.guests.map_or(Ok(()), |guests| guests.into_image().remove());
        scratch.and(image)
    }
}

impl Stage for Stages {
    fn now_s(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    fn settle(&mut self) -> SettleRecord {
        let limit = Duration::from_secs_f64(self.means.plan.timing.settle_s);
        settle(&self.means.quiet, limit)
    }

    fn stuck(&self) -> Option<String> {
        let machine = self.machine.as_ref().and_then(|machine| machine.stuck.clone());
        machine.or_else(|| self.guests.as_ref()?.stuck())
    }

    fn perform(&mut self, order: &TrialOrder<'_>, tell: &mut dyn FnMut(Event)) -> TrialRecord {
        let started_s = self.now_s();
        let record = match (engine_of(order.cell), &mut self.machine, &mut self.guests) {
            (Some(_), _, Some(guests)) => guests.perform(order, tell),
            (None, Some(machine), _) => machine.perform(order, tell),
            _ => blank(order, BackingKind::Directory),
        };
        TrialRecord { started_s, ..record }
    }
}

#[cfg(test)]
mod tests {
    use pickfs_candidate::GuestImage;
    use pickfs_testkit::{FakeRun, fake_run};

    use super::*;
    use crate::{interrupt::Interrupt, settle::Quiet};

    struct Left;

    impl GuestStage for Left {
        fn perform(&mut self, order: &TrialOrder<'_>, _: &mut dyn FnMut(Event)) -> TrialRecord {
            blank(order, BackingKind::GuestImage)
        }

        fn stuck(&self) -> Option<String> {
            Some("it goes on".into())
        }

        fn into_image(self: Box<Self>) -> GuestImage {
            unreachable!("it has the image")
        }
    }

    #[test]
    fn a_guest_that_goes_on_lets_no_trial_follow() {
        let (quiet, interrupt) = (Quiet::default(), Interrupt::default());
        let plan = fake_run(&FakeRun::default()).plan;
        let means = Means { plan, worker: "worker".into(), quiet, interrupt };
        let stuck = |guests: Option<Box<dyn GuestStage>>| {
            Stages { means: means.clone(), machine: None, guests, began: Instant::now() }.stuck()
        };
        assert_eq!(stuck(None), None);
        assert_eq!(stuck(Some(Box::new(Left))).as_deref(), Some("it goes on"));
    }
}
