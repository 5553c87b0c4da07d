//! Records of each watched thread by itself, beside the trace points of all processors: when it took a
//! processor, and, where that is asked for, where it was while it had one.
//!
//! Linux 6.18 tells no switch from an idle processor but the first by its trace point; a thread's own
//! record is told there too. Samples are taken by the processor's clock while the thread runs: of the
//! kernel's functions alone, a sample in the program itself has no stack.
//!
//! Source: perf_event_open(2), PERF_RECORD_SWITCH and PERF_COUNT_SW_CPU_CLOCK.

use std::{collections::HashMap, path::Path};

use crate::kernel::{
    perf_event::{EventSource, EventSpec, PerfEvent, PerfEventError},
    perf_ring::PerfRing,
};

use crate::{
    sched::{Names, Sample, SchedEvent, Task, What, parse_lost},
    switches::switch,
};

/// Pages of a thread's ring: some 800 switches between two looks, or 20 samples and more with them.
const RING_PAGES: usize = 8;
const RING_PAGES_SAMPLED: usize = 32;
/// Threads that have such a ring at one time; beyond, arrivals from idle processors and samples are not told.
const THREADS_MAX: usize = 512;
/// `ESRCH`: the thread has ended.
const NO_SUCH_THREAD: i32 = 3;

#[derive(Default)]
pub struct OwnRecords {
    stations: HashMap<u32, Station>,
    /// Of each second on a processor; `None` where that was not asked for.
    pub samples_hz: Option<u32>,
    /// Threads beyond those that have a ring, and why others have none.
    left_out: u64,
    refused: Option<String>,
    held: Vec<SchedEvent>,
}

struct Station {
    own_id: u32,
    ring: PerfRing,
    _events: Vec<PerfEvent>,
}

impl OwnRecords {
    pub fn new(samples_hz: Option<u32>) -> OwnRecords {
        OwnRecords { samples_hz, ..OwnRecords::default() }
    }

    /// Watches further threads: each by the machine's number, and by the one that we know. What the kernel
    /// refuses stands in [`OwnRecords::missing`].
    pub fn follow(&mut self, threads: &[(u32, u32)]) {
        self.left_out = 0;
        if self.stations.len() >= THREADS_MAX {
            let is_there = |own_id| Path::new(&format!("/proc/{own_id}")).exists();
            self.stations.retain(|_, station| is_there(station.own_id));
        }
        for (id, own_id) in threads {
            if self.stations.contains_key(id) {
                continue;
            }
            if self.stations.len() >= THREADS_MAX {
                self.left_out += 1;
                continue;
            }
            match Station::open(*own_id, self.samples_hz) {
                Ok(station) => drop(self.stations.insert(*id, station)),
                Err(error) if error.cause().raw_os_error() == Some(NO_SUCH_THREAD) => {}
                Err(error) => drop(self.refused.get_or_insert_with(|| error.to_string())),
            }
        }
    }

    pub fn missing(&self) -> Option<String> {
        let what = match self.samples_hz {
            Some(_) => "samples, and arrivals from idle processors",
            None => "arrivals from idle processors",
        };
        let left_out = format!("of {} threads beyond {THREADS_MAX}", self.left_out);
        let left_out = (self.left_out > 0).then_some(left_out);
        let why = self.refused.as_ref().map(|refused| format!("of some threads: {refused}"));
        Some(format!("{what} {}", why.or(left_out)?))
    }

    /// Up to `until_ns`, in no order.
    pub fn drain(&mut self, until_ns: u64, names: &mut Names, events: &mut Vec<SchedEvent>) {
        let OwnRecords { stations, held, .. } = self;
        for (thread, station) in stations {
            station.ring.drain(&mut |record| held.extend(event_of(record, *thread, names)));
        }
        held.sort_by_key(|event| event.time_ns);
        let ripe = held.partition_point(|event| event.time_ns <= until_ns);
        events.extend(held.drain(..ripe));
    }
}

impl Station {
    fn open(own_id: u32, samples_hz: Option<u32>) -> Result<Station, PerfEventError> {
        let switches = PerfEvent::of_thread(&EventSpec::new(EventSource::Switches), own_id)?;
        let pages = if samples_hz.is_some() { RING_PAGES_SAMPLED } else { RING_PAGES };
        let ring = PerfRing::map(&switches, pages)?;
        let mut events = vec![switches];
        if let Some(hz) = samples_hz {
            let clock = EventSpec::new(EventSource::CpuClock { hz }).with_stacks();
            let clock = PerfEvent::of_thread(&clock, own_id)?;
            clock.write_into(&events[0])?;
            events.push(clock);
        }
        events.iter().try_for_each(PerfEvent::enable)?;
        Ok(Station { own_id, ring, _events: events })
    }
}

/// What was lost here makes nothing doubtful: no end of a wait is told by it alone.
fn event_of(record: &[u8], thread: u32, names: &mut Names) -> Option<SchedEvent> {
    if let Some((count, time_ns)) = parse_lost(record) {
        let what = What::Lost { since_ns: time_ns, count };
        return Some(SchedEvent { time_ns, processor: 0, thread: 0, what });
    }
    if let Some(sample) = Sample::of_clock(record) {
        let stack = names.stacks.number(sample.stack.as_slice());
        let (time_ns, processor) = (sample.time_ns, sample.processor);
        return Some(SchedEvent { time_ns, processor, thread, what: What::Sampled { stack } });
    }
    let event = switch(record, thread)?;
    let what = What::In { prev: Task::default() };
    matches!(event.what, What::In { .. }).then_some(SchedEvent { what, ..event })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn a_sample_has_the_stack_of_the_kernel() {
        let mut names = Names::default();
        let mark = u64::MAX - 127;
        let record = words(&[9, 7, 40 | 41 << 32, 5_000, 1, 3, mark, 0xffff_0010, 0xffff_0020]);
        let event = event_of(&record, 41, &mut names).expect("a sample");
        let What::Sampled { stack } = event.what else { panic!("{event:?}") };
        assert_eq!((event.time_ns, event.processor, event.thread), (5_000, 1, 41));
        assert_eq!(names.stacks.value(stack), &[0xffff_0010, 0xffff_0020]);
        assert_eq!(event_of(&record[..60], 41, &mut names), None);
    }

    #[test]
    fn arrivals_count_and_departures_do_not() {
        let record = |flags: u64| words(&[14 | flags << 32 | 40 << 48, 0, 5_000, 1, 7]);
        let event = event_of(&record(0), 41, &mut Names::default()).expect("an arrival");
        assert_eq!((event.thread, event.what), (41, What::In { prev: Task::default() }));
        assert_eq!(event_of(&record(1 << 13), 41, &mut Names::default()), None);
    }
}
