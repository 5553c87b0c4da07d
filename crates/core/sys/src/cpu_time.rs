//! How the processors spent their time, in ticks of [`ticks_per_second`]: proc_stat(5). Guest time
//! is part of user time and is not counted twice here.

use crate::tunables::{self, TunableError};
use std::path::Path;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTicks {
    pub user_ticks: u64,
    pub nice_ticks: u64,
    pub system_ticks: u64,
    pub idle_ticks: u64,
    /// Nothing to do while a disk was being waited for.
    pub iowait_ticks: u64,
    pub irq_ticks: u64,
    pub softirq_ticks: u64,
    /// Wanted, and taken by the host for others.
    pub steal_ticks: u64,
    /// Guests; contained in `user_ticks`.
    pub guest_ticks: u64,
}

impl CpuTicks {
    pub fn total_ticks(&self) -> u64 {
        self.user_ticks
            + self.nice_ticks
            + self.system_ticks
            + self.idle_ticks
            + self.iowait_ticks
            + self.irq_ticks
            + self.softirq_ticks
            + self.steal_ticks
    }

    /// What was spent between an earlier reading and this one. The kernel's idle and iowait may
    /// step back a little; that counts as nothing.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            user_ticks: self.user_ticks.saturating_sub(before.user_ticks),
            nice_ticks: self.nice_ticks.saturating_sub(before.nice_ticks),
            system_ticks: self.system_ticks.saturating_sub(before.system_ticks),
            idle_ticks: self.idle_ticks.saturating_sub(before.idle_ticks),
            iowait_ticks: self.iowait_ticks.saturating_sub(before.iowait_ticks),
            irq_ticks: self.irq_ticks.saturating_sub(before.irq_ticks),
            softirq_ticks: self.softirq_ticks.saturating_sub(before.softirq_ticks),
            steal_ticks: self.steal_ticks.saturating_sub(before.steal_ticks),
            guest_ticks: self.guest_ticks.saturating_sub(before.guest_ticks),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    pub machine: CpuTicks,
    /// Those online, by number.
    pub processors: Vec<(u32, CpuTicks)>,
    pub context_switch_count: u64,
    pub running_count: u64,
    /// Processes that waited for a disk at this moment.
    pub blocked_count: u64,
}

impl CpuTimes {
    pub fn now() -> Result<Self, TunableError> {
        let path = Path::new("/proc/stat");
        let text = tunables::text(path)?;
        parse(&text).ok_or_else(|| TunableError::Unexpected {
            path: path.to_owned(),
            text: text.lines().next().unwrap_or_default().to_owned(),
            expected: "a line `cpu` with numbers",
        })
    }

    /// For the processors that are in both.
    pub fn since(&self, before: &Self) -> Self {
        let earlier = |number: u32| before.processors.iter().find(|(n, _)| *n == number);
        let spent = |&(number, ticks): &(u32, CpuTicks)| {
            earlier(number).map(|(_, start)| (number, ticks.since(start)))
        };
        Self {
            machine: self.machine.since(&before.machine),
            processors: self.processors.iter().filter_map(spent).collect(),
            context_switch_count: self
                .context_switch_count
                .saturating_sub(before.context_switch_count),
            running_count: self.running_count,
            blocked_count: self.blocked_count,
        }
    }
}

/// 100 almost everywhere.
pub fn ticks_per_second() -> u64 {
    rustix::param::clock_ticks_per_second()
}

fn parse(text: &str) -> Option<CpuTimes> {
    let mut times = CpuTimes::default();
    let mut has_machine = false;
    for line in text.lines() {
        let Some((name, rest)) = line.split_once(' ') else { continue };
        let count = || rest.trim().parse().unwrap_or(0);
        match name {
            "cpu" => {
                times.machine = parse_ticks(rest)?;
                has_machine = true;
            }
            "ctxt" => times.context_switch_count = count(),
            "procs_running" => times.running_count = count(),
            "procs_blocked" => times.blocked_count = count(),
            _ => {
                let number = name.strip_prefix("cpu").and_then(|number| number.parse().ok());
                if let Some(number) = number {
                    times.processors.push((number, parse_ticks(rest)?));
                }
            }
        }
    }
    has_machine.then_some(times)
}

fn parse_ticks(fields: &str) -> Option<CpuTicks> {
    let ticks: Vec<u64> =
        fields.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    let &[user_ticks, nice_ticks, system_ticks, idle_ticks, ref rest @ ..] = &ticks[..] else {
        return None;
    };
    let later = |index: usize| rest.get(index).copied().unwrap_or(0);
    Some(CpuTicks {
        user_ticks,
        nice_ticks,
        system_ticks,
        idle_ticks,
        iowait_ticks: later(0),
        irq_ticks: later(1),
        softirq_ticks: later(2),
        steal_ticks: later(3),
        guest_ticks: later(4),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const REAL: &str = "cpu  14784 9300 9343 293867 1871 0 130 66 7 0\n\
        cpu0 5877 3769 3642 151200 216 0 14 24 0 0\n\
        cpu1 8906 5530 5701 142666 1654 0 116 41 0 0\n\
        intr 1 2 3\nctxt 4711\nbtime 1\nprocs_running 3\nprocs_blocked 1\n";

    #[test]
    fn each_processor_and_the_machine_are_read() {
        let times = parse(REAL).unwrap();
        assert_eq!((times.machine.user_ticks, times.machine.steal_ticks), (14784, 66));
        assert_eq!(times.machine.guest_ticks, 7);
        assert_eq!(times.processors[1].1.iowait_ticks, 1654);
        assert_eq!((times.context_switch_count, times.blocked_count), (4711, 1));
    }

    #[test]
    fn a_counter_that_steps_back_counts_as_nothing() {
        let before = CpuTicks { idle_ticks: 10, user_ticks: 5, ..CpuTicks::default() };
        let after = CpuTicks { idle_ticks: 9, user_ticks: 8, ..CpuTicks::default() };
        assert_eq!(after.since(&before).total_ticks(), 3);
    }

    #[test]
    fn a_processor_that_came_online_between_is_left_out() {
        let before = parse("cpu  1 1 1 1\ncpu0 1 1 1 1\n").unwrap();
        let after = parse("cpu  9 1 1 1\ncpu0 3 1 1 1\ncpu1 6 0 0 0\n").unwrap();
        let spent = after.since(&before);
        assert_eq!(spent.processors.len(), 1);
        assert_eq!((spent.machine.user_ticks, spent.processors[0].1.user_ticks), (8, 2));
    }

    #[test]
    fn the_running_kernel_is_understood() {
        let times = CpuTimes::now().unwrap();
        assert!(!times.processors.is_empty() && times.machine.total_ticks() > 0);
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "(cpu[0-9]{0,12}|ctxt)?[ 0-9a-z\n]*") {
            let _ = parse(&text);
        }
    }
}
