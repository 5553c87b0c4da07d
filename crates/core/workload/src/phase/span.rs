//! The timed span of a phase: the clock and what the process had used of the processors, read together
//! at its beginning and at its end, so that CPU figures never cover more than the time they stand beside.
//! What the whole machine did is read around it, with an interval of its own.
//!
//! ```text
//! machine  began { usage  clock }  work  { clock  usage } ended  machine
//! ```

use pickfs_record::{Clock, MonotonicClock};
use pickfs_sys::{
    cpu_time::{CpuTimes, ticks_per_second},
    own_usage::OwnUsage,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) at_ns: u64,
    pub(super) usage: OwnUsage,
}

impl Moment {
    /// Work begins behind this: the clock is read last.
    pub(super) fn before_work() -> Moment {
        let usage = OwnUsage::now();
        Moment { usage, at_ns: MonotonicClock.now_ns() }
    }

    /// Work has ended: the clock is read first.
    pub(super) fn after_work() -> Moment {
        let at_ns = MonotonicClock.now_ns();
        Moment { at_ns, usage: OwnUsage::now() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) began: Moment,
    pub(super) ended: Moment,
}

impl Span {
    pub(super) fn elapsed_ns(&self) -> u64 {
        self.ended.at_ns.saturating_sub(self.began.at_ns)
    }

    pub(super) fn used(&self) -> OwnUsage {
        self.ended.usage.since(&self.began.usage)
    }

    pub(super) fn around(self, other: Span) -> Span {
        let began = if other.began.at_ns < self.began.at_ns { other.began } else { self.began };
        let ended = if other.ended.at_ns > self.ended.at_ns { other.ended } else { self.ended };
        Span { began, ended }
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct OpenSpan {
    began: Option<Moment>,
    ended: Option<Moment>,
}

impl OpenSpan {
    pub(super) fn begin(&mut self) {
        *self = OpenSpan { began: Some(Moment::before_work()), ended: None };
    }

    pub(super) fn end(&mut self) {
        self.ended = Some(Moment::after_work());
    }

    pub(super) fn is_open(&self) -> bool {
        self.ended.is_none()
    }

    /// Nothing where one of the two was not told.
    pub(super) fn closed(&self) -> Option<Span> {
        Some(Span { began: self.began?, ended: self.ended? })
    }

    pub(super) fn began_ns(&self) -> u64 {
        self.began.map_or(0, |moment| moment.at_ns)
    }
}

#[derive(Debug, Clone)]
pub(super) struct MachineMoment {
    pub(super) at_ns: u64,
    pub(super) times: CpuTimes,
}

impl MachineMoment {
    /// Takes some 50 us and more: not for the measured time.
    pub(super) fn now() -> Option<MachineMoment> {
        let times = CpuTimes::now().ok()?;
        Some(MachineMoment { at_ns: MonotonicClock.now_ns(), times })
    }
}

/// The kernel counts in ticks of 10 ms: a phase shorter than this many nanoseconds says nothing.
const SHORTEST_NS: u64 = 500_000_000;

/// Processors of the machine that were busy between two readings, 1.0 being all of one, by the time
/// that lies between the very readings; absent for what is too short to be counted. Others' work is in
/// it too.
pub(super) fn busy_processors(
    before: Option<&MachineMoment>,
    after: Option<&MachineMoment>,
) -> Option<f64> {
    let (before, after) = (before?, after?);
    let interval_ns = after.at_ns.saturating_sub(before.at_ns);
    if interval_ns < SHORTEST_NS {
        return None;
    }
    let spent = after.times.since(&before.times).machine;
    let busy_ticks = spent.user_ticks + spent.nice_ticks + spent.system_ticks + spent.irq_ticks;
    Some(busy_ticks as f64 / ticks_per_second() as f64 / (interval_ns as f64 / 1e9))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(at_ns: u64, user_ns: u64) -> Moment {
        Moment { at_ns, usage: OwnUsage { user_ns, ..OwnUsage::default() } }
    }

    #[test]
    fn several_threads_span_from_the_first_beginning_to_the_last_end() {
        let one = Span { began: moment(10, 1), ended: moment(50, 7) };
        let other = Span { began: moment(20, 2), ended: moment(90, 11) };
        for both in [one.around(other), other.around(one)] {
            assert_eq!((both.elapsed_ns(), both.used().user_ns), (80, 10));
        }
    }

    #[test]
    fn a_span_that_was_not_ended_is_none() {
        let mut open = OpenSpan::default();
        open.end();
        assert!(open.closed().is_none());
        open.begin();
        assert!(open.closed().is_none() && open.is_open());
        open.end();
        assert!(open.closed().is_some_and(|span| span.began.at_ns <= span.ended.at_ns));
    }

    #[test]
    fn ticks_become_processors_and_short_phases_say_nothing() {
        let at = |at_ns| MachineMoment { at_ns, times: CpuTimes::default() };
        let before = at(7_000_000_000);
        let busy = |at_ns| {
            let mut after = at(at_ns);
            after.times.machine.user_ticks = ticks_per_second();
            after.times.machine.irq_ticks = ticks_per_second() / 2;
            after.times.machine.idle_ticks = 10 * ticks_per_second();
            busy_processors(Some(&before), Some(&after))
        };
        assert_eq!(busy(8_000_000_000), Some(1.5));
        assert_eq!(busy(9_000_000_000), Some(0.75));
        assert_eq!(busy(7_010_000_000), None);
        assert_eq!(busy_processors(None, Some(&before)), None);
    }
}
