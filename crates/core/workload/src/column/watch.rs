use pickfs_record::{Clock, MonotonicClock};

use crate::phase::{PhaseBench, ThreadBench};

pub trait Watch {
    fn now_ns(&self) -> u64;

    fn lap(&mut self, start_ns: u64, end_ns: u64, offset_bytes: u64);
}

impl Watch for PhaseBench {
    #[inline]
    fn now_ns(&self) -> u64 {
        ThreadBench::now_ns(self)
    }

    #[inline]
    fn lap(&mut self, start_ns: u64, end_ns: u64, offset_bytes: u64) {
        ThreadBench::lap(self, 0, start_ns, end_ns, offset_bytes);
    }
}

#[derive(Debug, Default)]
pub struct Tally {
    pub count: u64,
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
