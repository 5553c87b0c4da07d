use std::{
    cell::RefCell,
    sync::mpsc::{Receiver, Sender, channel},
};

use crate::{Guest, LaneLine, LaneSink};
use pickfs_record::TrialSpec;

use pickfs_lab::worker_process::{Hands, Heard, Inheritance, Worker, WorkerError, Workplace};

pub struct InGuest<'a> {
    guest: &'a Guest,
    said: RefCell<Vec<Option<Receiver<Heard>>>>,
}

impl<'a> InGuest<'a> {
    pub fn new(guest: &'a Guest) -> Self {
        Self { guest, said: RefCell::default() }
    }

    fn begin(&self, lanes: u32, inbox: &Sender<Heard>) {
        let mut said = Vec::new();
        let sinks = (0..lanes.max(1) as usize).map(|lane| {
            let (last_words, receiver) = channel();
            said.push(Some(receiver));
            LaneSink { lane, words: inbox.clone(), errors: last_words }
        });
        self.guest.start_lanes(sinks.collect(), &[]);
        *self.said.borrow_mut() = said;
    }
}

impl Workplace for InGuest<'_> {
    fn start(
        &self,
        spec: &TrialSpec,
        _inherits: &Inheritance<'_>,
        inbox: &Sender<Heard>,
    ) -> Result<Worker, WorkerError> {
        if spec.lane == 0 {
            self.begin(spec.lanes, inbox);
        }
        let said = self.said.borrow_mut().get_mut(spec.lane as usize).and_then(Option::take);
        let said = said.unwrap_or_else(|| channel().1);
        let hands = LaneHands(self.guest.line_to(spec.lane as u16));
        Ok(Worker::new(Box::new(hands), said, spec))
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
