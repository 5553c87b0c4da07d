//! What each watched thread did, put together from its events: when it was off the processor, why,
//! who woke it, and who had the processor until it was on again. Bounded: the oldest is forgotten.
//!
//! Not a ledger, and no cause is named here. Events must come in the order of their times.

use std::collections::{HashMap, VecDeque};

use crate::sched::{Left, SchedEvent, Task, What};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    pub out_ns: u64,
    pub in_ns: u64,
    pub how: How,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// It slept until it was woken, and then waited for a processor.
    Slept {
        stack: u32,
        /// `None` where that event is missing.
        wake: Option<Wake>,
        /// Who had the processor just before it was on again.
        had: Task,
    },
    Preempted {
        by: Task,
        /// Who had it just before it was on again.
        had: Task,
    },
    /// Events are missing: it was off, or it is not known whether it was.
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wake {
    pub time_ns: u64,
    pub by: Task,
    pub stack: u32,
}

/// Kept of one thread; then the oldest go.
const WAITS_MAX: usize = 16_384;
const SAMPLES_MAX: usize = 16_384;
/// Gaps of all threads together.
const LOST_MAX: usize = 1_024;

#[derive(Debug)]
struct Line {
    /// From here on its waits are known.
    since_ns: u64,
    waits: VecDeque<Wait>,
    /// Where it was while it had a processor: when, and a number of a stack.
    samples: VecDeque<(u64, u32)>,
    now: Now,
}

#[derive(Debug, Clone, Copy)]
enum Now {
    /// Nothing has been seen of it since `since_ns`.
    Unseen,
    On,
    Off {
        out_ns: u64,
        left: Left,
        next: Task,
        stack: u32,
        wake: Option<Wake>,
    },
}

#[derive(Debug, Default)]
pub struct Timeline {
    lines: HashMap<u32, Line>,
    lost: VecDeque<(u64, u64)>,
    /// When gaps began that are not over yet.
    losing: Vec<u64>,
    pub lost_events: u64,
}

impl Timeline {
    /// From `time_ns` on its events arrive.
    pub fn watch(&mut self, thread: u32, time_ns: u64) {
        let (waits, samples) = (VecDeque::new(), VecDeque::new());
        let line = Line { since_ns: time_ns, waits, samples, now: Now::Unseen };
        self.lines.entry(thread).or_insert(line);
    }

    pub fn forget(&mut self, thread: u32) {
        self.lines.remove(&thread);
    }

    /// Those that were over before `time_ns`: nobody will ask for them.
    pub fn trim(&mut self, thread: u32, time_ns: u64) {
        if let Some(line) = self.lines.get_mut(&thread) {
            let over = line.waits.partition_point(|wait| wait.in_ns <= time_ns);
            line.waits.drain(..over);
            let over = line.samples.partition_point(|(at_ns, _)| *at_ns < time_ns);
            line.samples.drain(..over);
        }
    }

    pub fn waits_kept(&self) -> usize {
        self.lines.values().map(|line| line.waits.len()).sum()
    }

    pub fn take(&mut self, event: &SchedEvent) {
        match event.what {
            What::Losing => self.losing.push(event.time_ns),
            What::Lost { since_ns, count } => self.lost(since_ns, event.time_ns, count),
            _ => {
                if let Some(line) = self.lines.get_mut(&event.thread) {
                    line.take(event);
                }
            }
        }
    }

    fn lost(&mut self, since_ns: u64, time_ns: u64, count: u64) {
        self.lost_events += count;
        if let Some(at) = self.losing.iter().position(|losing| *losing == since_ns) {
            self.losing.swap_remove(at);
        }
        // What a thread's own records lose ends no wait, and leaves no gap.
        if count > 0 && since_ns < time_ns {
            self.lost.push_back((since_ns, time_ns));
        }
        if self.lost.len() > LOST_MAX {
            self.lost.pop_front();
        }
    }

    pub fn since_ns(&self, thread: u32) -> Option<u64> {
        self.lines.get(&thread).map(|line| line.since_ns)
    }

    /// The waits of a thread that overlap a span, in order. A wait that has not ended yet ends with
    /// the span. Of a wait in which events were lost nothing is known: it may have been several.
    pub fn waits(&self, thread: u32, from_ns: u64, to_ns: u64) -> Vec<Wait> {
        let Some(line) = self.lines.get(&thread) else { return Vec::new() };
        let first = line.waits.partition_point(|wait| wait.in_ns <= from_ns);
        let waits = line.waits.iter().skip(first).take_while(|wait| wait.out_ns < to_ns);
        let unended = match line.now {
            Now::Off { out_ns, wake: Some(_), .. } if out_ns < to_ns => {
                line.now.without_arrival(to_ns)
            }
            Now::Off { out_ns, .. } if out_ns < to_ns => line.now.ended(to_ns, Task::default()),
            _ => None,
        };
        let waits = waits.copied().chain(unended.filter(|wait| wait.in_ns > from_ns));
        waits.map(|wait| self.doubted(wait)).collect()
    }

