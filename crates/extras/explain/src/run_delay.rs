//! How long a thread without a told waker had waited for a processor: the scheduler's own sum, given to
//! the sleeps that it belongs to. Pure; the sum is read elsewhere (`crate::kernel::sched_stat`).
//!
//! Between two looks the sum has grown by the delay of each arrival since. Preempted waits are known to
//! the nanosecond; where one sleep ended beside them, the rest is how long it waited once it was awake.
//! Where several did, nobody knows whose it was, and it stays with the sleeps.

use crate::kernel::sched_stat::SchedStat;

use crate::sched::{Left, SchedEvent, Task, What};

#[derive(Debug, Default)]
pub struct RunDelay {
    before: Option<SchedStat>,
    arrivals: u64,
    /// When it left and why, where that was told and it has not come back.
    out: Option<(u64, Left)>,
    pub total_ns: u64,
    /// The last look agreed with what was told.
    agreed: bool,
    first_slices: u64,
}

impl RunDelay {
    /// What a look adds to the events of a thread since the look before, which must be in the order of
    /// their times: at most one waking, by nobody that is known.
    pub fn look(
        &mut self,
        thread: u32,
        now: SchedStat,
        events: &[SchedEvent],
    ) -> Option<SchedEvent> {
        let (mut preempted_ns, mut slept) = (0, Vec::new());
        for event in events {
            match (event.what, self.out) {
                (What::Out { left, .. }, _) => self.out = Some((event.time_ns, left)),
                (What::In { .. }, out) => {
                    self.arrivals += 1;
                    self.out = None;
                    match out {
                        Some((out_ns, Left::Asleep)) => slept.push((out_ns, event)),
                        Some((out_ns, Left::Preempted)) => preempted_ns += event.time_ns - out_ns,
                        None => {}
                    }
                }
                _ => {}
            }
        }
        let delay_ns = self.grown_ns(now)?;
        let rest_ns = delay_ns.saturating_sub(preempted_ns);
        let [(out_ns, arrival)] = slept[..] else { return None };
        let time_ns = arrival.time_ns.saturating_sub(rest_ns).max(out_ns);
        let what = What::Woken { by: Task::UNKNOWN, stack: 0 };
        Some(SchedEvent { time_ns, processor: arrival.processor, thread, what })
    }

    /// By how much the sum has grown since the last look, where both looks fell between the same
    /// arrivals as the events.
    fn grown_ns(&mut self, now: SchedStat) -> Option<u64> {
        let before = self.before.replace(now);
        let Some(before) = before else {
            self.first_slices = now.slices.saturating_sub(self.arrivals);
            self.agreed = true;
            return None;
        };
        let delay_ns = now.run_delay_ns.saturating_sub(before.run_delay_ns);
        self.total_ns += delay_ns;
        let did_agree = self.agreed;
        self.agreed = now.slices.saturating_sub(self.first_slices) == self.arrivals;
        (did_agree && self.agreed).then_some(delay_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(time_ns: u64, what: What) -> SchedEvent {
        SchedEvent { time_ns, processor: 1, thread: 5, what }
    }

    fn out(time_ns: u64, left: Left) -> SchedEvent {
        event(time_ns, What::Out { left, next: Task::UNKNOWN, stack: 0 })
    }

    fn back(time_ns: u64) -> SchedEvent {
        event(time_ns, What::In { prev: Task::UNKNOWN })
    }

    fn stat(run_delay_ns: u64, slices: u64) -> SchedStat {
        SchedStat { run_delay_ns, slices }
    }

    #[test]
    fn one_sleep_gets_what_preempted_waits_leave() {
        let mut delay = RunDelay::default();
        assert_eq!(delay.look(5, stat(1_000, 40), &[]), None);
        let events = [out(100, Left::Asleep)];
        assert_eq!(delay.look(5, stat(1_000, 40), &events), None);
        let events = [back(900), out(1_000, Left::Preempted), back(1_300)];
        let woken = delay.look(5, stat(1_500, 42), &events).expect("a waking");
        assert_eq!((woken.time_ns, woken.thread, delay.total_ns), (700, 5, 500));
        assert!(matches!(woken.what, What::Woken { by: Task::UNKNOWN, .. }));
    }

    #[test]
    fn of_several_sleeps_nobody_knows_whose_it_was() {
        let mut delay = RunDelay::default();
        delay.look(5, stat(0, 0), &[]);
        let events = [out(100, Left::Asleep), back(200), out(300, Left::Asleep), back(400)];
        assert_eq!(delay.look(5, stat(150, 2), &events), None);
        assert_eq!(delay.total_ns, 150);
    }

    #[test]
    fn looks_between_other_arrivals_than_the_events_say_nothing() {
        let mut delay = RunDelay::default();
        delay.look(5, stat(0, 7), &[out(50, Left::Asleep)]);
        assert_eq!(delay.look(5, stat(90, 9), &[back(100)]), None);
        let events = [out(110, Left::Asleep), back(200), out(300, Left::Asleep)];
        assert_eq!(delay.look(5, stat(95, 9), &events), None);
        let woken = delay.look(5, stat(105, 10), &[back(400)]).expect("they agree again");
        assert_eq!((woken.time_ns, delay.total_ns), (390, 105));
    }

    #[test]
    fn a_waking_is_never_before_the_sleep() {
        let mut delay = RunDelay::default();
        delay.look(5, stat(0, 1), &[]);
        let woken = delay.look(5, stat(9_000, 2), &[out(100, Left::Asleep), back(200)]);
        assert_eq!(woken.map(|woken| woken.time_ns), Some(100));
    }
}
