//! Calls of processes and of all that they start, taken from the kernel's rings in the order of their
//! times.
//!
//! Two events for each traced thread and processor, the beginning and the end of a system call, pass
//! on to whatever it starts. A filter in the kernel lets only calls on files through. Records of one
//! processor share a ring.
//!
//! Source: perf_event_open(2), "inherit" and "enable_on_exec"; Documentation/trace/events.rst, "Event
//! filtering".

use std::{collections::HashSet, thread, time::Duration};

use crate::kernel::{
    file_calls::FileCall,
    perf_event::{EventSource, EventSpec, PerfEvent, PerfEventError, Reach},
    trace_fs::TraceFs,
};
use pickfs_sys::{proc_root::ProcRoot, process};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use thiserror::Error;

use super::{
    cost::cost_of_call_ns,
    event::{CallEvent, CallReader, CallWhat},
    watch::WatchOptions,
};
use crate::{
    loss::{Told, ripe},
    own_records::NO_SUCH_THREAD,
    recorder::{RecorderError, Station},
};

/// Calls cannot be traced. The text says what is lost by that and how to get it.
#[derive(Debug, Error)]
pub enum CallsRefused {
    #[error("file-system calls cannot be seen: {cause}")]
    NoEvents { cause: RecorderError },
    #[error("no process {process_id} to watch: {cause}")]
    NoProcess { process_id: u32, cause: std::io::Error },
    #[error("the watch of calls has no thread: {cause}")]
    NoThread { cause: std::io::Error },
}

impl<E: Into<RecorderError>> From<E> for CallsRefused {
    fn from(cause: E) -> CallsRefused {
        CallsRefused::NoEvents { cause: cause.into() }
    }
}

pub struct CallTracer {
    options: WatchOptions,
    stations: Vec<Station>,
    reader: CallReader,
    points: (u64, u64),
    filter: String,
    events: Vec<PerfEvent>,
    held: Vec<CallEvent>,
    /// In nanoseconds; 0 where that could not be measured.
    pub cost_ns: f64,
    /// There before the watch: process, thread and name.
    pub found: Vec<(u32, u32, String)>,
    /// That threads may have been missed, where it gave up looking for them.
    pub missing: Option<String>,
}

/// Pages of one ring at least and at most.
const RING_PAGES: [usize; 2] = [256, 4_096];
/// Looks for threads that were started while their elders were being attached to.
const LOOKS_MAX: usize = 100;

impl CallTracer {
    /// Whatever the calling thread starts from now on, each from its `execve(2)` on, with all that it
    /// starts itself. Other threads of this process, and what they start, are not traced.
    pub fn of_children(options: WatchOptions) -> Result<CallTracer, CallsRefused> {
        let mut tracer = CallTracer::open(options)?;
        tracer.cost_ns = cost_of_call_ns(&mut tracer);
        tracer.attach(None, Reach::DescendantsFromExec)?;
        Ok(tracer)
    }

    /// And all below it, with all that they start from now on. Where threads come faster than they
    /// can be attached to, `missing` says so.
    pub fn of_process(process_id: u32, options: WatchOptions) -> Result<CallTracer, CallsRefused> {
        allow_many_files();
        let mut tracer = CallTracer::open(options)?;
        tracer.cost_ns = cost_of_call_ns(&mut tracer);
        let mut known = HashSet::new();
        for _ in 0..LOOKS_MAX {
            let fresh = threads_below(process_id, &known)?;
            if fresh.is_empty() && !known.is_empty() {
                return Ok(tracer);
            }
            for (process, thread, name) in fresh {
                tracer.follow(thread)?;
                known.insert(thread);
                tracer.found.push((process, thread, name));
            }
            // What was started by somebody who is traced is traced, and its start is told.
            thread::sleep(Duration::from_millis(2));
            tracer.fetch();
            let starts = |event: &&CallEvent| matches!(event.what, CallWhat::Started { .. });
            known.extend(tracer.held.iter().filter(starts).map(|event| event.thread));
        }
        tracer.missing = Some(format!(
            "threads that were started while process {process_id} was being attached to: new ones were \
             there at each of {LOOKS_MAX} looks; calls of some are not counted"
        ));
        Ok(tracer)
    }

    fn open(options: WatchOptions) -> Result<CallTracer, CallsRefused> {
        let trace_fs = TraceFs::open()?;
        let enter = trace_fs.format("raw_syscalls", "sys_enter")?;
        let exit = trace_fs.format("raw_syscalls", "sys_exit")?;
        Ok(CallTracer {
            options,
            stations: Station::on_each(RING_PAGES)?,
            reader: CallReader::new(&enter, &exit)?,
            points: (enter.id, exit.id),
            filter: filter(),
            events: Vec::new(),
            held: Vec::new(),
            cost_ns: 0.0,
            found: Vec::new(),
            missing: None,
        })
    }

