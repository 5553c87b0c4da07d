use std::sync::mpsc::Sender;

use pickfs_lab::worker_process::{Hands, Heard, Inheritance, Worker, WorkerError, Workplace};
use pickfs_record::TrialSpec;

use crate::{Guest, LaneLine};

pub struct InGuest<'a>(pub &'a Guest);

impl Workplace for InGuest<'_> {
    fn start(
        &self,
        spec: &TrialSpec,
        _inherits: &Inheritance<'_>,
        inbox: &Sender<Heard>,
    ) -> Result<Worker, WorkerError> {
        if spec.lane == 0 {
            self.0.start_lanes(spec.lanes.max(1) as u16, inbox, &[]);
        }
        Ok(Worker::new(Box::new(LaneHands(self.0.line_to(spec.lane as u16))), spec))
    }

    fn shares_memory(&self) -> bool {
        false
    }
}

struct LaneHands(LaneLine);

impl Hands for LaneHands {
    fn process_id(&self) -> Option<u32> {
        None
    }

    fn say(&mut self, line: &str) {
        self.0.say(line);
    }

    fn ask_to_end(&mut self) {}

    fn how_it_ended(&mut self) -> String {
        self.0.how_it_ended()
    }
}
