//! What can be seen without privilege: when a thread left and took a processor, by records of the
//! kernel, the function that it sleeps in, by looking (`wchan`) some hundred times a second, and how
//! long it waited for a processor once it was awake, by the scheduler's sums. Who woke it and who had
//! the processor is not told.
//!
//! Where the kernel refuses records too, moments are those of looks: only longer sleeps are seen.
//!
//! Source: perf_event_open(2), PERF_RECORD_SWITCH (Linux 4.3; preempted: 4.17); proc_pid_wchan(5).

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    kernel::{
        perf_event::{EventSource, EventSpec, PerfEvent, PerfEventError},
        perf_record::{Body, Record},
        sched_stat::SchedStat,
    },
    loss::{Ring, Told, ripe},
    run_delay::RunDelay,
    sched::{Left, Names, SchedEvent, Task, What},
};

/// Pages of a thread's ring: some 800 switches between two looks.
const RING_PAGES: usize = 8;

struct Station {
    own_id: u32,
    wchan: PathBuf,
    moments: Moments,
}

enum Moments {
    Records(Box<Records>),
    /// By looking: since when it has been seen asleep, as the number of its slices.
    Looks {
        asleep: Option<u64>,
    },
}

struct Records {
    ring: Ring,
    _event: PerfEvent,
    delay: RunDelay,
}

#[derive(Default)]
pub struct Switches {
    stations: HashMap<u32, Station>,
    held: Vec<SchedEvent>,
    /// Why moments are those of looks, where they are.
    pub refused: Option<String>,
}

impl Switches {
    /// By the machine's number, and by the one that we know. Fails when neither records nor looks
    /// are allowed. A thread that has ended is left out.
    pub fn follow(&mut self, threads: &[(u32, u32)]) -> Result<(), PerfEventError> {
        for (id, own_id) in threads {
            if self.stations.contains_key(id) {
                continue;
            }
            let moments = match records_of(*own_id) {
                Ok(records) => Moments::Records(Box::new(records)),
                Err(error) if may_look_at(*own_id).is_ok() => {
                    self.refused.get_or_insert_with(|| error.to_string());
                    Moments::Looks { asleep: None }
                }
                // It has ended meanwhile.
                Err(_) if !Path::new(&format!("/proc/{own_id}")).exists() => continue,
                Err(error) => return Err(error),
            };
            let wchan = PathBuf::from(format!("/proc/{own_id}/wchan"));
            self.stations.insert(*id, Station { own_id: *own_id, wchan, moments });
        }
        Ok(())
    }

    pub fn run_delay_ns(&self) -> u64 {
        let records = self.stations.values().map(|station| match &station.moments {
            Moments::Records(records) => records.delay.total_ns,
            Moments::Looks { .. } => 0,
        });
        records.sum()
    }

    /// Up to `until_ns`, in the order of their times; `now_ns` is when threads are looked at.
    pub fn drain(
        &mut self,
        now_ns: u64,
        until_ns: u64,
        names: &mut Names,
        events: &mut Vec<SchedEvent>,
    ) {
        let Switches { stations, held, .. } = self;
        for (thread, station) in stations {
            let told = held.len();
            if let Some(function) = asleep_in(&station.wchan) {
                let function = names.functions.number(function.as_str());
                let stack = names.stacks.number(&[u64::from(function)][..]);
                let what = What::Found { stack };
                held.push(SchedEvent { time_ns: now_ns, processor: 0, thread: *thread, what });
            }
            let is_asleep = held.len() > told;
            let stat = SchedStat::of(station.own_id).ok();
            match &mut station.moments {
                Moments::Records(records) => records.drain(*thread, stat, held),
                Moments::Looks { asleep } => {
                    let slices = stat.unwrap_or_default().slices;
                    let changes = looked(asleep, is_asleep.then_some(slices));
                    let event =
                        |what| SchedEvent { time_ns: now_ns, processor: 0, thread: *thread, what };
                    held.splice(told..told, changes.into_iter().flatten().map(event));
                }
            }
        }
        events.extend(ripe(held, until_ns, |event| event.time_ns));
    }
}

