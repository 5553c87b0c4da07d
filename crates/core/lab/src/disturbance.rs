//! What others took while a trial measured: steal time and the time of foreign programs, on the CPU that
//! measures, and bytes of the disk under the candidate (validity rule 10).
//!
//! Kernel threads are left out on purpose: workers, loop and journal threads are the candidate's own cost. What the
//! kernel does for a foreign program counts as that program's.
//!
//! A CPU's time is counted in whole ticks, each of what runs when the clock ticks; a program's is the time that it ran. A
//! load on a grid of milliseconds that every tick meets awake had 11 % of its own CPU counted as others'. So what a CPU's
//! ticks leave to others is foreign only as far as foreign programs, with their threads and children that ended, took user
//! time on any CPU. In a container, where /proc does not show them, it is by ticks alone.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    time::{Duration, Instant},
};

use crate::disk::{self, Disk, Moved, Movers, Under, moved_by_name};
use pickfs_record::record::{Disturbance, ON_OTHER_CPUS};
use pickfs_sys::{
    cgroup,
    cpu_time::{CpuTicks, CpuTimes, ticks_per_second},
    namespace,
    proc_root::ProcRoot,
    process::{self, Process},
};

pub struct DisturbanceMeter {
    began: Instant,
    window: Duration,
    measuring: Option<u32>,
    disk: Option<(Disk, Moved, Movers)>,
    is_disk_unread: bool,
    others: Others,
    first: Reading,
    last: Reading,
    seconds: Vec<(f64, f64)>,
}

#[derive(Debug, Clone)]
struct Reading {
    at: Instant,
    /// Of the CPU that measures, else of one CPU of the machine on average.
    cpu: CpuTicks,
    cpus: f64,
    own_user_ticks: u64,
    throttled: u64,
}

impl DisturbanceMeter {
    /// Begins to count on a CPU, or on all; `None` where the kernel does not tell. Readings stop after `window`.
    pub fn begin(
        window: Duration,
        measuring: Option<u32>,
        under: Under,
    ) -> Option<DisturbanceMeter> {
        let disk = match &under {
            Under::Shared(disk) => disk.read().map(|moved| (moved, disk.clone())),
            Under::Own | Under::Unread => None,
        };
        let is_disk_unread = disk.is_none() && !matches!(under, Under::Own);
        let disk = disk.map(|(moved, disk)| (disk, moved, disk::movers()));
        let others = Others::now();
        let first = Reading::now(measuring)?;
        let (last, began) = (first.clone(), Instant::now());
        Some(DisturbanceMeter {
            began,
            window,
            measuring,
            disk,
            is_disk_unread,
            others,
            first,
            last,
            seconds: Vec::new(),
        })
    }

    pub fn tick(&mut self) {
        let passed = self.seconds.len() as u64;
        let due = Duration::from_secs(passed + 1).min(self.window);
        let over = Duration::from_secs(passed) >= self.window;
        if !over && self.began.elapsed() >= due {
            self.read();
        }
    }

    pub fn finish(mut self) -> Disturbance {
        if self.seconds.is_empty() {
            self.read();
        }
        let (steal_share, by_tick) = shares(&self.first, &self.last);
        let others = Others::now();
        let taken = taken(&self.others.running, &others.running, self.measuring);
        let (foreign_bytes, disk_foreign_share, disk_takers) = self.on_the_disk();
        let elapsed_s = self.began.elapsed().as_secs_f64().max(0.01);
        let ticks = elapsed_s * ticks_per_second() as f64;
        let read_s = (self.last.at - self.first.at).as_secs_f64().max(0.01);
        let taken_ticks = user_ticks_since(self.others.programs.as_ref(), others.programs.as_ref());
        let most = taken_ticks.map(|taken| taken as f64 / (read_s * ticks_per_second() as f64));
        let foreign_user_share = bounded(by_tick, most);
        let true_share = if by_tick > 0.0 { foreign_user_share / by_tick } else { 0.0 };
        self.seconds.iter_mut().for_each(|(_, foreign)| *foreign *= true_share);
        let takers = largest(taken.by_name, ticks, TAKER_SHARE_MIN);
        let disk_takers = largest(disk_takers, elapsed_s, TAKER_BYTES_PER_S_MIN);
        Disturbance {
            steal_share,
            foreign_user_share,
            foreign_system_share: taken.system_ticks as f64 / ticks,
            takers,
            disk_foreign_bytes_per_s: foreign_bytes as f64 / elapsed_s,
            disk_foreign_share,
            disk_takers,
            disk_unread: self.is_disk_unread,
            throttled: self.last.throttled.saturating_sub(self.first.throttled),
            seconds: self.seconds,
        }
    }

