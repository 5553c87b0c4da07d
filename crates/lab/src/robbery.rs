//! CPU that others took while a trial measured: steal time and foreign user time,
//! second by second (validity rule 10).
//!
//! System time is left out on purpose: kernel workers, loop and journal threads are the
//! candidate's own cost.

use std::time::{Duration, Instant};

use pickfs_model::record::Robbery;
use pickfs_sys::{
    cpu_time::CpuTimes,
    namespace,
    proc_root::ProcRoot,
    process::{self, Process},
};

/// Follows a trial from its first lap to its last.
pub struct RobberyMeter {
    began: Instant,
    window: Duration,
    first: Reading,
    last: Reading,
    seconds: Vec<(f64, f64)>,
}

#[derive(Debug, Clone)]
struct Reading {
    machine: CpuTimes,
    own_user_ticks: u64,
}

impl RobberyMeter {
    /// Begins to count; `None` where the kernel does not tell. Readings stop after `window`.
    pub fn begin(window: Duration) -> Option<RobberyMeter> {
        let first = Reading::now()?;
        let last = first.clone();
        Some(RobberyMeter { began: Instant::now(), window, first, last, seconds: Vec::new() })
    }

    /// Call it several times a second; it reads once a second while the trial measures.
    pub fn tick(&mut self) {
        let passed = self.seconds.len() as u64;
        let due = Duration::from_secs(passed + 1).min(self.window);
        let over = Duration::from_secs(passed) >= self.window;
        if !over && self.began.elapsed() >= due {
            self.read();
        }
    }

    /// What was taken in all.
    pub fn finish(mut self) -> Robbery {
        if self.seconds.is_empty() {
            self.read();
        }
        let (steal_share, foreign_user_share) = shares(&self.first, &self.last);
        Robbery { steal_share, foreign_user_share, seconds: self.seconds }
    }

    fn read(&mut self) {
        if let Some(now) = Reading::now() {
            self.seconds.push(shares(&self.last, &now));
            self.last = now;
        }
    }
}

impl Reading {
    fn now() -> Option<Reading> {
        let own_user_ticks =
            own_processes()?.iter().map(Process::user_ticks_with_ended_children).sum();
        Some(Reading { machine: CpuTimes::now().ok()?, own_user_ticks })
    }
}

/// Everything in our private process namespace is ours (FUSE daemons too); outside of
/// one, it is what descends from this process.
fn own_processes() -> Option<Vec<Process>> {
    let proc_root = ProcRoot::own();
    if namespace::is_private() {
        return process::all(&proc_root).ok();
    }
    process::tree_of(std::process::id(), &proc_root).ok()
}

/// (steal, foreign user) between two readings, in CPUs: 0.5 is half of one CPU's time,
/// whatever the number of CPUs, as one CPU is what measures.
fn shares(before: &Reading, after: &Reading) -> (f64, f64) {
    let spent = after.machine.machine.since(&before.machine.machine);
    let cpus = after.machine.processors.len().max(1) as f64;
    let total = (spent.total_ticks() as f64 / cpus).max(1.0);
    let user = spent.user_ticks + spent.nice_ticks;
    let own = after.own_user_ticks.saturating_sub(before.own_user_ticks);
    (spent.steal_ticks as f64 / total, user.saturating_sub(own) as f64 / total)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spins for this much CPU time of this thread, however long that takes.
    fn spin(cpu: Duration) {
        let used = || {
            let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
            Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
        };
        let end = used() + cpu;
        while used() < end {
            // Reading that clock is a system call; the spinning must be user time.
            (0..1_000_000).for_each(|_| std::hint::spin_loop());
        }
    }

    #[test]
    fn our_own_work_is_not_foreign() {
        let mut meter = RobberyMeter::begin(Duration::from_millis(400)).expect("a Linux kernel");
        spin(Duration::from_millis(450));
        meter.tick();
        let own = meter.last.own_user_ticks - meter.first.own_user_ticks;
        let robbery = meter.finish();
        let ticks = pickfs_sys::cpu_time::ticks_per_second() * 45 / 100;
        assert!(own + 5 >= ticks, "450 ms of spinning are {ticks} ticks, not {own}");
        assert_eq!(robbery.seconds.len(), 1);
        assert!(robbery.foreign_user_share >= 0.0 && robbery.steal_share >= 0.0);
    }

    #[test]
    fn shares_count_only_what_is_not_ours() {
        let reading = |user_ticks, steal_ticks, idle_ticks, own_user_ticks| {
            let mut machine = CpuTimes::now().expect("a Linux kernel");
            machine.processors.truncate(1);
            machine.machine = pickfs_sys::cpu_time::CpuTicks {
                user_ticks,
                steal_ticks,
                idle_ticks,
                ..Default::default()
            };
            Reading { machine, own_user_ticks }
        };
        let (steal, foreign) = shares(&reading(0, 0, 0, 0), &reading(50, 20, 130, 40));
        assert_eq!((steal, foreign), (0.1, 0.05));
    }
}