impl Records {
    fn drain(&mut self, thread: u32, stat: Option<SchedStat>, held: &mut Vec<SchedEvent>) {
        let Records { ring, delay, .. } = self;
        let (mut told, mut gaps) = (Vec::new(), Vec::new());
        ring.drain(&mut |item| match item {
            Told::Gap(gap) => gaps.push(SchedEvent::of_gap(gap, 0)),
            Told::Record(record) => told.extend(switch(&record, thread)),
        });
        held.extend(stat.and_then(|stat| delay.look(thread, stat, &told)));
        held.extend(told);
        held.extend(gaps);
    }
}

fn records_of(own_id: u32) -> Result<Records, PerfEventError> {
    let event = PerfEvent::of_thread(&EventSpec::new(EventSource::Switches), own_id)?;
    let ring = Ring::map(&event, RING_PAGES)?;
    event.enable()?;
    Ok(Records { ring, _event: event, delay: RunDelay::default() })
}

pub fn may_record(own_id: Option<u32>) -> Result<(), PerfEventError> {
    let own_id = own_id.unwrap_or(0);
    PerfEvent::of_thread(&EventSpec::new(EventSource::Switches), own_id).map(drop)
}

/// Who may not know reads `0` from a thread's `wchan`, and is refused its `syscall`.
pub fn may_look_at(own_id: u32) -> io::Result<()> {
    fs::read_to_string(format!("/proc/{own_id}/syscall"))?;
    fs::read_to_string(format!("/proc/{own_id}/wchan")).map(drop)
}

/// What happened since the last look: a thread that was given a processor meanwhile has slept twice.
fn looked(asleep: &mut Option<u64>, now: Option<u64>) -> [Option<What>; 2] {
    let back = What::In { prev: Task::UNKNOWN };
    let out = What::Out { left: Left::Asleep, next: Task::UNKNOWN, stack: 0 };
    let before = std::mem::replace(asleep, now);
    match (before, now) {
        (Some(before), Some(now)) if before == now => [None, None],
        (before, now) => [before.map(|_| back), now.map(|_| out)],
    }
}

/// `0` is a thread that runs.
fn asleep_in(wchan: &std::path::Path) -> Option<String> {
    let text = fs::read_to_string(wchan).ok()?;
    (!text.is_empty() && text != "0").then_some(text)
}

/// `None` for records of other kinds.
fn switch(record: &Record<'_>, thread: u32) -> Option<SchedEvent> {
    let what = match record.body {
        Body::Left { is_preempted } => {
            let left = if is_preempted { Left::Preempted } else { Left::Asleep };
            What::Out { left, next: Task::UNKNOWN, stack: 0 }
        }
        Body::Due => What::In { prev: Task::UNKNOWN },
        _ => return None,
    };
    Some(SchedEvent { time_ns: record.time_ns, processor: record.processor, thread, what })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_looks_a_sleep_ends_when_the_thread_has_run_meanwhile() {
        let mut asleep = None;
        let kinds = |changes: [Option<What>; 2]| {
            changes.map(|what| what.map(|what| matches!(what, What::In { .. })))
        };
        assert_eq!(kinds(looked(&mut asleep, None)), [None, None]);
        assert_eq!(kinds(looked(&mut asleep, Some(7))), [None, Some(false)]);
        assert_eq!(kinds(looked(&mut asleep, Some(7))), [None, None]);
        assert_eq!(kinds(looked(&mut asleep, Some(8))), [Some(true), Some(false)]);
        assert_eq!(kinds(looked(&mut asleep, None)), [Some(true), None]);
    }

    #[test]
    fn our_own_sleep_is_seen_without_privilege() {
        let (tell, told) = std::sync::mpsc::channel();
        let (go_on, wait) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || {
            tell.send(rustix::thread::gettid().as_raw_nonzero().get() as u32).unwrap();
            assert!(wait.recv().is_err());
        });
        let id = told.recv().unwrap();
        let mut switches = Switches::default();
        if let Err(error) = switches.follow(&[(id, id)]) {
            println!("SKIPPED: {error}");
            return;
        }
        let (mut names, mut events) = (Names::default(), Vec::new());
        pickfs_testkit::until("the sleep of the other thread", || {
            switches.drain(1, u64::MAX, &mut names, &mut events);
            events.iter().any(|event| matches!(event.what, What::Found { .. })).then_some(())
        });
        drop(go_on);
        other.join().unwrap();
        switches.drain(2, u64::MAX, &mut names, &mut events);
        assert!(events.iter().any(|event| matches!(event.what, What::In { .. })), "{events:?}");
    }
}
