//! Context events of the whole machine, taken from the kernel's rings in the order of their times. A ring
//! of their own for each processor: what they lose makes no wait doubtful.

use std::collections::HashMap;

use crate::kernel::{
    perf_event::{EventSource, EventSpec, PerfEvent, PerfEventError},
    trace_fs::TraceFs,
};
use pickfs_sys::cpu;

use super::points::{ContextEvent, POINTS, Placed};
use crate::{
    kernel::perf_record::Body,
    loss::{Ring, Told, ripe},
    recorder::{Namer, RecorderError},
};

/// Pages of a ring for each processor: a megabyte holds some 8,000 events.
const RING_PAGES: usize = 256;

struct Station {
    ring: Ring,
    _events: Vec<PerfEvent>,
}

pub struct ContextRecorder {
    stations: Vec<Station>,
    points: HashMap<u64, Placed>,
    held: Vec<ContextEvent>,
    namer: Namer,
    /// Those that this kernel has: `jbd2`, `block`.
    pub groups: Vec<&'static str>,
    pub events: u64,
    pub lost: u64,
}

impl ContextRecorder {
    /// Those that this kernel has now: those of a file system come with its module. Fails when
    /// none can be had.
    pub fn open() -> Result<ContextRecorder, RecorderError> {
        let trace_fs = TraceFs::open()?;
        let mut points = Vec::new();
        for point in POINTS {
            let Ok(format) = trace_fs.format(point.group, point.name) else { continue };
            let Ok(placed) = Placed::of(point, &format) else { continue };
            points.push((format.id, point.group, placed));
        }
        let numbers: Vec<u64> = points.iter().map(|(number, _, _)| *number).collect();
        let mut groups: Vec<&str> = points.iter().map(|(_, group, _)| *group).collect();
        groups.dedup();
        let mut recorder = ContextRecorder {
            stations: Vec::new(),
            points: HashMap::new(),
            held: Vec::new(),
            namer: Namer::default(),
            groups,
            events: 0,
            lost: 0,
        };
        for processor in cpu::online().map_err(RecorderError::Processors)? {
            let (station, ids) = Station::open(processor, &numbers)?;
            let placed = points.iter().map(|(_, _, placed)| placed.clone());
            recorder.points.extend(ids.into_iter().zip(placed));
            recorder.stations.push(station);
        }
        Ok(recorder)
    }

    /// Up to `until_ns`, in the order of their times, with the name of its thread.
    pub fn drain(&mut self, until_ns: u64, each: &mut dyn FnMut(&ContextEvent, &str)) {
        let ContextRecorder { stations, points, held, namer, events, lost, .. } = self;
        for station in stations {
            station.ring.drain(&mut |told| {
                let Told::Record(record) = told else { return };
                match record.body {
                    Body::Lost { count } => *lost += count,
                    Body::Sample(mut sample) => held.extend(
                        sample
                            .raw()
                            .and_then(|raw| points.get(&record.id)?.event(record.time_ns, raw)),
                    ),
                    _ => {}
                }
            });
        }
        for event in ripe(held, until_ns, |event| event.time_ns) {
            *events += 1;
            each(&event, &namer.name(event.thread));
        }
    }
}

impl Station {
    fn open(processor: u32, numbers: &[u64]) -> Result<(Station, Vec<u64>), PerfEventError> {
        let carrier = PerfEvent::on_processor(&EventSpec::new(EventSource::Carrier), processor)?;
        let ring = Ring::map(&carrier, RING_PAGES)?;
        let (mut events, mut ids) = (vec![carrier], Vec::new());
        for number in numbers {
            let spec = EventSpec::new(EventSource::TracePoint(*number));
            let event = PerfEvent::on_processor(&spec, processor)?;
            event.write_into(&events[0])?;
            event.enable()?;
            ids.push(event.id()?);
            events.push(event);
        }
        Ok((Station { ring, _events: events }, ids))
    }
}
