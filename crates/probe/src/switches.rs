//! What can be seen without privilege: when a thread left and took a processor, by records of the
//! kernel, and the function that it sleeps in, by looking (`wchan`) some hundred times a second. Who
//! woke it and who had the processor is not told.
//!
//! Source: perf_event_open(2), PERF_RECORD_SWITCH (Linux 4.3; preempted: 4.17); proc_pid_wchan(5).

use std::{collections::HashMap, path::PathBuf};

use pickfs_sys::{
    perf_event::{EventSource, EventSpec, PerfEvent, PerfEventError},
    perf_ring::PerfRing,
};

use crate::sched::{Left, Names, SchedEvent, Task, What};

/// Pages of a thread's ring: some 800 switches between two looks.
const RING_PAGES: usize = 8;
/// `PERF_RECORD_SWITCH` and its flags in the header's second word.
const RECORD_SWITCH: u32 = 14;
const RECORD_LOST: u32 = 2;
const LEAVES: u16 = 1 << 13;
const PREEMPTED: u16 = 1 << 14;

/// One thread that is watched.
struct Station {
    ring: PerfRing,
    _event: PerfEvent,
    wchan: PathBuf,
}

/// Switches of a set of threads.
#[derive(Default)]
pub struct Switches {
    stations: HashMap<u32, Station>,
    held: Vec<SchedEvent>,
    /// What events refer to.
    pub names: Names,
}

impl Switches {
    /// Watches further threads: each by the machine's number, and by the one that we know.
    pub fn follow(&mut self, threads: &[(u32, u32)]) -> Result<(), PerfEventError> {
        for (id, own_id) in threads {
            if self.stations.contains_key(id) {
                continue;
            }
            let event = PerfEvent::of_thread(&EventSpec::new(EventSource::Switches), *own_id)?;
            let ring = PerfRing::map(&event, RING_PAGES)?;
            event.enable()?;
            let wchan = PathBuf::from(format!("/proc/{own_id}/wchan"));
            self.stations.insert(*id, Station { ring, _event: event, wchan });
        }
        Ok(())
    }

    /// The events up to `until_ns`, in the order of their times; `now_ns` is when threads are looked
    /// at.
    pub fn drain(&mut self, now_ns: u64, until_ns: u64, events: &mut Vec<SchedEvent>) {
        let Switches { stations, held, names } = self;
        for (thread, station) in stations {
            if let Some(function) = asleep_in(station) {
                let function = names.functions.number(function.as_str());
                let stack = names.stacks.number(&[u64::from(function)][..]);
                let what = What::Found { stack };
                held.push(SchedEvent { time_ns: now_ns, processor: 0, thread: *thread, what });
            }
            station.ring.drain(&mut |record| held.extend(switch(record, *thread)));
        }
        held.sort_by_key(|event| event.time_ns);
        let ripe = held.partition_point(|event| event.time_ns <= until_ns);
        events.extend(held.drain(..ripe));
    }
}

/// `0` is a thread that runs.
fn asleep_in(station: &Station) -> Option<String> {
    let text = std::fs::read_to_string(&station.wchan).ok()?;
    (!text.is_empty() && text != "0").then_some(text)
}

/// A record of a thread; `None` for those of other kinds.
fn switch(record: &[u8], thread: u32) -> Option<SchedEvent> {
    let word = |at: usize| Some(u64::from_ne_bytes(record.get(at..at + 8)?.try_into().ok()?));
    let kind = word(0)? as u32;
    let flags = (word(0)? >> 32) as u16;
    let (time_ns, processor, what) = match kind {
        RECORD_SWITCH if flags & LEAVES != 0 => {
            let left = if flags & PREEMPTED != 0 { Left::Preempted } else { Left::Asleep };
            (word(16)?, word(24)? as u32, What::Out { left, next: Task::UNKNOWN, stack: 0 })
        }
        RECORD_SWITCH => (word(16)?, word(24)? as u32, What::In { prev: Task::UNKNOWN }),
        RECORD_LOST => (word(32)?, word(40)? as u32, What::Lost { count: word(16)? }),
        _ => return None,
    };
    Some(SchedEvent { time_ns, processor, thread, what })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u32, flags: u16, words: &[u64]) -> Vec<u8> {
        let size = 8 + 8 * words.len() as u64;
        let head = u64::from(kind) | u64::from(flags) << 32 | size << 48;
        let all = [&[head], words].concat();
        all.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn a_thread_leaves_is_preempted_and_comes_back() {
        let body = [0, 5_000, 1, 7];
        let out = switch(&record(RECORD_SWITCH, LEAVES, &body), 41).expect("a switch");
        assert_eq!((out.time_ns, out.processor, out.thread), (5_000, 1, 41));
        assert!(matches!(out.what, What::Out { left: Left::Asleep, .. }));
        let out = switch(&record(RECORD_SWITCH, LEAVES | PREEMPTED, &body), 41).expect("a switch");
        assert!(matches!(out.what, What::Out { left: Left::Preempted, .. }));
        let back = switch(&record(RECORD_SWITCH, 0, &body), 41).expect("a switch");
        assert_eq!(back.what, What::In { prev: Task::UNKNOWN });
        let lost = switch(&record(RECORD_LOST, 0, &[7, 12, 0, 9_000, 1]), 41).expect("lost");
        assert_eq!((lost.time_ns, lost.what), (9_000, What::Lost { count: 12 }));
        assert_eq!(switch(&record(RECORD_SWITCH, 0, &[0]), 41), None);
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
        std::thread::sleep(std::time::Duration::from_millis(5));
        let mut events = Vec::new();
        switches.drain(1, u64::MAX, &mut events);
        drop(go_on);
        other.join().unwrap();
        switches.drain(2, u64::MAX, &mut events);
        assert!(events.iter().any(|event| matches!(event.what, What::Found { .. })), "{events:?}");
        assert!(events.iter().any(|event| matches!(event.what, What::In { .. })), "{events:?}");
    }
}