    fn doubted(&self, wait: Wait) -> Wait {
        let how = if self.has_lost(wait.out_ns, wait.in_ns) { How::Unknown } else { wait.how };
        Wait { how, ..wait }
    }

    pub fn samples(&self, thread: u32, from_ns: u64, to_ns: u64) -> impl Iterator<Item = u32> {
        let samples = self.lines.get(&thread).map(|line| &line.samples);
        let first = samples.map_or(0, |all| all.partition_point(|(at_ns, _)| *at_ns < from_ns));
        let later = samples.into_iter().flat_map(move |all| all.range(first..));
        later.take_while(move |(at_ns, _)| *at_ns < to_ns).map(|(_, stack)| *stack)
    }

    pub fn has_lost(&self, from_ns: u64, to_ns: u64) -> bool {
        self.losing.iter().any(|from| *from < to_ns)
            || self.lost.iter().any(|(from, to)| *from < to_ns && *to > from_ns)
    }
}

impl Line {
    fn take(&mut self, event: &SchedEvent) {
        match (event.what, self.now) {
            (What::Out { left, next, stack }, now) => {
                if let Some(wait) = now.without_arrival(event.time_ns) {
                    self.keep(wait);
                }
                let out_ns = event.time_ns;
                self.now = Now::Off { out_ns, left, next, stack, wake: None };
            }
            (
                What::Woken { by, stack },
                Now::Off { out_ns, left, next, stack: slept, wake: None },
            ) => {
                let wake = Some(Wake { time_ns: event.time_ns, by, stack });
                self.now = Now::Off { out_ns, left, next, stack: slept, wake };
            }
            (What::Found { stack }, Now::Off { out_ns, left, next, stack: 0, wake }) => {
                self.now = Now::Off { out_ns, left, next, stack, wake };
            }
            (What::Sampled { stack }, _) => {
                self.samples.push_back((event.time_ns, stack));
                if self.samples.len() > SAMPLES_MAX {
                    self.samples.pop_front();
                }
            }
            (What::In { .. }, Now::Unseen) => {
                let (out_ns, in_ns) = (self.since_ns, event.time_ns);
                if in_ns > out_ns {
                    self.keep(Wait { out_ns, in_ns, how: How::Unknown });
                }
                self.now = Now::On;
            }
            (What::In { prev }, now) => {
                if let Some(wait) = now.ended(event.time_ns, prev) {
                    self.keep(wait);
                }
                self.now = Now::On;
            }
            _ => {}
        }
    }

    fn keep(&mut self, wait: Wait) {
        self.waits.push_back(wait);
        if self.waits.len() > WAITS_MAX {
            let forgotten = self.waits.pop_front();
            self.since_ns = forgotten.map_or(self.since_ns, |wait| wait.in_ns);
        }
    }
}

impl Now {
    /// It is known to run, and its arrival was not told. Linux 6.18 tells no arrivals from idle
    /// processors but the first: who was woken then had its processor at once.
    fn without_arrival(self, latest_ns: u64) -> Option<Wait> {
        match self {
            Now::Off { left: Left::Asleep, wake: Some(wake), .. } => {
                self.ended(wake.time_ns.min(latest_ns), Task::default())
            }
            Now::Off { out_ns, .. } => Some(Wait { out_ns, in_ns: latest_ns, how: How::Unknown }),
            _ => None,
        }
    }

