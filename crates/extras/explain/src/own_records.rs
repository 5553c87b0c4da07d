//! Records of each watched thread by itself, beside the trace points of all processors: when it took a
//! processor, and, where that is asked for, where it was while it had one.
//!
//! Linux 6.18 tells no switch from an idle processor but the first by its trace point; a thread's own
//! record is told there too. Samples are taken by the processor's clock while the thread runs: of the
//! kernel's functions alone, a sample in the program itself has no stack.
//!
//! Source: perf_event_open(2), PERF_RECORD_SWITCH and PERF_COUNT_SW_CPU_CLOCK.

use std::{collections::HashMap, path::Path};

use crate::{
    kernel::{
        perf_event::{EventSource, EventSpec, PerfEvent, PerfEventError},
        perf_record::{Body, Record},
    },
    loss::{Ring, Told, ripe},
    sched::{Names, SchedEvent, Task, What},
};

/// Pages of a thread's ring: some 800 switches between two looks, or 20 samples and more with them.
const RING_PAGES: usize = 8;
const RING_PAGES_SAMPLED: usize = 32;
/// Threads that have such a ring at one time; beyond, arrivals from idle processors and samples are not told.
const THREADS_MAX: usize = 512;
/// `ESRCH`: the thread has ended.
pub(crate) const NO_SUCH_THREAD: i32 = 3;

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
    ring: Ring,
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
            station.ring.drain(&mut |told| {
                if let Told::Record(record) = told {
                    held.extend(event_of(record, *thread, names));
                }
            });
        }
        events.extend(ripe(held, until_ns, |event| event.time_ns));
    }
}

impl Station {
    fn open(own_id: u32, samples_hz: Option<u32>) -> Result<Station, PerfEventError> {
        let switches = PerfEvent::of_thread(&EventSpec::new(EventSource::Switches), own_id)?;
        let pages = if samples_hz.is_some() { RING_PAGES_SAMPLED } else { RING_PAGES };
        let ring = Ring::map(&switches, pages)?;
        let mut events = vec![switches];
        if let Some(hz) = samples_hz {
            let clock =
                EventSpec { has_stacks: true, ..EventSpec::new(EventSource::CpuClock { hz }) };
            let clock = PerfEvent::of_thread(&clock, own_id)?;
            clock.write_into(&events[0])?;
            events.push(clock);
        }
        events.iter().try_for_each(PerfEvent::enable)?;
        Ok(Station { own_id, ring, _events: events })
    }
}

/// What was lost here makes nothing doubtful: no end of a wait is told by it alone.
fn event_of(record: Record<'_>, thread: u32, names: &mut Names) -> Option<SchedEvent> {
    let Record { time_ns, processor, .. } = record;
    let (thread, what) = match record.body {
        Body::Lost { count } => (0, What::Lost { since_ns: time_ns, count }),
        Body::Sample(mut sample) => {
            let stack = names.stacks.number(sample.stack()?.as_slice());
            (thread, What::Sampled { stack })
        }
        Body::Due => (thread, What::In { prev: Task::default() }),
        _ => return None,
    };
    Some(SchedEvent { time_ns, processor, thread, what })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::perf_record::tests::{sample, switch};

    fn told(bytes: &[u8], names: &mut Names) -> Option<SchedEvent> {
        event_of(Record::parse(bytes)?, 41, names)
    }

    #[test]
    fn a_sample_has_the_stack_of_the_kernel() {
        let mut names = Names::default();
        let record = sample(Some(&[0xffff_0010, 0xffff_0020]), None);
        let event = told(&record, &mut names).expect("a sample");
        let What::Sampled { stack } = event.what else { panic!("{event:?}") };
        assert_eq!((event.time_ns, event.processor, event.thread), (5_000, 1, 41));
        assert_eq!(names.stacks.value(stack), &[0xffff_0010, 0xffff_0020]);
        assert_eq!(told(&record[..50], &mut names), None);
    }

    #[test]
    fn arrivals_count_and_departures_do_not() {
        let event = told(&switch(false, false), &mut Names::default()).expect("an arrival");
        assert_eq!((event.thread, event.what), (41, What::In { prev: Task::default() }));
        assert_eq!(told(&switch(true, false), &mut Names::default()), None);
    }
}
