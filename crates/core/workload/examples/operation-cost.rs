//! What one operation costs: `cargo run --release -p pickfs-workload --example operation-cost`.
//!
//! An operation needs two readings of the clock. Everything above them is the loop's, and the aim is 60 ns
//! or less. Variants are interleaved and the median of the rounds is printed, so that a busy machine
//! moves all rows alike; compare the ratios.

use std::hint::black_box;

use pickfs_record::{Arrival, Clock, MonotonicClock, OpIndex, RecorderOptions, SimClock, recorder};
use pickfs_workload::{Bench, Due, Fault, Nothing, Pace, Span, Work, drive};

const ROUNDS: usize = 15;
const ROUND_NS: u64 = 60_000_000;
const READS: u64 = 500_000;

fn clock_ns(clock: &MonotonicClock) -> f64 {
    let began_ns = clock.now_ns();
    for _ in 0..READS {
        black_box(clock.now_ns());
    }
    (clock.now_ns() - began_ns) as f64 / READS as f64
}

fn arrival_ns<W: Work>(work: &mut W, arrival: Arrival) -> f64 {
    let mut pace = Pace::new(arrival, 1, u64::MAX);
    let (operations, _keeper) = recorder(&RecorderOptions {
        ops: vec!["null".into()],
        responses: pace.is_open(),
        spikes_max: 20,
    });
    let mut bench = Bench::new(operations, pace.is_open(), None);
    let span = Span { drain_ns: 0, ..Span::time(ROUND_NS) };
    let driven = drive(&MonotonicClock, work, &mut pace, &mut bench, span).expect("no fault");
    driven.measured_ns as f64 / driven.arrivals as f64
}

/// Keeps no operation: the loop and its two readings alone.
struct Unrecorded;

impl Work for Unrecorded {
    #[inline]
    fn run<C: Clock>(&mut self, clock: &C, _: &Due, _: &mut Bench) -> Result<u64, Fault> {
        Ok(clock.now_ns())
    }
}

fn record_ns(clock: &MonotonicClock) -> f64 {
    let (mut operations, _keeper) =
        recorder(&RecorderOptions { ops: vec!["null".into()], responses: false, spikes_max: 20 });
    operations.begin(0);
    let script = SimClock::default();
    let began_ns = clock.now_ns();
    for arrival in 0..READS {
        let start_ns = script.now_ns();
        script.advance(30 + (arrival & 15));
        let operation =
            pickfs_record::Operation { start_ns, end_ns: script.now_ns(), ..Default::default() };
        operations.record(OpIndex(0), black_box(operation), None);
    }
    (clock.now_ns() - began_ns) as f64 / READS as f64
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let clock = MonotonicClock;
    let closed = || Arrival::Closed { pause_ns: 0 };
    let mut rows: [Vec<f64>; 5] = Default::default();
    for _ in 0..ROUNDS {
        rows[0].push(2.0 * clock_ns(&clock));
        rows[1].push(arrival_ns(&mut Unrecorded, closed()));
        rows[2].push(arrival_ns(&mut Nothing, closed()));
        rows[3].push(arrival_ns(&mut Nothing, Arrival::Fixed { rate_per_s: 1e9 }));
        rows[4].push(record_ns(&clock));
    }
    let names = [
        "two clock readings",
        "arrival without an operation, closed loop",
        "arrival with its operation, closed loop",
        "arrival with its operation and response, always late",
        "recorder alone",
    ];
    let medians = rows.map(median);
    println!("{:<46} {:>8} {:>12} {:>8}", "", "ns", "above reads", "ratio");
    for (name, ns) in names.iter().zip(medians) {
        let above_ns = ns - medians[0];
        println!("{name:<46} {ns:>8.1} {above_ns:>12.1} {:>8.2}", ns / medians[0]);
    }
}
