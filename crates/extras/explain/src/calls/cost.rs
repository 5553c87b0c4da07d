//! What tracing adds to a call on this machine, measured by tracing ourselves for some milliseconds.

use std::{fs::File, thread};

use crate::kernel::perf_event::PerfEvent;
use pickfs_record::{Clock, MonotonicClock};

use super::tracer::CallTracer;

/// Rounds without and with tracing, in turns; of each kind the fastest counts.
const ROUNDS: usize = 20;
const CALLS: u32 = 400;

/// 0 where that could not be measured.
pub fn cost_of_call_ns(tracer: &mut CallTracer) -> f64 {
    // On a thread that ends: nothing of it is left for those whom the caller starts.
    let measured = thread::scope(|scope| scope.spawn(|| measured(tracer)).join().ok().flatten());
    tracer.forget();
    measured.unwrap_or(0.0)
}

fn measured(tracer: &mut CallTracer) -> Option<f64> {
    let file = File::open("/proc/self").ok()?;
    let own = tracer.of_myself().ok()?;
    let (mut bare, mut traced) = (f64::MAX, f64::MAX);
    for _ in 0..ROUNDS {
        bare = bare.min(call_ns(&file));
        own.iter().try_for_each(PerfEvent::enable).ok()?;
        traced = traced.min(call_ns(&file));
        own.iter().try_for_each(PerfEvent::disable).ok()?;
        tracer.forget();
    }
    Some((traced - bare).max(0.0))
}

fn call_ns(file: &File) -> f64 {
    let start_ns = MonotonicClock.now_ns();
    for _ in 0..CALLS {
        let _ = rustix::fs::fstat(file);
    }
    (MonotonicClock.now_ns() - start_ns) as f64 / f64::from(CALLS)
}
