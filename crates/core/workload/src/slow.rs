//! Off unless the lab asked for it; then it costs an operation one comparison, and a slow one some fifty
//! nanoseconds.
//! The place that they go to is the process's own, as a worker runs one trial and ends.

use std::sync::{
    OnceLock,
    atomic::{AtomicBool, Ordering},
};

use pickfs_record::Operation;
use pickfs_sys::slow_operations::{SlowOperation, SlowOperations};

static PLACE: OnceLock<SlowOperations> = OnceLock::new();
static IS_MEASURED: AtomicBool = AtomicBool::new(false);

pub fn write_slow_operations_to(operations: SlowOperations) {
    let _ = PLACE.set(operations);
}

/// What was done before was warm-up, whose operations nobody asks about.
pub fn measurement_begins() {
    IS_MEASURED.store(true, Ordering::Relaxed);
}

pub(crate) struct SlowPen {
    /// Operations longer than this are slow; none is where nobody asked.
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
        let numbers = |place: &SlowOperations| ops.iter().map(|op| place.name(op)).collect();
        SlowPen {
            above_ns: place.map_or(u64::MAX, SlowOperations::above_ns),
            ops: place.map(numbers).unwrap_or_default(),
            thread_id: 0,
        }
    }

    #[inline]
    pub(crate) fn record(&mut self, op: usize, operation: &Operation) {
        if operation.end_ns - operation.start_ns > self.above_ns {
            self.write(op, operation);
        }
    }

    /// The thread is asked for its number here, as benches are made on another one.
    #[cold]
    fn write(&mut self, op: usize, operation: &Operation) {
        let (Some(place), Some(op)) = (PLACE.get(), self.ops.get(op)) else { return };
        if self.thread_id == 0 {
            self.thread_id = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        }
        place.push(&SlowOperation {
            op: *op,
            thread_id: self.thread_id,
            start_ns: operation.start_ns,
            end_ns: operation.end_ns,
            offset_bytes: operation.offset_bytes,
        });
    }
}
