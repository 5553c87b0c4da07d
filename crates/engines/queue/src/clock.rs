use rustix::time::{ClockId, clock_gettime};

/// CLOCK_REALTIME in nanoseconds since 1970; by the vDSO, so without a system call where it can.
#[inline]
pub(crate) fn realtime_ns() -> u64 {
    let now = clock_gettime(ClockId::Realtime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// CLOCK_MONOTONIC in nanoseconds: for lengths of time, which a step of the clock must not change.
#[inline]
pub(crate) fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The tick of the kernel's clock, some milliseconds long: a few nanoseconds to ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Tick(u64);

impl Tick {
    #[inline]
    pub(crate) fn now() -> Self {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::MonotonicCoarse);
        Self(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
    }
}
