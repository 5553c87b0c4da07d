//! Who keeps the laps of repeated calls: the bench of a phase, or nobody. The calls themselves do not
//! know which.

use pickfs_measure::{Clock, MonotonicClock};

use crate::phase::PhaseBench;

/// Takes laps.
pub trait Watch {
    /// The clock of the laps in nanoseconds.
    fn now_ns(&self) -> u64;

    /// Keeps one call.
    fn lap(&mut self, start_ns: u64, end_ns: u64, offset_bytes: u64);
}

impl Watch for PhaseBench {
    #[inline]
    fn now_ns(&self) -> u64 {
        PhaseBench::now_ns(self)
    }

    #[inline]
    fn lap(&mut self, start_ns: u64, end_ns: u64, offset_bytes: u64) {
        PhaseBench::lap(self, 0, start_ns, end_ns, offset_bytes);
    }
}

/// Counts laps and their time, and keeps nothing else.
#[derive(Debug, Default)]
pub struct Tally {
    /// Laps.
    pub count: u64,
    /// Their time in nanoseconds.
    pub sum_ns: u64,
}

impl Watch for Tally {
    fn now_ns(&self) -> u64 {
        MonotonicClock.now_ns()
    }

    fn lap(&mut self, start_ns: u64, end_ns: u64, _offset_bytes: u64) {
        self.count += 1;
        self.sum_ns += end_ns - start_ns;
    }
}
