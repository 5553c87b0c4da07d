//! What the whole machine's processors did while a phase ran: a file system also works in threads of
//! the kernel (write-back, compression, journals), which no process is charged with.

use pickfs_sys::cpu_time::{CpuTimes, ticks_per_second};

/// The kernel counts in ticks of 10 ms: a phase shorter than this many nanoseconds says nothing.
const SHORTEST_NS: u64 = 500_000_000;

/// Processors of the machine that were busy between two readings, 1.0 being all of one; absent for
/// what is too short to be counted. Others' work is in it too.
pub(super) fn busy_processors(
    before: Option<&CpuTimes>,
    after: Option<&CpuTimes>,
    elapsed_ns: u64,
) -> Option<f64> {
    if elapsed_ns < SHORTEST_NS {
        return None;
    }
    let spent = after?.since(before?).machine;
    let busy_ticks = spent.user_ticks
        + spent.nice_ticks
        + spent.system_ticks
        + spent.irq_ticks
        + spent.softirq_ticks;
    Some(busy_ticks as f64 / ticks_per_second() as f64 / (elapsed_ns as f64 / 1e9))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_become_processors_and_short_phases_say_nothing() {
        let before = CpuTimes::default();
        let mut after = CpuTimes::default();
        after.machine.user_ticks = ticks_per_second();
        after.machine.softirq_ticks = ticks_per_second() / 2;
        after.machine.idle_ticks = 10 * ticks_per_second();
        let busy = |elapsed_ns| busy_processors(Some(&before), Some(&after), elapsed_ns);
        assert_eq!(busy(1_000_000_000), Some(1.5));
        assert_eq!(busy(10_000_000), None);
        assert_eq!(busy_processors(None, Some(&after), 1_000_000_000), None);
    }
}
