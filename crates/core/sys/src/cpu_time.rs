//! How the processors spent their time, in ticks of [`ticks_per_second`]: proc_stat(5). Guest time
//! is part of user time and is not counted twice here.

use crate::refused::Refused;
use crate::tunables;
use std::path::Path;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTicks {
    pub user_ticks: u64,
    pub nice_ticks: u64,
    pub system_ticks: u64,
    /// Also while a disk was being waited for.
    pub idle_ticks: u64,
    /// Of hardware and software interrupts.
    pub irq_ticks: u64,
    /// Wanted, and taken by the host for others.
    pub steal_ticks: u64,
}

impl CpuTicks {
    fn each(&self) -> [u64; 6] {
        let CpuTicks { user_ticks, nice_ticks, system_ticks, .. } = *self;
        [user_ticks, nice_ticks, system_ticks, self.idle_ticks, self.irq_ticks, self.steal_ticks]
    }

    fn of(
        [user_ticks, nice_ticks, system_ticks, idle_ticks, irq_ticks, steal_ticks]: [u64; 6],
    ) -> Self {
        Self { user_ticks, nice_ticks, system_ticks, idle_ticks, irq_ticks, steal_ticks }
    }

    pub fn total_ticks(&self) -> u64 {
        self.each().iter().sum()
    }

    /// What was spent between an earlier reading and this one. The kernel's idle and iowait may
    /// step back a little; that counts as nothing.
    pub fn since(&self, before: &Self) -> Self {
        let (now, then) = (self.each(), before.each());
        Self::of(std::array::from_fn(|at| now[at].saturating_sub(then[at])))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    pub machine: CpuTicks,
    /// Those online, by number.
    pub processors: Vec<(u32, CpuTicks)>,
}

impl CpuTimes {
    pub fn now() -> Result<Self, Refused> {
        let text = tunables::text(Path::new("/proc/stat"))?;
        parse(&text).ok_or_else(|| {
            let first = text.lines().next().unwrap_or_default();
            let text =
                format!("/proc/stat holds `{first}`, which is not a line `cpu` with numbers");
            Refused::new(text, None)
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
        }
    }
}

/// 100 almost everywhere.
pub fn ticks_per_second() -> u64 {
    rustix::param::clock_ticks_per_second()
}

fn parse(text: &str) -> Option<CpuTimes> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("cpu")?.split_once(' '));
    let mut machine = None;
    let mut processors = Vec::new();
    for (number, rest) in lines {
        let ticks = parse_ticks(rest)?;
        match number.parse() {
            Ok(number) => processors.push((number, ticks)),
            Err(_) if number.is_empty() => machine = Some(ticks),
            Err(_) => {}
        }
    }
    Some(CpuTimes { machine: machine?, processors })
}

/// User, nice, system, idle; then what younger kernels tell: waiting for a disk, interrupts of hardware and of
/// software, stolen.
fn parse_ticks(fields: &str) -> Option<CpuTicks> {
    let ticks: Vec<u64> =
        fields.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    let later = |index: usize| ticks.get(index).copied().unwrap_or(0);
    let [user, nice, system, idle, ..] = ticks[..] else { return None };
    let (idle, irq) = (idle.saturating_add(later(4)), later(5).saturating_add(later(6)));
    Some(CpuTicks::of([user, nice, system, idle, irq, later(7)]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const REAL: &str = "cpu  14784 9300 9343 293867 1871 0 130 66 7 0\n\
        cpu0 5877 3769 3642 151200 216 0 14 24 0 0\n\
        cpu1 8906 5530 5701 142666 1654 0 116 41 0 0\n\
        intr 1 2 3\nctxt 4711\nbtime 1\n";

    #[test]
    fn each_processor_and_the_machine_are_read() {
        let times = parse(REAL).unwrap();
        assert_eq!((times.machine.user_ticks, times.machine.steal_ticks), (14784, 66));
        assert_eq!(
            (times.machine.irq_ticks, times.processors[1].1.idle_ticks),
            (130, 142666 + 1654)
        );
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