    fn on_the_disk(&mut self) -> (u64, f64, BTreeMap<String, u64>) {
        let found = self.disk.take().and_then(|(disk, then, movers)| {
            let (bytes, share) = disk.read()?.foreign_since(&then);
            Some((bytes, share, moved_by_name(&movers, disk::movers(), ours())))
        });
        found.unwrap_or_default()
    }

    fn read(&mut self) {
        if let Some(now) = Reading::now(self.measuring) {
            self.seconds.push(shares(&self.last, &now));
            self.last = now;
        }
    }
}

/// Programs that took less than this of one CPU are not named.
const TAKER_SHARE_MIN: f64 = 0.01;
const TAKER_BYTES_PER_S_MIN: f64 = 100_000.0;
const TAKERS_MAX: usize = 5;

fn largest(spent: BTreeMap<String, u64>, per: f64, at_least: f64) -> Vec<(String, f64)> {
    let mut all: Vec<(String, f64)> =
        spent.into_iter().map(|(name, spent)| (name, spent as f64 / per)).collect();
    all.retain(|(_, share)| *share >= at_least);
    all.sort_by(|one, other| other.1.total_cmp(&one.1));
    all.sort_by_key(|(name, _)| name.ends_with(ON_OTHER_CPUS));
    all.truncate(TAKERS_MAX);
    all
}

