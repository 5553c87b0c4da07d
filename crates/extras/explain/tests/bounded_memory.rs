//! A watch that goes on for an hour does not grow: events as a kernel would send them, by the simulated
//! clock, from programs that come and go, with ever new stacks and names.

use pickfs_explain::kernel::kernel_symbols::KernelSymbols;
use pickfs_explain::{
    calls::{CallEvent, CallTally, CallWhat},
    observer::{Joiner, Whose},
    sched::{Left, Names, SchedEvent, Task, What},
};
use pickfs_record::stall::ProbeTier;
use pickfs_sys::slow_operations::SlowOperation;

/// Pages of this process that are in memory, in bytes.
fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("procfs");
    let pages = text.split_whitespace().nth(1).and_then(|word| word.parse::<u64>().ok());
    pages.expect("a number") * 4_096
}

const CALLS_PER_S: u64 = 10_000;
const STEP_NS: u64 = 1_000_000_000 / CALLS_PER_S;
const LIFE_CALLS: u64 = 500;
const GROWTH_BYTES_MAX: u64 = 24 << 20;

struct Hour {
    tally: CallTally,
    joiner: Joiner,
    names: Names,
    calls: u64,
}

impl Hour {
    fn event(&self, time_ns: u64, what: CallWhat) -> CallEvent {
        let thread = self.thread();
        CallEvent { time_ns, process: thread, thread, what }
    }

    fn thread(&self) -> u32 {
        1_000 + (self.calls / LIFE_CALLS) as u32
    }

    fn call(&mut self) {
        let start_ns = (self.calls + 1) * STEP_NS;
        let (call, thread) = ((self.calls % 40) as u16, self.thread());
        let began = CallWhat::Began { call, offset_bytes: 0, on_machine: thread };
        self.tally.take(&self.event(start_ns, began));
        self.joiner.timeline.watch(thread, start_ns);
        let is_slow = self.calls % 10 == 0;
        let end_ns = start_ns + if is_slow { 90_000 } else { 2_000 };
        if is_slow {
            self.sleep(start_ns, thread);
        }
        let ended = self.tally.take(&self.event(end_ns, CallWhat::Ended { call, answer: 0 }));
        assert!(ended.is_some());
        if is_slow {
            let (op, thread_id) = (0, thread);
            let operation = SlowOperation { op, thread_id, start_ns, end_ns, offset_bytes: 0 };
            let whose = Whose { thread, name: "program", workers: &Vec::new };
            self.joiner.join(self.tally.call_name(call), &operation, &whose, &self.names);
        }
        self.calls += 1;
        if self.calls % LIFE_CALLS == 0 {
            self.tally.take(&CallEvent {
                time_ns: end_ns,
                process: thread,
                thread,
                what: CallWhat::Gone,
            });
            self.joiner.timeline.forget(thread);
        }
        self.joiner.timeline.trim(thread, end_ns);
    }

    /// Asleep, woken by somebody new in a place that was never seen, and on again.
    fn sleep(&mut self, start_ns: u64, thread: u32) {
        let stack = self.names.stacks.number(&[0xffff_ffff_8100_0000 + self.calls][..]);
        let name = self.names.comms.number(format!("waker {}", self.calls).as_str());
        let by = Task { id: self.calls as u32, name };
        let events = [
            (1_000, What::Out { left: Left::Asleep, next: by, stack }),
            (70_000, What::Woken { by, stack }),
            (80_000, What::In { prev: by }),
        ];
        let event = |(after_ns, what): (u64, What)| SchedEvent {
            time_ns: start_ns + after_ns,
            processor: 1,
            thread,
            what,
        };
        self.joiner.take(&events.map(event));
    }
}

fn watched_for(seconds: u64) {
    let mut hour = Hour {
        tally: CallTally::default(),
        joiner: Joiner::new(KernelSymbols::default()),
        names: Names::default(),
        calls: 0,
    };
    let warm = CALLS_PER_S * seconds / 4;
    (0..warm).for_each(|_| hour.call());
    let before = resident_bytes();
    (warm..CALLS_PER_S * seconds).for_each(|_| hour.call());
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < GROWTH_BYTES_MAX, "grown by {grown} bytes in {seconds} s");
    assert!(hour.tally.threads_now() <= 1);
    assert_eq!(hour.joiner.timeline.waits_kept(), 0);
    let (rows, counts) = hour.tally.finish();
    assert_eq!(counts.calls, CALLS_PER_S * seconds);
    assert_eq!(rows.iter().map(|row| row.service.count).sum::<u64>(), counts.calls);
    let stalls = hour.joiner.finish(ProbeTier::Scheduler, 50_000, &hour.names);
    assert_eq!(stalls.ops.iter().map(|op| op.operations).sum::<u64>(), counts.calls / 10);
    let is_bounded =
        |op: &pickfs_record::stall::OpStalls| op.causes.len() <= 300 && op.worst.len() <= 64;
    assert!(stalls.ops.iter().all(is_bounded));
}

#[test]
fn a_watch_of_a_minute_does_not_grow() {
    watched_for(60);
}

#[test]
#[ignore = "heavy: an hour of events by the simulated clock, some minutes"]
fn a_watch_of_an_hour_does_not_grow() {
    watched_for(3_600);
}
