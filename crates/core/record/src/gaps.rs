//! A treatment where other things are measured (validity rule 11), so it is for a quiet
//! moment: `pickfs doctor`.

use crate::Clock;

/// A gap is a step of the clock longer than this: far above one reading.
pub const GAP_NS: u64 = 10_000;

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Gaps {
    pub watched_ns: u64,
    pub readings: u64,
    pub count: u64,
    pub ns_max: u64,
    pub ns_sum: u64,
    /// Smallest step between two readings that differ in nanoseconds.
    pub step_ns_min: u64,
}

pub fn watch_gaps(clock: &impl Clock, watch_ns: u64) -> Gaps {
    let began_ns = clock.now_ns();
    let mut gaps = Gaps { step_ns_min: u64::MAX, ..Gaps::default() };
    let mut last_ns = began_ns;
    while last_ns - began_ns < watch_ns {
        let now_ns = clock.now_ns();
        gaps.step(now_ns - last_ns);
        last_ns = now_ns;
    }
    gaps.watched_ns = last_ns - began_ns;
    gaps
}

impl Gaps {
    #[inline]
    fn step(&mut self, step_ns: u64) {
        self.readings += 1;
        if step_ns > 0 {
            self.step_ns_min = self.step_ns_min.min(step_ns);
        }
        if step_ns > GAP_NS {
            self.count += 1;
            self.ns_sum += step_ns;
            self.ns_max = self.ns_max.max(step_ns);
        }
    }

    /// Mean cost of one reading in nanoseconds, gaps left out.
    pub fn read_ns(&self) -> f64 {
        (self.watched_ns - self.ns_sum) as f64 / (self.readings - self.count).max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Every reading takes 25 ns; every thousandth is 40 us late.
    #[derive(Default)]
    struct Scripted {
        now_ns: Cell<u64>,
        readings: Cell<u64>,
    }

    impl Clock for Scripted {
        fn now_ns(&self) -> u64 {
            self.readings.set(self.readings.get() + 1);
            let late_ns = if self.readings.get() % 1_000 == 0 { 40_000 } else { 25 };
            self.now_ns.set(self.now_ns.get() + late_ns);
            self.now_ns.get()
        }
        fn wait_until(&self, _: u64, _: u64) {}
    }

    #[test]
    fn gaps_are_told_from_readings() {
        let gaps = watch_gaps(&Scripted::default(), 1_000_000);
        assert_eq!((gaps.count, gaps.ns_max, gaps.step_ns_min), (16, 40_000, 25));
        assert_eq!(gaps.read_ns(), 25.0);
    }
}