    fn ended(self, in_ns: u64, had: Task) -> Option<Wait> {
        let Now::Off { out_ns, left, next, stack, wake } = self else { return None };
        let how = match left {
            Left::Asleep => How::Slept { stack, wake, had },
            Left::Preempted => How::Preempted { by: next, had },
        };
        Some(Wait { out_ns, in_ns, how })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(time_ns: u64, what: What) -> SchedEvent {
        SchedEvent { time_ns, processor: 1, thread: 5, what }
    }

    fn task(id: u32) -> Task {
        Task { id, name: id }
    }

    fn out(left: Left) -> What {
        What::Out { left, next: task(8), stack: 3 }
    }

    fn played(events: &[(u64, What)]) -> Timeline {
        let mut timeline = Timeline::default();
        timeline.watch(5, 10);
        events.iter().for_each(|(time_ns, what)| timeline.take(&event(*time_ns, *what)));
        timeline
    }

    #[test]
    fn a_sleep_has_its_stack_its_waker_and_who_had_the_processor() {
        let woken = What::Woken { by: task(9), stack: 4 };
        let timeline = played(&[
            (100, out(Left::Asleep)),
            (160, woken),
            (170, What::Woken { by: task(77), stack: 5 }),
            (190, What::In { prev: task(8) }),
            (300, out(Left::Preempted)),
            (350, What::In { prev: task(7) }),
        ]);
        let wake = Some(Wake { time_ns: 160, by: task(9), stack: 4 });
        let slept = How::Slept { stack: 3, wake, had: task(8) };
        let preempted = How::Preempted { by: task(8), had: task(7) };
        assert_eq!(
            timeline.waits(5, 0, 1_000),
            [
                Wait { out_ns: 100, in_ns: 190, how: slept },
                Wait { out_ns: 300, in_ns: 350, how: preempted },
            ]
        );
        assert_eq!(timeline.waits(5, 190, 300), []);
        assert_eq!(timeline.waits(5, 180, 301).len(), 2);
        assert_eq!(timeline.waits(6, 0, 1_000), []);
    }

    #[test]
    fn what_began_before_it_was_watched_is_unknown() {
        let timeline = played(&[(50, What::In { prev: task(0) })]);
        assert_eq!(timeline.waits(5, 0, 60), [Wait { out_ns: 10, in_ns: 50, how: How::Unknown }]);
        assert_eq!((timeline.since_ns(5), timeline.since_ns(6)), (Some(10), None));
    }

    #[test]
    fn what_was_over_is_trimmed_and_what_came_before_the_watch_is_no_wait() {
        let mut timeline = played(&[(5, What::In { prev: task(0) }), (100, out(Left::Asleep))]);
        timeline.take(&event(150, What::In { prev: task(0) }));
        timeline.take(&event(200, out(Left::Asleep)));
        timeline.take(&event(250, What::In { prev: task(0) }));
        assert_eq!((timeline.waits_kept(), timeline.waits(5, 0, 100).len()), (2, 0));
        timeline.trim(5, 150);
        assert_eq!((timeline.waits_kept(), timeline.waits(5, 150, 300).len()), (1, 1));
        assert_eq!(timeline.since_ns(5), Some(10));
    }

    #[test]
    fn a_missing_arrival_is_unknown_and_a_wait_that_goes_on_ends_with_the_span() {
        let timeline = played(&[(100, out(Left::Asleep)), (200, out(Left::Asleep))]);
        let waits = timeline.waits(5, 0, 400);
        assert_eq!(waits[0], Wait { out_ns: 100, in_ns: 200, how: How::Unknown });
        assert_eq!((waits[1].out_ns, waits[1].in_ns), (200, 400));
    }

    #[test]
    fn an_arrival_from_an_idle_processor_need_not_be_told() {
        let woken = What::Woken { by: task(9), stack: 4 };
        let slept = How::Slept {
            stack: 3,
            wake: Some(Wake { time_ns: 160, by: task(9), stack: 4 }),
            had: Task::default(),
        };
        let wait = Wait { out_ns: 100, in_ns: 160, how: slept };
        let first = [(100, out(Left::Asleep)), (160, woken)];
        assert_eq!(played(&first).waits(5, 0, 400), [wait]);
        assert_eq!(played(&first).waits(5, 170, 400), []);
        let again = [&first[..], &[(300, out(Left::Asleep))]].concat();
        assert_eq!(played(&again).waits(5, 0, 250), [wait]);
    }

    #[test]
    fn a_span_with_lost_events_is_known() {
        let timeline = played(&[
            (100, out(Left::Asleep)),
            (120, What::In { prev: task(0) }),
            (500, What::Lost { since_ns: 120, count: 7 }),
        ]);
        assert_eq!(timeline.lost_events, 7);
        assert!(timeline.has_lost(110, 130) && timeline.has_lost(499, 900));
        assert!(!timeline.has_lost(0, 120) && !timeline.has_lost(500, 900));
    }

    #[test]
    fn samples_of_a_span_are_given_and_those_of_before_are_trimmed() {
        let sampled = |stack| What::Sampled { stack };
        let mut timeline = played(&[(100, sampled(3)), (200, sampled(4)), (300, sampled(5))]);
        let given = |timeline: &Timeline| timeline.samples(5, 100, 300).collect::<Vec<_>>();
        assert_eq!(given(&timeline), [3, 4]);
        timeline.trim(5, 150);
        assert_eq!((given(&timeline), timeline.samples(6, 0, 900).count()), (vec![4], 0));
    }

    #[test]
    fn a_gap_that_goes_on_is_known_until_the_kernel_says_that_nothing_was_lost() {
        let mut timeline = played(&[(100, out(Left::Asleep)), (120, What::Losing)]);
        timeline.take(&event(200, What::In { prev: task(0) }));
        assert!(timeline.has_lost(0, 121) && !timeline.has_lost(0, 120));
        assert_eq!(timeline.waits(5, 0, 400)[0].how, How::Unknown);
        timeline.take(&event(300, What::Lost { since_ns: 120, count: 0 }));
        assert!(!timeline.has_lost(0, 400));
        assert!(matches!(timeline.waits(5, 0, 400)[0].how, How::Slept { .. }));
    }

    #[test]
    fn an_hour_of_waits_is_bounded_and_says_what_it_forgot() {
        let mut timeline = Timeline::default();
        timeline.watch(5, 0);
        for turn in 0..1_000_000u64 {
            timeline.take(&event(turn * 10, out(Left::Asleep)));
            timeline.take(&event(turn * 10 + 5, What::In { prev: task(0) }));
        }
        assert_eq!(timeline.lines[&5].waits.len(), WAITS_MAX);
        let since_ns = timeline.since_ns(5).unwrap();
        assert_eq!(since_ns, (1_000_000 - WAITS_MAX as u64 - 1) * 10 + 5);
    }
}
