//! CPU time and preemptions of this process, as the kernel counts them. Read before and after a
//! measurement, never within.
//!
//! Source: proc_pid_stat(5) fields 14 and 15 (all threads, in clock ticks), proc_pid_status(5).

use std::fs;

/// What this process has used so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// User CPU of all threads in nanoseconds, to a clock tick (10 ms).
    pub user_ns: u64,
    /// System CPU of all threads in nanoseconds, to a clock tick (10 ms).
    pub system_ns: u64,
    /// Involuntary context switches of the calling thread.
    pub preemptions: u64,
}

impl Usage {
    /// Reads the figures; zero where /proc is not there.
    pub fn now() -> Usage {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let ticks_per_s = rustix::param::clock_ticks_per_second().max(1);
        let (user, system) = parse_ticks(&read("/proc/self/stat")).unwrap_or_default();
        let ns = |ticks: u64| ticks * (1_000_000_000 / ticks_per_s);
        let preemptions = parse_preemptions(&read("/proc/thread-self/status")).unwrap_or_default();
        Usage { user_ns: ns(user), system_ns: ns(system), preemptions }
    }

    /// What was used since `earlier`.
    pub fn since(&self, earlier: &Usage) -> Usage {
        Usage {
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
            preemptions: self.preemptions.saturating_sub(earlier.preemptions),
        }
    }
}

/// User and system ticks. The name in field 2 may hold spaces and parentheses: fields are counted
/// from the last one that closes it.
fn parse_ticks(stat: &str) -> Option<(u64, u64)> {
    let mut fields = stat[stat.rfind(')')? + 1..].split_ascii_whitespace().skip(11);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

fn parse_preemptions(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_found_behind_any_name() {
        let stat = "7 (a) b (c) R 1 7 7 0 -1 4194560 99 0 0 0 250 31 0 0 20 0 1 0 5 0";
        assert_eq!(parse_ticks(stat), Some((250, 31)));
        assert_eq!(parse_ticks("7 (a"), None);
    }

    #[test]
    fn the_figures_rise_with_use() {
        let before = Usage::now();
        let mut sum = 0u64;
        while Usage::now().since(&before).user_ns == 0 && sum < 4_000_000_000 {
            sum += (0..1_000_000u64).map(std::hint::black_box).sum::<u64>() % 7 + 1_000_000;
        }
        assert!(Usage::now().since(&before).user_ns > 0);
    }
}