impl Reading {
    fn now(measuring: Option<u32>) -> Option<Reading> {
        let (at, times) = (Instant::now(), CpuTimes::now().ok()?);
        let own = own_processes()?;
        let processor = times.processors.iter().find(|(number, _)| Some(*number) == measuring);
        let of_own = |process: &Process| match measuring {
            Some(cpu) => user_ticks_on(process, cpu),
            None => process.user_ticks_with_ended_children(),
        };
        Some(Reading {
            at,
            cpu: processor.map_or(times.machine, |(_, ticks)| *ticks),
            cpus: if processor.is_some() { 1.0 } else { times.processors.len().max(1) as f64 },
            own_user_ticks: own.iter().map(of_own).sum(),
            throttled: cgroup::throttled_periods(),
        })
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

/// User time of a process without that of its threads that may not run on this CPU.
fn user_ticks_on(process: &Process, cpu: u32) -> u64 {
    let threads = process::threads(process.process_id, &ProcRoot::own()).unwrap_or_default();
    let elsewhere = |thread: &&Process| {
        let id = rustix::process::Pid::from_raw(thread.process_id as i32);
        let allowed = rustix::thread::sched_getaffinity(id);
        allowed.is_ok_and(|allowed| !allowed.is_set(cpu as usize))
    };
    let (all, other) = (threads.len(), threads.iter().filter(elsewhere));
    if all > 0 && other.clone().count() == all {
        return 0;
    }
    let other: u64 = other.map(|thread| thread.user_ticks).sum();
    process.user_ticks_with_ended_children().saturating_sub(other)
}

type Strangers = BTreeMap<(u32, u64), Stranger>;

struct Stranger {
    process_id: u32,
    name: String,
    user_ticks: u64,
    system_ticks: u64,
    processor: Option<u32>,
}

/// User ticks of each program, with those of its threads and children that ended.
type Programs = BTreeMap<(u32, u64), u64>;

struct Others {
    /// Every thread of the machine but the kernel's own.
    running: Strangers,
    /// Absent where /proc does not show every program of the machine: in a container.
    programs: Option<Programs>,
}

impl Others {
    fn now() -> Others {
        let host = ProcRoot::host();
        let programs = process::all(&host).unwrap_or_default();
        let is_whole = programs.iter().any(|program| program.is_kernel_thread);
        let of = |program: &Process| {
            ((program.process_id, program.start_ticks), program.user_ticks_with_ended_children())
        };
        let ticks = is_whole.then(|| programs.iter().map(of).collect());
        let programs = programs.into_iter().filter(|program| !program.is_kernel_thread);
        let threads = programs.flat_map(|program| {
            let threads = process::threads(program.process_id, &host).unwrap_or_default();
            threads.into_iter().map(move |thread| {
                let key = (thread.process_id, thread.start_ticks);
                let Process { user_ticks, system_ticks, processor, .. } = thread;
                let (process_id, name) = (program.process_id, program.name.clone());
                (key, Stranger { process_id, name, user_ticks, system_ticks, processor })
            })
        });
        Others { running: threads.collect(), programs: ticks }
    }
}

/// What the ticks of a CPU leave to others, no more than their programs took, where that is known.
fn bounded(by_tick: f64, of_programs: Option<f64>) -> f64 {
    of_programs.map_or(by_tick, |most| by_tick.min(most))
}

/// Of programs that are not ours. One that ended in between counts whole, in who waited for it: never too few.
fn user_ticks_since(before: Option<&Programs>, after: Option<&Programs>) -> Option<u64> {
    let (before, after) = before.zip(after)?;
    let mut is_ours = ours();
    let grown = |(key, ticks): (&(u32, u64), &u64)| {
        let grown = ticks.saturating_sub(before.get(key).copied().unwrap_or(0));
        if grown == 0 || is_ours(key.0) { 0 } else { grown }
    };
    Some(after.iter().map(grown).sum())
}

#[derive(Default)]
struct Taken {
    system_ticks: u64,
    by_name: BTreeMap<String, u64>,
}

fn taken(before: &Strangers, after: &Strangers, measuring: Option<u32>) -> Taken {
    let mut taken = Taken::default();
    let mut is_ours = ours();
    for (key, stranger) in after {
        let was = before.get(key).map_or((0, 0), |was| (was.user_ticks, was.system_ticks));
        let user = stranger.user_ticks.saturating_sub(was.0);
        let system = stranger.system_ticks.saturating_sub(was.1);
        if user + system == 0 || is_ours(stranger.process_id) {
            continue;
        }
        let mut name = stranger.name.clone();
        match measuring.is_none() || stranger.processor == measuring {
            true => taken.system_ticks += system,
            false => name.push_str(ON_OTHER_CPUS),
        }
        *taken.by_name.entry(name).or_default() += user + system;
    }
    taken
}

/// Whether a process of the machine is one of ours: in our private process namespace, or below this process.
fn ours() -> impl FnMut(u32) -> bool {
    let host = ProcRoot::host();
    let space = |folder: &Path| fs::read_link(folder.join("ns/pid")).ok();
    let own_space = space(Path::new("/proc/self")).filter(|_| namespace::is_private());
    let tree = process::tree_of(std::process::id(), &ProcRoot::own()).unwrap_or_default();
    move |id| match &own_space {
        Some(own) => space(&host.process(id)).as_ref() == Some(own),
        None => tree.iter().any(|process| process.process_id == id),
    }
}

/// (steal, foreign user) between two readings, in CPUs: 0.5 is half of one CPU's time,
/// whatever the number of CPUs, as one CPU is what measures.
fn shares(before: &Reading, after: &Reading) -> (f64, f64) {
    let spent = after.cpu.since(&before.cpu);
    let total = (spent.total_ticks() as f64 / after.cpus).max(1.0);
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
        let mut meter = DisturbanceMeter::begin(Duration::from_millis(400), None, Under::Own)
            .expect("a Linux kernel");
        spin(Duration::from_millis(450));
        meter.tick();
        let own = meter.last.own_user_ticks - meter.first.own_user_ticks;
        let disturbance = meter.finish();
        let ticks = pickfs_sys::cpu_time::ticks_per_second() * 45 / 100;
        assert!(own + 5 >= ticks, "450 ms of spinning are {ticks} ticks, not {own}");
        assert_eq!(disturbance.seconds.len(), 1);
        assert!(disturbance.foreign_user_share >= 0.0 && disturbance.steal_share >= 0.0);
    }

    #[test]
    fn shares_count_only_what_is_not_ours() {
        let at = Instant::now();
        let reading = |user_ticks, steal_ticks, idle_ticks, own_user_ticks| Reading {
            at,
            cpu: CpuTicks { user_ticks, steal_ticks, idle_ticks, ..CpuTicks::default() },
            cpus: 1.0,
            own_user_ticks,
            throttled: 0,
        };
        let (steal, foreign) = shares(&reading(0, 0, 0, 0), &reading(50, 20, 130, 40));
        assert_eq!((steal, foreign), (0.1, 0.05));
    }

    /// Another CPU than the one that measures may be as busy as it likes, and who is busy there is blamed for nothing.
    #[test]
    fn only_the_measuring_cpu_counts_and_who_took_of_it_is_named_first() {
        let of = |processor, user_ticks, system_ticks| Stranger {
            process_id: u32::MAX,
            name: format!("on{processor}"),
            user_ticks,
            system_ticks,
            processor: Some(processor),
        };
        let before = Strangers::from([((1, 7), of(0, 5, 5)), ((2, 7), of(1, 10, 10))]);
        let after = Strangers::from([((1, 7), of(0, 95, 65)), ((2, 7), of(1, 10, 13))]);
        let found = taken(&before, &after, Some(1));
        assert_eq!(found.system_ticks, 3);
        let named = |found: Taken| largest(found.by_name, 1.0, 1.0);
        let other = format!("on0{ON_OTHER_CPUS}");
        assert_eq!(named(found), [("on1".into(), 3.0), (other, 150.0)]);
        let found = taken(&before, &after, None);
        assert_eq!(found.system_ticks, 63);
        assert_eq!(named(found), [("on0".into(), 150.0), ("on1".into(), 3.0)]);
    }

    #[test]
    fn programs_count_what_they_grew_by_and_in_a_container_nothing_is_known_of_them() {
        let of = |ticks| Programs::from([((u32::MAX, 7), ticks)]);
        assert_eq!(user_ticks_since(Some(&of(40)), Some(&of(65))), Some(25));
        assert_eq!(
            user_ticks_since(Some(&Programs::new()), Some(&of(65))),
            Some(65),
            "begun since"
        );
        assert_eq!(user_ticks_since(Some(&of(40)), None), None);
    }

    /// A program that is nothing but threads that end has none to be found at either end.
    #[test]
    fn threads_that_ended_in_a_living_program_count() {
        let id = std::process::id();
        let own = |others: Others| {
            let programs = others.programs?;
            programs.iter().find(|(key, _)| key.0 == id).map(|(_, ticks)| *ticks)
        };
        let Some(before) = own(Others::now()) else { return };
        std::thread::spawn(|| spin(Duration::from_millis(100))).join().expect("joined");
        let after = own(Others::now()).expect("still here");
        let ticks = pickfs_sys::cpu_time::ticks_per_second() / 10;
        assert!(after - before + 2 >= ticks, "100 ms are {ticks} ticks, not {}", after - before);
    }

    #[test]
    fn ticks_beyond_what_foreign_programs_took_are_nobodys() {
        assert_eq!(bounded(0.11, Some(0.0)), 0.0);
        assert_eq!(bounded(0.5, Some(0.9)), 0.5, "the rest was on another CPU");
        assert_eq!(bounded(0.11, None), 0.11, "a container shows no others");
    }

    #[test]
    fn a_thread_that_is_kept_off_a_cpu_took_nothing_of_it() {
        let allowed = pickfs_sys::affinity::allowed_processors().expect("readable");
        let own = Process::read(std::process::id(), &ProcRoot::own()).expect("we run");
        assert_eq!(user_ticks_on(&own, 1_000), 0);
        assert!(user_ticks_on(&own, allowed[0]) <= own.user_ticks_with_ended_children());
    }
}
