//! The processor's time-stamp counter, for places where the kernel's own clock is a slow call:
//! in user-mode Linux it takes some twenty microseconds.
//!
//! Only on x86-64, and only where the kernel lists the flags that make it a clock: `constant_tsc` (one rate
//! whatever the frequency) and `nonstop_tsc` (it runs on in deep sleep).
//!
//! Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 3, "Invariant TSC".
#![allow(unsafe_code)]

use std::time::{Duration, Instant};

/// The counter now; 0 on other processors.
#[inline]
pub fn read() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: RDTSC reads a register and has no other effect; every x86-64 processor has it, and a kernel
    // that forbids it to programs (prctl(2), PR_SET_TSC) ends this one with a signal.
    unsafe {
        core::arch::x86_64::_rdtsc()
    }
    #[cfg(not(target_arch = "x86_64"))]
    0
}

/// Whether the counter is a clock here, by the flags in /proc/cpuinfo.
pub fn is_a_clock() -> bool {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = text.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    let has = |flag: &str| flags.split_whitespace().any(|one| one == flag);
    has("constant_tsc") && has("nonstop_tsc")
}

/// Counts per second, against CLOCK_MONOTONIC over `length`. An end is read several times and the reading
/// with the least around it counts, so that its error is a part of the quickest clock call.
pub fn rate_hz(length: Duration) -> f64 {
    let (from, since) = together();
    std::thread::sleep(length);
    let (to, until) = together();
    to.wrapping_sub(from) as f64 / (until - since).as_secs_f64()
}

/// The counter and the clock at one moment.
fn together() -> (u64, Instant) {
    let reading = |_| {
        let before = read();
        let now = Instant::now();
        let around = read().wrapping_sub(before);
        (around, before.wrapping_add(around / 2), now)
    };
    let best = (0..16).map(reading).min_by_key(|(around, ..)| *around);
    let (_, count, now) = best.expect("there are sixteen readings");
    (count, now)
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn two_readings_of_the_rate_agree() {
        if !is_a_clock() {
            println!("SKIPPED(unit): no constant and nonstop TSC here");
            return;
        }
        let rate = || rate_hz(Duration::from_millis(50));
        let agree = |_| {
            let (one, two) = (rate(), rate());
            (one / two - 1.0).abs() < 0.01 && one > 1e8
        };
        assert!((0..5).any(agree), "five pairs of readings, and none within a hundredth");
    }
}
