//! Context events of the whole machine, taken from the kernel's rings in the order of their times. A ring
//! of their own for each processor: what they lose makes no wait doubtful.

use std::collections::HashMap;

use crate::kernel::{
    perf_event::{EventSource, EventSpec, PerfEvent},
    trace_fs::TraceFs,
};

use super::points::{ContextEvent, POINTS, Placed};
use crate::{
    kernel::perf_record::Body,
    loss::{Told, ripe},
    recorder::{Namer, RecorderError, Station},
};

/// Pages of a ring for each processor: a megabyte holds some 8,000 events.
const RING_PAGES: [usize; 2] = [256; 2];

pub struct ContextRecorder {
    stations: Vec<Station>,
    _events: Vec<PerfEvent>,
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
        let stations = Station::on_each(RING_PAGES)?;
        let (mut points, mut events, mut groups) = (HashMap::new(), Vec::new(), Vec::new());
        for point in POINTS {
            let Ok(format) = trace_fs.format(point.group, point.name) else { continue };
            let Ok(placed) = Placed::of(point, &format) else { continue };
            groups.push(point.group);
            for station in &stations {
                let spec = EventSpec::new(EventSource::TracePoint(format.id));
                let event = PerfEvent::on_processor(&spec, station.processor)?;
                event.write_into(&station.carrier)?;
                event.enable()?;
                points.insert(event.id()?, placed.clone());
                events.push(event);
            }
        }
        groups.dedup();
        Ok(ContextRecorder {
            stations,
            _events: events,
            points,
            held: Vec::new(),
            namer: Namer::default(),
            groups,
            events: 0,
            lost: 0,
        })
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
