use std::{
    rc::Rc,
    time::{Duration, Instant},
};

use pickfs_record::{Event, record::Disturbance};
use pickfs_sys::live_page::{LiveCounter, LivePage};

use crate::{crew::Moment, disk::Under, disturbance::DisturbanceMeter};

pub struct Watch {
    number: u32,
    window: Duration,
    measuring: Option<u32>,
    under: Under,
    page: Option<Rc<LivePage>>,
    meter: Option<DisturbanceMeter>,
    told: Option<Instant>,
    /// What is measured: `measure`, or the phase that runs.
    doing: String,
}

const TELL_EACH: Duration = Duration::from_secs(1);

impl Watch {
    pub fn new(number: u32, window: Duration, measuring: Option<u32>, under: Under) -> Watch {
        Watch {
            number,
            window,
            measuring,
            under,
            page: LivePage::zeros().ok().map(Rc::new),
            meter: None,
            told: None,
            doing: "measure".into(),
        }
    }

    pub fn page(&self) -> Option<Rc<LivePage>> {
        self.page.clone()
    }

    pub fn at(&mut self, moment: Moment, tell: &mut dyn FnMut(Event)) {
        match moment {
            Moment::Preparing => self.tell("warm-up", tell),
            // A phase may be over within a second: its beginning is told at once.
            Moment::Phase(phase) => {
                self.told = None;
                self.tell(&phase, tell);
                self.doing = phase;
            }
            Moment::Going { .. } => {
                let under = self.under.clone();
                self.meter = DisturbanceMeter::begin(self.window, self.measuring, under);
            }
            Moment::Measuring => {
                self.meter.iter_mut().for_each(DisturbanceMeter::tick);
                self.tell(&self.doing.clone(), tell);
            }
        }
    }

    pub fn finish(self) -> Option<Disturbance> {
        self.meter.map(DisturbanceMeter::finish)
    }

    fn tell(&mut self, phase: &str, tell: &mut dyn FnMut(Event)) {
        if self.told.is_some_and(|told| told.elapsed() < TELL_EACH) {
            return;
        }
        self.told = Some(Instant::now());
        let live = |counter| self.page.as_ref().map_or(0, |page| page.get(counter));
        tell(Event::TrialProgress {
            number: self.number,
            phase: phase.into(),
            operations: live(LiveCounter::OperationsDone),
            max_ns: live(LiveCounter::LatencyNsMax),
        });
    }
}
