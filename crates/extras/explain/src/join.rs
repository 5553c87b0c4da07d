//! One slow operation joined with what its thread did meanwhile: stretches that follow each other without a
//! gap, from the operation's start to its end. Pure; naming is not done here.
//!
//! ```text
//! operation       |-----------------------------------------|
//! waits          out ....... woken ... in     out .. in
//! stretches | on | blocked       | cpu  | on |  cpu  | on |
//! ```

use crate::{
    sched::Task,
    timeline::{How, Timeline, Wait, Wake},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spent {
    /// On a processor, or in a pause of the whole machine, which looks the same.
    OnCpu,
    Blocked {
        /// A number of [`super::sched::Names::stacks`].
        stack: u32,
        /// `None` where that event is missing.
        wake: Option<Wake>,
    },
    /// Ready, without a processor.
    CpuWait {
        had: Task,
    },
    Unexplained,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    pub from_ns: u64,
    pub to_ns: u64,
    pub spent: Spent,
}

impl Stretch {
    pub fn length_ns(&self) -> u64 {
        self.to_ns - self.from_ns
    }
}

/// The stretches of an operation of `thread` from `from_ns` to `to_ns`. They sum to its time. Time before
/// the thread was watched is unexplained; so is time on a processor in an operation in which events were
/// lost, and each wait in which some were.
pub fn split(timeline: &Timeline, thread: u32, from_ns: u64, to_ns: u64) -> Vec<Stretch> {
    let mut parts = Parts { at_ns: from_ns, end_ns: to_ns, stretches: Vec::new() };
    let Some(since_ns) = timeline.since_ns(thread) else {
        parts.until(to_ns, Spent::Unexplained);
        return parts.stretches;
    };
    parts.until(since_ns, Spent::Unexplained);
    let running = match timeline.has_lost(from_ns, to_ns) {
        true => Spent::Unexplained,
        false => Spent::OnCpu,
    };
    for wait in timeline.waits(thread, from_ns, to_ns) {
        parts.until(wait.out_ns, running);
        parts.wait(&wait);
    }
    parts.until(to_ns, running);
    parts.stretches
}

/// A stretch that was spent waiting for other threads to do the work, replaced by what those waited
/// for meanwhile; where none of them waited, it stays as it is.
pub fn delegated(stretch: Stretch, waits_of_others: &[Wait]) -> Vec<Stretch> {
    let (at_ns, end_ns) = (stretch.from_ns, stretch.to_ns);
    let mut parts = Parts { at_ns, end_ns, stretches: Vec::new() };
    let mut waits: Vec<&Wait> =
        waits_of_others.iter().filter(|wait| matches!(wait.how, How::Slept { .. })).collect();
    waits.sort_by_key(|wait| wait.out_ns);
    for wait in waits {
        if wait.out_ns < end_ns && wait.in_ns > parts.at_ns {
            parts.until(wait.out_ns, stretch.spent);
            parts.wait(wait);
        }
    }
    parts.until(end_ns, stretch.spent);
    parts.stretches
}

struct Parts {
    at_ns: u64,
    end_ns: u64,
    stretches: Vec<Stretch>,
}

impl Parts {
    /// Up to `to_ns`, or to the end of the operation; nothing where that is already past.
    fn until(&mut self, to_ns: u64, spent: Spent) {
        let to_ns = to_ns.min(self.end_ns);
        if to_ns > self.at_ns {
            self.stretches.push(Stretch { from_ns: self.at_ns, to_ns, spent });
            self.at_ns = to_ns;
        }
    }

    fn wait(&mut self, wait: &Wait) {
        match wait.how {
            How::Slept { stack, wake, had } => {
                let woken_ns = wake.map_or(wait.in_ns, |wake| wake.time_ns);
                self.until(woken_ns, Spent::Blocked { stack, wake });
                self.until(wait.in_ns, Spent::CpuWait { had });
            }
            How::Preempted { by, had } => {
                let had = if had.id == 0 { by } else { had };
                self.until(wait.in_ns, Spent::CpuWait { had });
            }
            How::Unknown => self.until(wait.in_ns, Spent::Unexplained),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sched::{Left, SchedEvent, What};

    const THREAD: u32 = 5;

    fn task(id: u32) -> Task {
        Task { id, name: id }
    }

    fn played(events: &[(u64, What)]) -> Timeline {
        let mut timeline = Timeline::default();
        timeline.watch(THREAD, 100);
        for (time_ns, what) in events {
            let event = SchedEvent { time_ns: *time_ns, processor: 0, thread: THREAD, what: *what };
            timeline.take(&event);
        }
        timeline
    }

    fn out(left: Left) -> What {
        What::Out { left, next: task(8), stack: 3 }
    }

    fn woken() -> What {
        What::Woken { by: task(9), stack: 4 }
    }

    fn lengths(stretches: &[Stretch]) -> Vec<(u64, Spent)> {
        stretches.iter().map(|stretch| (stretch.length_ns(), stretch.spent)).collect()
    }

    #[test]
    fn a_operation_is_split_to_the_nanosecond() {
        let timeline = played(&[
            (1_000, out(Left::Asleep)),
            (5_000, woken()),
            (5_700, What::In { prev: task(8) }),
            (6_000, out(Left::Preempted)),
            (9_000, What::In { prev: task(7) }),
        ]);
        let wake = Some(Wake { time_ns: 5_000, by: task(9), stack: 4 });
        assert_eq!(
            lengths(&split(&timeline, THREAD, 900, 10_000)),
            [
                (100, Spent::OnCpu),
                (4_000, Spent::Blocked { stack: 3, wake }),
                (700, Spent::CpuWait { had: task(8) }),
                (300, Spent::OnCpu),
                (3_000, Spent::CpuWait { had: task(7) }),
                (1_000, Spent::OnCpu),
            ]
        );
    }

    #[test]
    fn waits_are_clipped_to_the_operation() {
        let timeline = played(&[
            (1_000, out(Left::Asleep)),
            (5_000, woken()),
            (5_700, What::In { prev: task(8) }),
        ]);
        assert_eq!(split(&timeline, THREAD, 4_000, 5_100).len(), 2);
        assert_eq!(lengths(&split(&timeline, THREAD, 5_800, 5_900)), [(100, Spent::OnCpu)]);
    }

    #[test]
    fn what_is_not_known_is_said() {
        let timeline = played(&[(150, What::In { prev: task(8) })]);
        let found = lengths(&split(&timeline, THREAD, 50, 200));
        assert_eq!(
            found,
            [(50, Spent::Unexplained), (50, Spent::Unexplained), (50, Spent::OnCpu),]
        );
        let found = lengths(&split(&timeline, 77, 50, 200));
        assert_eq!(found, [(150, Spent::Unexplained)]);
        let timeline = played(&[(150, What::Lost { since_ns: 0, count: 2 })]);
        assert_eq!(lengths(&split(&timeline, THREAD, 120, 140)), [(20, Spent::Unexplained)]);
        assert_eq!(lengths(&split(&timeline, THREAD, 150, 160)), [(10, Spent::OnCpu)]);
    }

    #[test]
    fn a_wait_in_which_events_were_lost_is_not_known() {
        let timeline = played(&[
            (1_000, out(Left::Asleep)),
            (1_500, woken()),
            (1_600, What::In { prev: task(8) }),
            (2_000, out(Left::Asleep)),
            (4_000, What::Lost { since_ns: 2_000, count: 2 }),
            (5_000, woken()),
            (5_700, What::In { prev: task(8) }),
        ]);
        let found = split(&timeline, THREAD, 2_000, 5_700);
        assert_eq!(lengths(&found), [(3_700, Spent::Unexplained)]);
        let wake = Some(Wake { time_ns: 1_500, by: task(9), stack: 4 });
        let before = split(&timeline, THREAD, 1_000, 1_600);
        let blocked = Spent::Blocked { stack: 3, wake };
        assert_eq!(lengths(&before), [(500, blocked), (100, Spent::CpuWait { had: task(8) })]);
    }

    #[test]
    fn work_that_others_do_takes_their_waits() {
        let of_other = played(&[
            (1_500, out(Left::Asleep)),
            (2_500, woken()),
            (2_600, What::In { prev: task(8) }),
        ]);
        let spent = Spent::Blocked { stack: 1, wake: None };
        let whole = Stretch { from_ns: 1_000, to_ns: 3_000, spent };
        let found = delegated(whole, &of_other.waits(THREAD, 0, 9_000));
        let lengths: Vec<u64> = found.iter().map(Stretch::length_ns).collect();
        assert_eq!(lengths, [500, 1_000, 100, 400]);
        assert_eq!((found[0].spent, found[3].spent), (spent, spent));
        assert_eq!(delegated(whole, &[]), [whole]);
    }

    proptest! {
        #[test]
        fn the_parts_follow_each_other_and_sum_to_the_operation(
            steps in prop::collection::vec((0u64..50, 0u8..6), 0..40), from in 0u64..900, length in 1u64..900,
        ) {
            let mut time_ns = 100;
            let events: Vec<(u64, What)> = steps.iter().map(|(step, kind)| {
                time_ns += step;
                let what = match kind {
                    0 => out(Left::Asleep),
                    1 => out(Left::Preempted),
                    2 => woken(),
                    3 => What::In { prev: task(2) },
                    4 => What::Losing,
                    _ => What::Lost { since_ns: time_ns.saturating_sub(60), count: 1 },
                };
                (time_ns, what)
            }).collect();
            let timeline = played(&events);
            let found = split(&timeline, THREAD, from, from + length);
            prop_assert_eq!(found.iter().map(Stretch::length_ns).sum::<u64>(), length);
            prop_assert_eq!(found.first().map(|part| part.from_ns), Some(from));
            prop_assert!(found.windows(2).all(|pair| pair[0].to_ns == pair[1].from_ns));
            let waits = timeline.waits(THREAD, from, from + length);
            let whole = Stretch { from_ns: from, to_ns: from + length, spent: Spent::OnCpu };
            let given = delegated(whole, &waits);
            prop_assert_eq!(given.iter().map(Stretch::length_ns).sum::<u64>(), length);
        }
    }
}
