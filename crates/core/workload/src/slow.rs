//! Off unless the lab asked for it; then it costs a lap one comparison, and a slow one some fifty
//! nanoseconds.
//! The place that they go to is the process's own, as a worker runs one trial and ends.

use std::sync::{
    OnceLock,
    atomic::{AtomicBool, Ordering},
};

use pickfs_record::Operation;
use pickfs_sys::slow_laps::{SlowLap, SlowLaps};

static PLACE: OnceLock<SlowLaps> = OnceLock::new();
static IS_MEASURED: AtomicBool = AtomicBool::new(false);

pub fn write_slow_laps_to(laps: SlowLaps) {
    let _ = PLACE.set(laps);
}

/// What was done before was warm-up, whose laps nobody asks about.
pub fn measurement_begins() {
    IS_MEASURED.store(true, Ordering::Relaxed);
}

pub(crate) struct SlowPen {
    /// Laps longer than this are slow; none is where nobody asked.
    above_ns: u64,
    ops: Vec<u32>,
    thread_id: u32,
}

impl Default for SlowPen {
    fn default() -> SlowPen {
        SlowPen { above_ns: u64::MAX, ops: Vec::new(), thread_id: 0 }
    }
}

impl SlowPen {
    pub(crate) fn new(ops: &[String]) -> SlowPen {
        let place = PLACE.get().filter(|_| IS_MEASURED.load(Ordering::Relaxed));
        let numbers = |place: &SlowLaps| ops.iter().map(|op| place.name(op)).collect();
        SlowPen {
            above_ns: place.map_or(u64::MAX, SlowLaps::above_ns),
            ops: place.map(numbers).unwrap_or_default(),
            thread_id: 0,
        }
    }

    #[inline]
    pub(crate) fn lap(&mut self, op: usize, lap: &Operation) {
        if lap.end_ns - lap.start_ns > self.above_ns {
            self.write(op, lap);
        }
    }

    /// The thread is asked for its number here, as benches are made on another one.
    #[cold]
    fn write(&mut self, op: usize, lap: &Operation) {
        let (Some(place), Some(op)) = (PLACE.get(), self.ops.get(op)) else { return };
        if self.thread_id == 0 {
            self.thread_id = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        }
        place.push(&SlowLap {
            op: *op,
            thread_id: self.thread_id,
            start_ns: lap.start_ns,
            end_ns: lap.end_ns,
            offset_bytes: lap.offset_bytes,
        });
    }
}
