//! What the measuring thread writes while it measures: laps, lateness, and the live figures that a
//! progress bar reads. No lock, no allocation, no system call.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use pickfs_measure::{Lap, LapRecorder, Lateness, OpIndex, Turnstile};

use crate::drive::Turn;

/// Figures that are read while a measurement runs. They are looked at, never reported.
pub trait LiveLaps: Send + Sync {
    /// Turns taken so far, and the longest of them in nanoseconds.
    fn show(&self, turns: u64, longest_ns: u64);
}

/// Live figures in memory of this process.
impl LiveLaps for (AtomicU64, AtomicU64) {
    fn show(&self, turns: u64, longest_ns: u64) {
        self.0.store(turns, Relaxed);
        self.1.store(longest_ns, Relaxed);
    }
}

/// The measuring thread's bench.
pub struct Bench {
    laps: LapRecorder,
    turnstile: Turnstile,
    live: Option<Arc<dyn LiveLaps>>,
    is_open: bool,
    due_ns: u64,
    turns: u64,
    longest_ns: u64,
}

impl Bench {
    /// A bench around a recorder; `is_open` when turns have due times.
    pub fn new(laps: LapRecorder, is_open: bool, live: Option<Arc<dyn LiveLaps>>) -> Self {
        let turnstile = Turnstile::default();
        Bench { laps, turnstile, live, is_open, due_ns: 0, turns: 0, longest_ns: 0 }
    }

    pub(crate) fn open(&mut self, began_ns: u64) {
        self.laps.begin(began_ns);
    }

    #[inline]
    pub(crate) fn begin(&mut self, turn: &Turn) {
        self.due_ns = turn.due_ns;
        if self.is_open {
            self.turnstile.begin(turn.due_ns, turn.start_ns);
        }
    }

    #[inline]
    pub(crate) fn end(&mut self, turn: &Turn, end_ns: u64) {
        self.turns += 1;
        self.longest_ns = self.longest_ns.max(end_ns - turn.start_ns);
        if self.is_open {
            self.turnstile.end(end_ns);
        }
        if let Some(live) = &self.live {
            live.show(self.turns, self.longest_ns);
        }
    }

    /// Keeps an operation that this turn was waiting for: it has a response time in an open loop.
    #[inline]
    pub fn lap(&mut self, op: OpIndex, start_ns: u64, end_ns: u64, offset_bytes: u64) {
        let response_ns = self.is_open.then(|| self.turnstile.response_ns(end_ns));
        let lap = Lap { due_ns: self.due_ns, start_ns, end_ns, offset_bytes };
        self.laps.lap(op, lap, response_ns);
    }

    /// Keeps an operation that nobody has a due time for: service time only.
    #[inline]
    pub fn lap_alone(&mut self, op: OpIndex, start_ns: u64, end_ns: u64, offset_bytes: u64) {
        self.laps.lap(op, Lap { due_ns: start_ns, start_ns, end_ns, offset_bytes }, None);
    }

    /// Keeps an operation that began in an earlier turn and ended in this one, at `end_ns`.
    ///
    /// Its end on the line without the driver's stalls is that of the present turn.
    #[inline]
    pub fn lap_of(&mut self, op: OpIndex, earlier: &Turn, end_ns: u64, offset_bytes: u64) {
        let response_ns =
            self.is_open.then(|| self.due_ns + self.turnstile.response_ns(end_ns) - earlier.due_ns);
        let (due_ns, start_ns) = (earlier.due_ns, earlier.start_ns);
        self.laps.lap(op, Lap { due_ns, start_ns, end_ns, offset_bytes }, response_ns);
    }

    /// Turns that have ended.
    pub fn turns(&self) -> u64 {
        self.turns
    }

    /// What was late so far.
    pub fn lateness(&self) -> Lateness {
        self.turnstile.lateness()
    }

    /// Gives the recorder back.
    pub fn into_recorder(self) -> LapRecorder {
        self.laps
    }
}
