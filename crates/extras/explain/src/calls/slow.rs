//! Slow calls of other programs, joined with what the kernel was doing: those over a threshold, each as
//! soon as the scheduler's events around it have arrived.
//!
//! Threads that do not live yet are followed by their numbers, which the kernel gives out in order:
//! whoever is newer than the watch sends events from its first moment on.

use std::{
    collections::{HashMap, VecDeque},
    thread,
};

use pickfs_record::{Clock, ExplainAlso, MonotonicClock, StallRecord, stall::ProbeTier};
use pickfs_sys::proc_root::ProcRoot;

use super::{
    event::{CallEvent, CallWhat},
    tally::{CallTally, EndedCall},
};
use crate::{
    observer::{Joiner, Whose},
    sched::{SchedEvent, Task, What},
    tier::Eyes,
};

/// How often waits are forgotten that nobody will ask for.
const TRIM_EACH_NS: u64 = 200_000_000;
const PENDING_MAX: usize = 65_536;

pub struct SlowCalls {
    above_ns: u64,
    eyes: Eyes,
    joiner: Joiner,
    pending: VecDeque<(EndedCall, Box<str>)>,
    /// Threads whose waits are known: by our numbers, those of the machine.
    watched: HashMap<u32, u32>,
    /// Threads that were there before the watch.
    elders: Vec<u32>,
    /// Threads whose events come unasked: those with this number of the machine or a greater one.
    newer_than: u32,
    followed_ns: u64,
    gone: Vec<u32>,
    /// Threads that took a processor, and where they were while they had it, as their own records tell.
    own: Vec<SchedEvent>,
    trimmed_ns: u64,
}

impl SlowCalls {
    pub fn open(above_ns: u64, also: &ExplainAlso) -> SlowCalls {
        let mut eyes = Eyes::open(also);
        SlowCalls {
            above_ns,
            joiner: Joiner::new(eyes.symbols()),
            eyes,
            pending: VecDeque::new(),
            watched: HashMap::new(),
            elders: Vec::new(),
            newer_than: 1,
            followed_ns: 0,
            gone: Vec::new(),
            own: Vec::new(),
            trimmed_ns: 0,
        }
    }

    /// From now on: these threads, and all that will be started.
    pub fn begin(&mut self, elders: &[u32]) {
        self.elders = elders.to_vec();
        self.newer_than = newest_thread().unwrap_or(1);
        self.follow();
    }

    fn follow(&mut self) {
        let both: Vec<(u32, u32)> = self.elders.iter().map(|id| (*id, *id)).collect();
        if let Err(reason) = self.eyes.follow(&both, Some(self.newer_than)) {
            self.eyes.miss(reason);
        }
        self.followed_ns = MonotonicClock.now_ns();
    }

    pub fn take(&mut self, event: &CallEvent, ended: Option<EndedCall>, tally: &CallTally) {
        match event.what {
            CallWhat::Began { on_machine, .. } if !self.watched.contains_key(&event.thread) => {
                self.watched.insert(event.thread, on_machine);
                self.meet(on_machine, event);
            }
            CallWhat::Due => self.own(event, What::In { prev: Task::default() }),
            CallWhat::Sampled(ref stack) => {
                let stack = self.eyes.names.stacks.number(&stack[..]);
                self.own(event, What::Sampled { stack });
            }
            CallWhat::Gone => self.gone.push(event.thread),
            CallWhat::Started { .. } => self.forget_elder(event.thread),
            _ => {}
        }
        match ended.filter(|call| {
            call.operation.end_ns.saturating_sub(call.operation.start_ns) > self.above_ns
        }) {
            Some(_) if self.pending.len() >= PENDING_MAX => {
                self.joiner.counts.operations_missed += 1
            }
            Some(call) => {
                self.pending.push_back((call, tally.name(call.operation.thread_id).into()))
            }
            None => {}
        }
    }

    /// Linux 6.18 tells no switch from an idle processor but the first; a thread's own record is told there
    /// too. Where both come, the other one is earlier and counts.
    fn own(&mut self, event: &CallEvent, what: What) {
        if let Some(thread) = self.watched.get(&event.thread) {
            let time_ns = event.time_ns;
            self.own.push(SchedEvent { time_ns, processor: 0, thread: *thread, what });
        }
    }

    /// A thread in its first call. It runs, so that its waits are known from here on.
    fn meet(&mut self, on_machine: u32, event: &CallEvent) {
        let is_newer = on_machine >= self.newer_than;
        let is_followed = match self.eyes.tier() {
            ProbeTier::Scheduler => is_newer || self.elders.contains(&on_machine),
            ProbeTier::Switches => false,
        };
        if is_followed {
            let since_ns = event.time_ns.max(self.followed_ns);
            return self.joiner.timeline.watch(on_machine, since_ns);
        }
        match self.eyes.tier() {
            // The kernel's numbers have begun anew: further ones will be greater than this one.
            ProbeTier::Scheduler => {
                self.newer_than = on_machine;
                self.follow();
            }
            // A thread may be gone by now; its calls stay unexplained.
            ProbeTier::Switches => drop(self.eyes.follow(&[(on_machine, event.thread)], None)),
        }
        self.joiner.timeline.watch(on_machine, MonotonicClock.now_ns());
    }

    /// Joins the calls that ended up to `until_ns`: all that were taken.
    pub fn look(&mut self, until_ns: u64, tally: &CallTally) {
        self.joiner.look(&mut self.eyes, until_ns, &mut self.own);
        self.own.clear();
        while let Some((call, name)) = self.pending.pop_front() {
            let workers = || tally.uring_workers(call.operation.thread_id);
            let whose = Whose { thread: call.on_machine, name: &name, workers: &workers };
            let op = tally.call_name(call.operation.op as u16);
            self.joiner.join(op, &call.operation, &whose, &self.eyes.names);
        }
        self.forget(until_ns, tally);
    }

    /// Its number has been given out anew; the event of its end was lost, or is not heeded yet.
    fn forget_elder(&mut self, thread: u32) {
        if let Some(on_machine) = self.watched.remove(&thread) {
            self.joiner.timeline.forget(on_machine);
            self.gone.retain(|gone| *gone != thread);
        }
    }

    fn forget(&mut self, until_ns: u64, tally: &CallTally) {
        for thread in self.gone.drain(..) {
            if let Some(on_machine) = self.watched.remove(&thread) {
                self.joiner.timeline.forget(on_machine);
            }
        }
        if until_ns < self.trimmed_ns + TRIM_EACH_NS {
            return;
        }
        self.trimmed_ns = until_ns;
        for (thread, on_machine) in &self.watched {
            let asked_ns = tally.open_since_ns(*thread).unwrap_or(until_ns).min(until_ns);
            self.joiner.timeline.trim(*on_machine, asked_ns);
        }
    }

    pub fn finish(self, threads: u64) -> StallRecord {
        self.joiner.finish_with(self.eyes, self.above_ns, threads)
    }
}

fn newest_thread() -> Option<u32> {
    let read = || std::fs::read_link(ProcRoot::host().path().join("thread-self")).ok();
    let link = thread::spawn(read).join().ok()??;
    link.file_name()?.to_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_thread_is_newer_than_ours() {
        let own = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        assert!(newest_thread().is_some_and(|newest| newest != own));
    }
}
