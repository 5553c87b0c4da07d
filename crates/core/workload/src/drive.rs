//! The measured loop: one arrival after another, each when it is due.
//!
//! Between two readings of the clock stands only the operation under test; what an arrival needs is made
//! ready before it is due. The loop does not know what the work is, and it is generic over the
//! clock, so that a test plays scripted work on a simulated one, exact to the nanosecond.

use pickfs_record::{Arrival, Clock, Schedule};

use crate::{bench::Bench, fault::Fault};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Due {
    /// When it was due; equal to `start_ns` in a closed loop.
    pub due_ns: u64,
    pub start_ns: u64,
    /// When the next one is due; `None` in a closed loop.
    pub next_due_ns: Option<u64>,
}

pub trait Work {
    /// Makes the next arrival ready; untimed. Called again for the same arrival, it does nothing. The time
    /// is when the arrival is expected.
    #[inline]
    fn ready(&mut self, _time_ns: u64) -> Result<(), Fault> {
        Ok(())
    }

    fn run<C: Clock>(&mut self, clock: &C, arrival: &Due, bench: &mut Bench) -> Result<u64, Fault>;

    /// Called shortly before an arrival that is waited for is due: a spin of the loop in which an application waits.
    /// Untimed.
    #[inline]
    fn poise(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    /// Ends what earlier arrivals left open, and keeps its operations: none that was begun is left out. Says when that had ended.
    fn settle<C: Clock>(&mut self, clock: &C, _bench: &mut Bench) -> Result<u64, Fault> {
        Ok(clock.now_ns())
    }

    #[inline]
    fn bytes_written(&self) -> u64 {
        0
    }

    /// Whether somebody else has ended it: it goes on beside work that has.
    #[inline]
    fn is_stopped(&self) -> bool {
        false
    }
}

#[derive(Debug, Clone)]
pub struct Pace {
    schedule: Schedule,
    spin_below_ns: u64,
    asked_per_s: Option<f64>,
}

/// A schedule's first arrival is due this long after it began, so that it is not late by being first.
const LEAD_NS: u64 = 100_000;
/// Arrivals that never began are kept one by one where no more than this are left, else in groups of a hundred-thousandth of those
/// left: a schedule of a thousand million a second would take longer to count than to run.
const ONE_BY_ONE: f64 = 1e5;
const POISE_NS: u64 = 2_000;

impl Pace {
    /// Gaps longer than `spin_below_ns` are slept through.
    pub fn new(arrival: Arrival, seed: u64, spin_below_ns: u64) -> Self {
        let asked_per_s = arrival.rate_per_s();
        Pace { schedule: Schedule::new(arrival, seed), spin_below_ns, asked_per_s }
    }

    pub fn is_open(&self) -> bool {
        self.asked_per_s.is_some()
    }

    pub fn asked_per_s(&self) -> Option<f64> {
        self.asked_per_s
    }

    #[inline]
    fn next_due_ns(&mut self, began_ns: u64) -> Option<u64> {
        self.schedule.next_due_ns().map(|due_ns| began_ns + due_ns)
    }

    #[inline]
    fn wait<C: Clock>(&self, clock: &C, due_ns: Option<u64>, ended_ns: u64) {
        match due_ns {
            Some(due_ns) if due_ns > ended_ns => clock.wait_until(due_ns, self.spin_below_ns),
            None if self.schedule.pause_ns() > 0 => {
                clock.wait_until(ended_ns + self.schedule.pause_ns(), self.spin_below_ns);
            }
            _ => {}
        }
    }
}

/// How long a loop goes on: until both are reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub length_ns: u64,
    /// Bytes that the work must have written since its beginning.
    pub bytes: u64,
    /// The bytes are given up at this many nanoseconds.
    pub length_ns_max: u64,
    /// For how long arrivals that were due within the span are still taken after it.
    pub drain_ns: u64,
}

