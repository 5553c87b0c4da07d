use pickfs_sys::cpu_time::ticks_per_second;

use super::span::MachineMoment;

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
    use pickfs_sys::cpu_time::CpuTimes;

    use super::*;

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
