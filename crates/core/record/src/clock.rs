//! The clock of all operations, on the CLOCK_MONOTONIC line (the one that kernel probes
//! read), and its simulated twin.

use std::{cell::Cell, rc::Rc, time::Duration};

use rustix::time::{ClockId, Timespec, clock_gettime};

pub trait Clock {
    /// Nanoseconds on this clock's line; never goes back.
    fn now_ns(&self) -> u64;

    /// Returns at `due_ns` or later. May sleep while more than `spin_below_ns` is left.
    fn wait_until(&self, due_ns: u64, spin_below_ns: u64);
}

/// CLOCK_MONOTONIC, read through the vDSO (`clock_gettime(2)`): about 25 ns.
#[derive(Debug, Clone, Copy, Default)]
pub struct MonotonicClock;

/// A sleeper is woken this long before its arrival; timer slack is 50 us for ordinary
/// threads (`prctl(2)`, PR_SET_TIMERSLACK), and a halted virtual CPU wakes slowly.
const WAKE_EARLY_NS: u64 = 150_000;

impl Clock for MonotonicClock {
    #[inline(always)]
    fn now_ns(&self) -> u64 {
        let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::Monotonic);
        tv_sec as u64 * 1_000_000_000 + tv_nsec as u64
    }

    #[inline]
    fn wait_until(&self, due_ns: u64, spin_below_ns: u64) {
        let left_ns = due_ns.saturating_sub(self.now_ns());
        if left_ns > spin_below_ns.max(WAKE_EARLY_NS) {
            std::thread::sleep(Duration::from_nanos(left_ns - WAKE_EARLY_NS));
        }
        while self.now_ns() < due_ns {
            std::hint::spin_loop();
        }
    }
}

/// A clock that moves only when told; clones share the same time.
#[derive(Debug, Clone, Default)]
pub struct SimClock {
    now_ns: Rc<Cell<u64>>,
}

impl SimClock {
    pub fn advance(&self, by_ns: u64) {
        self.now_ns.set(self.now_ns.get() + by_ns);
    }
}

impl Clock for SimClock {
    fn now_ns(&self) -> u64 {
        self.now_ns.get()
    }

    fn wait_until(&self, due_ns: u64, _spin_below_ns: u64) {
        self.now_ns.set(self.now_ns.get().max(due_ns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_monotonic_clock_waits_at_least_until_the_arrival_is_due() {
        let clock = MonotonicClock;
        for gap_ns in [10_000, 400_000] {
            let due_ns = clock.now_ns() + gap_ns;
            clock.wait_until(due_ns, 100_000);
            assert!(clock.now_ns() >= due_ns);
        }
    }

    #[test]
    fn the_simulated_clock_moves_only_when_told() {
        let clock = SimClock::default();
        let twin = clock.clone();
        clock.advance(7);
        clock.wait_until(5, 0);
        assert_eq!(twin.now_ns(), 7);
        twin.wait_until(12, 0);
        assert_eq!(clock.now_ns(), 12);
    }
}
