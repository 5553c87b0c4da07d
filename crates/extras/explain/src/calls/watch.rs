//! Watches the calls of other programs while they run, beside them on a thread of its own: drains the
//! rings, sums calls, and joins the slow ones with what the kernel was doing.

use std::{sync::mpsc::Receiver, thread, time::Duration};

use pickfs_record::{CallsRecord, Clock, ExplainAlso, MonotonicClock, StallRecord};

use super::{
    event::CallEvent,
    slow::SlowCalls,
    tally::CallTally,
    tracer::{CallTracer, CallsRefused},
};
use crate::observer::{LATE_NS, Watcher, goes_on, stand_back};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WatchOptions {
    pub stalls_above_ns: Option<u64>,
    pub also: ExplainAlso,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallsSeen {
    pub calls: CallsRecord,
    pub stalls: Option<StallRecord>,
    pub missing: Vec<String>,
}

pub struct CallWatch {
    watcher: Watcher<CallsSeen>,
}

const LOOK_EACH: Duration = Duration::from_millis(10);
/// A ring this full is emptied again at once.
const HURRY_FILL: f64 = 0.1;

impl CallWatch {
    /// Watches whatever the calling thread starts from now on, each from its execve(2) on, with all that it starts
    /// itself, until [`CallWatch::finish`].
    pub fn of_children(options: &WatchOptions) -> Result<CallWatch, CallsRefused> {
        let slow = options.stalls_above_ns.map(|above_ns| SlowCalls::open(above_ns, &options.also));
        CallWatch::start(CallTracer::of_children(*options)?, slow)
    }

    pub fn of_process(process_id: u32, options: &WatchOptions) -> Result<CallWatch, CallsRefused> {
        let slow = options.stalls_above_ns.map(|above_ns| SlowCalls::open(above_ns, &options.also));
        CallWatch::start(CallTracer::of_process(process_id, *options)?, slow)
    }

    fn start(
        mut tracer: CallTracer,
        mut stalls: Option<SlowCalls>,
    ) -> Result<CallWatch, CallsRefused> {
        let began_ns = MonotonicClock.now_ns();
        let found = std::mem::take(&mut tracer.found);
        let threads: Vec<u32> = found.iter().map(|(_, thread, _)| *thread).collect();
        let mut tally = CallTally::default();
        for (process, thread, name) in found {
            tally.introduce(process, thread, &name);
        }
        if let Some(stalls) = &mut stalls {
            stalls.begin(&threads);
        }
        let record = CallsRecord { cost_ns: tracer.cost_ns, began_ns, ..CallsRecord::default() };
        let missing = tracer.missing.take().into_iter().collect();
        let watching = Watching { tracer, tally, stalls, record, events: Vec::new(), missing };
        let watcher = Watcher::start(move |stop| watching.run(stop));
        Ok(CallWatch { watcher: watcher.map_err(|cause| CallsRefused::NoThread { cause })? })
    }

    /// Calls that go on are counted as unended.
    pub fn finish(self) -> CallsSeen {
        self.watcher.finish()
    }
}

struct Watching {
    tracer: CallTracer,
    tally: CallTally,
    stalls: Option<SlowCalls>,
    record: CallsRecord,
    events: Vec<CallEvent>,
    missing: Vec<String>,
}

impl Watching {
    fn run(mut self, stop: &Receiver<()>) -> CallsSeen {
        stand_back();
        let pause = |fill| if fill < HURRY_FILL { LOOK_EACH } else { Duration::ZERO };
        while goes_on(stop, pause(self.tracer.fill())) {
            self.look(MonotonicClock.now_ns() - LATE_NS);
        }
        let ended_ns = MonotonicClock.now_ns();
        thread::sleep(Duration::from_nanos(2 * LATE_NS));
        self.look(ended_ns);
        self.record.watched_ns = ended_ns - self.record.began_ns;
        let (calls, counts) = self.tally.finish();
        let stalls = self.stalls.map(|stalls| stalls.finish(counts.threads));
        let calls = CallsRecord { calls, counts, ..self.record };
        CallsSeen { calls, stalls, missing: self.missing }
    }

    fn look(&mut self, until_ns: u64) {
        let Watching { tracer, tally, stalls, events, .. } = self;
        events.clear();
        tracer.drain(until_ns, events);
        for event in events.iter() {
            let ended = tally.take(event);
            if let Some(stalls) = stalls {
                stalls.take(event, ended, tally);
            }
        }
        if let Some(stalls) = stalls {
            stalls.look(until_ns, tally);
        }
    }
}
