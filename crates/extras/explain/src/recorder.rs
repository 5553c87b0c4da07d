//! Scheduler events of a set of threads, taken from the kernel's rings in the order of their times.
//!
//! One ring for each processor holds three events: the watched thread leaves (with its stack),
//! the watched thread takes over (without), somebody wakes the watched thread (with the waker's
//! stack). Filters in the kernel let nothing else through, so a write that does not block meets none
//! of them.

use std::collections::HashMap;

use crate::kernel::{
    perf_event::{EventSource, EventSpec, PerfEvent, PerfEventError},
    trace_format::NoField,
    trace_fs::{TraceFs, TraceFsError},
};
use pickfs_sys::{cpu, proc_root::ProcRoot};
use thiserror::Error;

use crate::{
    loss::{Ring, Told, ripe},
    sched::{Layout, Names, SchedEvent, Source, understood},
};

#[derive(Debug, Error)]
pub enum RecorderError {
    #[error("{0}")]
    TraceFs(#[from] TraceFsError),
    #[error("{0}")]
    Format(#[from] NoField),
    #[error("{0}")]
    Event(#[from] PerfEventError),
    /// The list of processors could not be read.
    #[error("list of processors not read: {0}")]
    Processors(std::io::Error),
}

/// The ring of a processor, with the event that carries it: others write into it.
pub(crate) struct Station {
    pub(crate) processor: u32,
    pub(crate) ring: Ring,
    pub(crate) carrier: PerfEvent,
}

impl Station {
    /// One for each processor, with so many pages at least and at most: powers of two.
    pub(crate) fn on_each([least, most]: [usize; 2]) -> Result<Vec<Station>, RecorderError> {
        let processors = cpu::online().map_err(RecorderError::Processors)?;
        let pages = (RINGS_BYTES / PAGE_BYTES / processors.len().max(1)).max(1);
        let pages = (pages.next_power_of_two() / 2).clamp(least, most);
        let station = |processor| {
            let carrier = EventSpec::new(EventSource::Carrier);
            let carrier = PerfEvent::on_processor(&carrier, processor)?;
            let ring = Ring::map(&carrier, pages)?;
            Ok(Station { processor, ring, carrier })
        };
        processors.into_iter().map(station).collect()
    }
}

pub struct Recorder {
    stations: Vec<Station>,
    events: Vec<PerfEvent>,
    sources: HashMap<u64, Source>,
    layout: Layout,
    /// Numbers of the trace points `sched_switch` and `sched_waking`.
    points: (u64, u64),
    namer: Namer,
    /// Events that are younger than what has been asked for, by time.
    held: Vec<SchedEvent>,
}

/// Memory of all rings together, and pages of one at least and at most: a megabyte holds some 4,000
/// events.
const RINGS_BYTES: usize = 64 << 20;
const RING_PAGES: [usize; 2] = [256, 1_024];
const PAGE_BYTES: usize = 4_096;
/// A filter is a string of no more than a page; longer lists become a range of numbers.
const FILTER_BYTES_MAX: usize = 4_000;
/// The name of a thread that was gone before it could be asked.
const ENDED: &str = "a thread that has ended";
const NAMES_MAX: usize = 8_192;

impl Recorder {
    pub fn open() -> Result<Recorder, RecorderError> {
        let trace_fs = TraceFs::open()?;
        let switch = trace_fs.format("sched", "sched_switch")?;
        let waking = trace_fs.format("sched", "sched_waking")?;
        let layout = Layout::of(&switch, &waking)?;
        Ok(Recorder {
            stations: Station::on_each(RING_PAGES)?,
            events: Vec::new(),
            sources: HashMap::new(),
            layout,
            points: (switch.id, waking.id),
            namer: Namer::default(),
            held: Vec::new(),
        })
    }

    /// From now on it records these threads, by the machine's numbers, and all whose number is
    /// `newer_than` or more: those that will be started, until the kernel's numbers begin anew, and as
    /// many strangers. A filter cannot be changed, so new events take the place of old ones; in between
    /// both record, and what comes twice changes nothing in a time line.
    pub fn follow(
        &mut self,
        threads: &[u32],
        newer_than: Option<u32>,
    ) -> Result<(), RecorderError> {
        let bare = EventSpec::new(EventSource::TracePoint(self.points.0));
        let woken = EventSpec::new(EventSource::TracePoint(self.points.1));
        let wanted = [
            (Source::Out, EventSpec { has_stacks: true, ..bare }, "prev_pid"),
            (Source::In, bare, "next_pid"),
            (Source::Waking, EventSpec { has_stacks: true, ..woken }, "pid"),
        ];
        let is_wanted = !threads.is_empty() || newer_than.is_some();
        let mut events = Vec::new();
        for station in self.stations.iter().filter(|_| is_wanted) {
            for (source, spec, field) in wanted {
                let event = PerfEvent::on_processor(&spec, station.processor)?;
                event.filter(&filter(field, threads, newer_than))?;
                event.write_into(&station.carrier)?;
                self.sources.insert(event.id()?, source);
                event.enable()?;
                events.push(event);
            }
        }
        self.events = events;
        Ok(())
    }

    /// Empties the rings and gives the events up to `until_ns` in the order of their times.
    pub fn drain(&mut self, until_ns: u64, names: &mut Names, events: &mut Vec<SchedEvent>) {
        let Recorder { stations, sources, layout, namer, held, .. } = self;
        for Station { processor, ring, .. } in stations {
            ring.drain(&mut |told| {
                held.extend(match told {
                    Told::Gap(gap) => Some(SchedEvent::of_gap(gap, *processor)),
                    Told::Record(record) => sources.get(&record.id).and_then(|source| {
                        let name_of = &mut |thread| namer.name(thread);
                        understood(record, *source, layout, names, name_of)
                    }),
                });
            });
        }
        events.extend(ripe(held, until_ns, |event| event.time_ns));
    }
}

/// `pid==3||pid==9||pid>=70`, or `pid>=3&&pid<=9` where the list would be too long.
fn filter(field: &str, threads: &[u32], newer_than: Option<u32>) -> String {
    let older = threads.iter().filter(|thread| newer_than.is_none_or(|newer| **thread < newer));
    let each = older.map(|thread| format!("{field}=={thread}"));
    let list: Vec<String> =
        each.chain(newer_than.map(|newer| format!("{field}>={newer}"))).collect();
    let list = list.join("||");
    let (Some(first), Some(last)) = (threads.iter().min(), threads.iter().max()) else {
        return list;
    };
    match newer_than {
        _ if list.len() <= FILTER_BYTES_MAX => list,
        Some(_) => format!("{field}>={first}"),
        None => format!("{field}>={first}&&{field}<={last}"),
    }
}

/// Names of threads by number, asked when first met: a thread that has ended has none.
#[derive(Default)]
pub(crate) struct Namer {
    known: HashMap<u32, String>,
}

impl Namer {
    pub(crate) fn name(&mut self, thread: u32) -> String {
        if thread == 0 {
            return "idle".into();
        }
        if self.known.len() > NAMES_MAX {
            self.known.clear();
        }
        let read = || {
            let path = ProcRoot::host().process(thread).join("comm");
            let name = std::fs::read_to_string(path).unwrap_or_default();
            match name.trim_end() {
                "" => ENDED.into(),
                name => name.to_owned(),
            }
        };
        self.known.entry(thread).or_insert_with(read).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_names_each_thread_or_their_range() {
        assert_eq!(filter("pid", &[3, 9], None), "pid==3||pid==9");
        assert_eq!(filter("pid", &[3, 9, 80], Some(70)), "pid==3||pid==9||pid>=70");
        assert_eq!(filter("pid", &[], Some(70)), "pid>=70");
        let many: Vec<u32> = (100_000..101_000).collect();
        assert_eq!(filter("prev_pid", &many, None), "prev_pid>=100000&&prev_pid<=100999");
        assert_eq!(filter("prev_pid", &many, Some(200_000)), "prev_pid>=100000");
    }

    #[test]
    fn a_thread_without_a_name_is_told_to_have_ended() {
        let mut namer = Namer::default();
        assert_eq!((namer.name(0), namer.name(0x7fff_0000)), ("idle".into(), ENDED.into()));
    }
}
