use pickfs_record::{ExplainAlso, StallRecord};

use super::recorder::ContextRecorder;
use crate::observer::Joiner;

pub struct Beside(Option<Box<ContextRecorder>>);

impl Beside {
    pub fn open(also: &ExplainAlso, missing: &mut Vec<String>) -> Beside {
        if !also.context {
            return Beside(None);
        }
        match ContextRecorder::open() {
            Ok(recorder) => Beside(Some(Box::new(recorder))),
            Err(error) => {
                missing.push(format!("commits, write-back and requests of devices: {error}"));
                Beside(None)
            }
        }
    }

    pub fn look(&mut self, until_ns: u64, joiner: &mut Joiner) {
        if let Some(recorder) = &mut self.0 {
            recorder.drain(until_ns, &mut |event, who| joiner.context.take(event, who));
            joiner.counts.context_events = recorder.events;
            joiner.counts.context_lost = recorder.lost;
        }
    }

    pub fn add_channels(&self, mut record: StallRecord) -> StallRecord {
        if let Some(recorder) = &self.0 {
            record.channels.push(format!("context of {}", recorder.groups.join(", ")));
        }
        record
    }
}