impl Span {
    /// What was due is taken for as long again: 2 s at least, 30 s at most.
    pub fn time(length_ns: u64) -> Self {
        let drain_ns = length_ns.clamp(2_000_000_000, 30_000_000_000);
        Span { length_ns, bytes: 0, length_ns_max: length_ns, drain_ns }
    }

    #[inline]
    fn is_over(&self, passed_ns: u64, bytes: u64) -> bool {
        passed_ns >= self.length_ns && (bytes >= self.bytes || passed_ns >= self.length_ns_max)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Driven {
    pub began_ns: u64,
    /// From its beginning to the end of its last arrival, or to its planned end if that is later.
    pub measured_ns: u64,
    pub arrivals: u64,
    pub in_time: u64,
    /// Arrivals that were due within the span and had not begun when the drain was given up.
    pub missed: u64,
    /// The planned length of an open loop; else the measured one.
    pub span_ns: u64,
}

/// In an open loop every arrival that is due within the span is taken, late or not. Those that could
/// not begin in the drain after it are kept as responses of at least the time that they had waited.
pub fn drive<C: Clock, W: Work>(
    clock: &C,
    work: &mut W,
    pace: &mut Pace,
    bench: &mut Bench,
    mut span: Span,
) -> Result<Driven, Fault> {
    let began_ns = clock.now_ns() + LEAD_NS;
    let (first_arrival, first_byte) = (bench.arrivals(), work.bytes_written());
    bench.open(began_ns);
    let mut ended_ns = began_ns;
    let mut due_ns = pace.next_due_ns(began_ns);
    let mut in_time = 0;
    clock.wait_until(began_ns, u64::MAX);
    loop {
        let is_given_up = ended_ns - began_ns >= span.length_ns + span.drain_ns;
        let reached_ns = match due_ns {
            Some(due_ns) if !is_given_up => due_ns,
            _ => due_ns.unwrap_or(ended_ns).max(ended_ns),
        };
        work.ready(due_ns.unwrap_or(ended_ns))?;
        if work.is_stopped() {
            span.length_ns = due_ns.map_or(0, |_| clock.now_ns() - began_ns);
            break;
        }
        if span.is_over(reached_ns - began_ns, work.bytes_written() - first_byte) {
            break;
        }
        if let Some(due_ns) = due_ns.filter(|due_ns| *due_ns > ended_ns + 2 * POISE_NS) {
            clock.wait_until(due_ns - POISE_NS, pace.spin_below_ns);
            work.poise()?;
        }
        pace.wait(clock, due_ns, ended_ns);
        let next_due_ns = pace.next_due_ns(began_ns);
        let start_ns = clock.now_ns();
        let arrival = Due { due_ns: due_ns.unwrap_or(start_ns), start_ns, next_due_ns };
        bench.begin(&arrival);
        ended_ns = work.run(clock, &arrival, bench)?;
        bench.end(&arrival, ended_ns);
        in_time += u64::from(ended_ns - began_ns <= span.length_ns || due_ns.is_none());
        due_ns = next_due_ns;
    }
    let measured_ns = (ended_ns - began_ns).max(span.length_ns);
    let settled_ns = work.settle(clock, bench)?;
    let arrivals = bench.arrivals() - first_arrival;
    let mut missed = 0;
    let is_due = |due_ns: &u64| *due_ns - began_ns < span.length_ns;
    while let Some(late_ns) = due_ns.filter(is_due) {
        let left_s = (span.length_ns - (late_ns - began_ns)) as f64 / 1e9;
        let times = (pace.asked_per_s.unwrap_or(0.0) * left_s / ONE_BY_ONE).max(1.0) as u64;
        let times = 1 + pace.schedule.skip(times - 1);
        bench.missed(late_ns, settled_ns.max(late_ns), arrivals, times);
        missed += times;
        due_ns = pace.next_due_ns(began_ns);
    }
    let is_timed = pace.is_open() && span.length_ns > 0;
    let span_ns = if is_timed { span.length_ns } else { measured_ns };
    Ok(Driven { began_ns, measured_ns, arrivals, in_time, missed, span_ns })
}