    /// A thread that has ended meanwhile is no error.
    fn follow(&mut self, thread: u32) -> Result<(), CallsRefused> {
        match self.attach(Some(thread), Reach::Descendants) {
            Err(PerfEventError::Open { cause }) if cause.raw_os_error() == Some(NO_SUCH_THREAD) => {
                Ok(())
            }
            answer => Ok(answer?),
        }
    }

    /// Events of a thread (without a number, of the calling one) on every processor. They are switched
    /// on when all are there, the ends first: an end alone is told from a call that does not end.
    fn attach(&mut self, thread: Option<u32>, reach: Reach) -> Result<(), PerfEventError> {
        let mut opened = Vec::new();
        let (enter, exit) = self.points;
        let of = |source| EventSpec { reach, ..EventSpec::new(source) };
        let enter = EventSpec { tells_threads: true, ..of(EventSource::TracePoint(enter)) };
        let tells_switches = self.options.stalls_above_ns.is_some();
        let exit = EventSpec { tells_switches, ..of(EventSource::TracePoint(exit)) };
        let clock = |hz| EventSpec { has_stacks: true, ..of(EventSource::CpuClock { hz }) };
        let clock = self.options.also.samples_hz.filter(|_| tells_switches).map(clock);
        for spec in [Some(enter), Some(exit), clock].into_iter().flatten() {
            for station in &self.stations {
                let event = PerfEvent::of_thread_on(&spec, thread, station.processor)?;
                match Some(spec) == clock {
                    true => self.reader.add_clock(event.id()?),
                    false => event.filter(&self.filter)?,
                }
                event.write_into(&station.carrier)?;
                opened.push(event);
            }
        }
        if reach != Reach::DescendantsFromExec {
            opened.iter().rev().try_for_each(PerfEvent::enable)?;
        }
        self.events.extend(opened);
        Ok(())
    }

    /// In [0, 1].
    pub fn fill(&self) -> f64 {
        self.stations.iter().map(|station| station.ring.fill()).fold(0.0, f64::max)
    }

    /// Empties the rings and gives the events up to `until_ns` in the order of their times.
    pub fn drain(&mut self, until_ns: u64, events: &mut Vec<CallEvent>) {
        self.fetch();
        events.extend(ripe(&mut self.held, until_ns, |event| event.time_ns));
    }

    fn fetch(&mut self) {
        let CallTracer { stations, reader, held, .. } = self;
        for Station { ring, .. } in stations {
            ring.drain(&mut |told| {
                held.extend(match told {
                    Told::Gap(gap) => Some(CallEvent::of_gap(gap)),
                    Told::Record(record) => reader.read(record),
                });
            });
        }
    }

    /// Of the calling thread alone; off until they are enabled.
    pub(super) fn of_myself(&mut self) -> Result<Vec<PerfEvent>, PerfEventError> {
        let before = self.events.len();
        self.attach(None, Reach::Alone)?;
        let own = self.events.split_off(before);
        own.iter().try_for_each(PerfEvent::disable)?;
        Ok(own)
    }

    pub(super) fn forget(&mut self) {
        self.fetch();
        self.held.clear();
    }
}

/// `(id>=0&&id<=6)||id==8`: the calls that are traced.
fn filter() -> String {
    let run = |(first, last): (i64, i64)| match first == last {
        true => format!("id=={first}"),
        false => format!("(id>={first}&&id<={last})"),
    };
    FileCall::number_runs().into_iter().map(run).collect::<Vec<_>>().join("||")
}

fn threads_below(
    process_id: u32,
    known: &HashSet<u32>,
) -> Result<Vec<(u32, u32, String)>, CallsRefused> {
    let refused = |cause| CallsRefused::NoProcess { process_id, cause };
    let proc_root = ProcRoot::own();
    process::Process::read(process_id, &proc_root).map_err(refused)?;
    let tree = process::tree_of(process_id, &proc_root).map_err(refused)?;
    let mut found = Vec::new();
    for process in tree {
        let folder = proc_root.process(process.process_id).join("task");
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        let ids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        for id in ids.filter(|id| !known.contains(id)) {
            let name = std::fs::read_to_string(folder.join(format!("{id}/comm")));
            let name = name.unwrap_or_default().trim_end().to_owned();
            found.push((process.process_id, id, name));
        }
    }
    Ok(found)
}

/// Each thread takes two descriptors for each processor: up to the hard limit are ours.
fn allow_many_files() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_of_calls_fits_into_a_page() {
        let filter = filter();
        assert!(filter.len() < 4_000 && filter.contains("||"), "{filter}");
    }

    #[test]
    fn a_process_that_is_not_there_is_named() {
        let error =
            CallsRefused::NoProcess { process_id: 7, cause: std::io::ErrorKind::NotFound.into() };
        assert!(error.to_string().starts_with("no process 7 to watch"), "{error}");
        assert!(threads_below(0x7fff_ffff, &HashSet::new()).is_err());
        let own = threads_below(std::process::id(), &HashSet::new()).unwrap();
        assert!(own.iter().any(|(_, thread, _)| *thread == std::process::id()));
    }
}
