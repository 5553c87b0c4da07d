//! The keeper: takes full seconds from the measuring thread, on a thread of its own,
//! so that nothing is merged, encoded or freed where laps are timed.
//!
//! Its memory grows by one encoded histogram (about 2 kB) per second and operation.

use std::{sync::Arc, time::Duration};

use crossbeam_queue::ArrayQueue;
use hdrhistogram::{
    Histogram,
    serialization::{
        V2DeflateSerializer,
        interval_log::{IntervalLogWriterBuilder, Tag},
    },
};

use crate::{
    recorder::{Lap, LapTail, RecorderOptions, Second},
    summary::{Exact, Summary, histogram},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SecondRow {
    pub second: u32,
    pub count: u64,
    pub service_min_ns: u64,
    pub service_p50_ns: u64,
    pub service_max_ns: u64,
    /// Largest response time; 0 in a closed loop.
    pub response_max_ns: u64,
}

#[derive(Debug, Clone, Default)]
pub struct OpLaps {
    pub op: String,
    /// End minus start.
    pub service: Summary,
    /// Response without the driver's stalls; `None` in a closed loop.
    pub response: Option<Summary>,
    /// Response with the driver's stalls: end minus due.
    pub raw: Option<Summary>,
    pub seconds: Vec<SecondRow>,
    pub spikes: Vec<Lap>,
    /// HdrHistogram interval log, tags `service` and `response`; times in the log are
    /// seconds since the measurement began, its maximum column is milliseconds.
    pub interval_log: String,
}

struct OpTotal {
    name: String,
    service: Histogram<u64>,
    response: Option<Histogram<u64>>,
    raw: Option<Histogram<u64>>,
    service_exact: Exact,
    response_exact: Exact,
    raw_exact: Exact,
    rows: Vec<SecondRow>,
    lines: Vec<u8>,
}

pub struct IntervalKeeper {
    full: Arc<ArrayQueue<Box<Second>>>,
    spares: Vec<Arc<ArrayQueue<Box<Second>>>>,
    totals: Vec<OpTotal>,
    quantiles: Vec<f64>,
    serializer: V2DeflateSerializer,
}

impl IntervalKeeper {
    pub(crate) fn new(
        options: &RecorderOptions,
        full: Arc<ArrayQueue<Box<Second>>>,
        spares: Vec<Arc<ArrayQueue<Box<Second>>>>,
    ) -> Self {
        let none = Exact { min_ns: u64::MAX, ..Exact::default() };
        let total = |name: &String| OpTotal {
            name: name.clone(),
            service: histogram(),
            response: options.responses.then(histogram),
            raw: options.responses.then(histogram),
            service_exact: none,
            response_exact: none,
            raw_exact: none,
            rows: Vec::new(),
            lines: Vec::new(),
        };
        IntervalKeeper {
            full,
            spares,
            totals: options.ops.iter().map(total).collect(),
            quantiles: options.quantiles.clone(),
            serializer: V2DeflateSerializer::new(),
        }
    }

    /// Takes every second that is waiting; call it a few times a second.
    pub fn drain(&mut self) {
        while let Some(mut second) = self.full.pop() {
            let op = second.op;
            self.totals[op].take(&second, &mut self.serializer);
            second.clear();
            let _ = self.spares[op].push(second);
        }
    }

    /// The measurement has ended: all laps of each operation, in the order of the options.
    pub fn finish(mut self, tail: LapTail) -> Vec<OpLaps> {
        self.drain();
        let quantiles = &self.quantiles;
        let parts = tail.episodes.into_iter().zip(tail.spikes);
        self.totals
            .into_iter()
            .zip(parts)
            .map(|(total, ([service, response, raw], spikes))| OpLaps {
                service: Summary::of(&total.service, total.service_exact, &service, quantiles),
                response: total
                    .response
                    .as_ref()
                    .map(|laps| Summary::of(laps, total.response_exact, &response, quantiles)),
                raw: total
                    .raw
                    .as_ref()
                    .map(|laps| Summary::of(laps, total.raw_exact, &raw, quantiles)),
                op: total.name,
                seconds: total.rows,
                spikes,
                interval_log: String::from_utf8_lossy(&total.lines).into_owned(),
            })
            .collect()
    }
}

impl OpTotal {
    fn take(&mut self, second: &Second, serializer: &mut V2DeflateSerializer) {
        self.service.add(&second.service).expect("histograms of one kind add");
        add(&mut self.service_exact, second.service_exact);
        add(&mut self.response_exact, second.response_exact);
        add(&mut self.raw_exact, second.raw_exact);
        let kinds = [(&mut self.response, &second.response), (&mut self.raw, &second.raw)];
        for (total, laps) in kinds {
            if let (Some(total), Some(laps)) = (total, laps) {
                total.add(laps).expect("histograms of one kind add");
            }
        }
        self.rows.push(SecondRow {
            second: second.second,
            count: second.service.len(),
            service_min_ns: second.service_exact.min_ns,
            service_p50_ns: second.service.value_at_quantile(0.5),
            service_max_ns: second.service_exact.max_ns,
            response_max_ns: second.response_exact.max_ns,
        });
        self.write_lines(second, serializer);
    }

    fn write_lines(&mut self, second: &Second, serializer: &mut V2DeflateSerializer) {
        let first = self.lines.is_empty();
        let mut log = Vec::new();
        let mut writer = IntervalLogWriterBuilder::new()
            .with_max_value_divisor(1e6)
            .begin_log_with(&mut log, serializer)
            .expect("writing to memory does not fail");
        let start = Duration::from_secs(u64::from(second.second));
        let tagged = [("service", Some(&second.service)), ("response", second.response.as_ref())];
        for (tag, laps) in tagged {
            if let Some(laps) = laps.filter(|laps| !laps.is_empty()) {
                let _ = writer.write_histogram(laps, start, Duration::from_secs(1), Tag::new(tag));
            }
        }
        append_lines(&mut self.lines, &log, first);
    }
}

fn append_lines(lines: &mut Vec<u8>, log: &[u8], with_comments: bool) {
    for line in log.split_inclusive(|byte| *byte == b'\n') {
        if with_comments || !line.starts_with(b"#") {
            lines.extend_from_slice(line);
        }
    }
}

fn add(total: &mut Exact, part: Exact) {
    total.sum_ns += part.sum_ns;
    total.min_ns = total.min_ns.min(part.min_ns);
    total.max_ns = total.max_ns.max(part.max_ns);
    total.overflow += part.overflow;
}

#[cfg(test)]
mod tests {
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    use super::*;
    use crate::{
        Clock, OpIndex, SimClock, Turnstile,
        recorder::{RecorderOptions, recorder},
        summary::LONGEST_NS,
    };

    fn options(responses: bool) -> RecorderOptions {
        RecorderOptions {
            ops: vec!["append".into(), "sync".into()],
            responses,
            spikes_max: 3,
            quantiles: vec![0.5, 0.99],
        }
    }

    /// 1,000 turns a second for `seconds`; every hundredth takes 3.5 ms, the others 2 us.
    fn simulate(seconds: u64, drain_each: u64) -> (Vec<OpLaps>, u64) {
        let clock = SimClock::default();
        let (mut laps, mut keeper) = recorder(&options(true));
        let mut turnstile = Turnstile::default();
        laps.begin(0);
        for turn in 0..seconds * 1_000 {
            let due_ns = turn * 1_000_000;
            clock.wait_until(due_ns, 0);
            let start_ns = clock.now_ns();
            turnstile.begin(due_ns, start_ns);
            clock.advance(if turn % 100 == 49 { 3_500_000 } else { 2_000 });
            let end_ns = clock.now_ns();
            let lap = Lap { due_ns, start_ns, end_ns, offset_bytes: turn * 256 };
            laps.lap(OpIndex(0), lap, Some(turnstile.response_ns(end_ns)));
            turnstile.end(end_ns);
            if turn % drain_each == 0 {
                keeper.drain();
            }
        }
        let tail = laps.finish();
        let merged = tail.merged_seconds;
        (keeper.finish(tail), merged)
    }

    #[test]
    fn a_scripted_schedule_is_recorded_to_the_nanosecond() {
        let (ops, merged) = simulate(5, 100);
        let append = &ops[0];
        assert_eq!((append.op.as_str(), append.service.count, merged), ("append", 5_000, 0));
        assert_eq!((append.service.min_ns, append.service.max_ns), (2_000, 3_500_000));
        assert_eq!(append.service.mean_ns, (4_950.0 * 2_000.0 + 50.0 * 3_500_000.0) / 5_000.0);
        assert_eq!(
            append.seconds.iter().map(|row| row.second).collect::<Vec<_>>(),
            [0, 1, 2, 3, 4]
        );
        let response = append.response.as_ref().expect("an open loop");
        assert_eq!(response.max_ns, 3_500_000);
        assert_eq!(append.service.quantiles[0].episodes, 50);
        assert_eq!(append.spikes.len(), 3);
        assert_eq!(append.spikes[0].end_ns - append.spikes[0].start_ns, 3_500_000);
        assert_eq!(ops[1].service.count, 0);
    }

    #[test]
    fn a_keeper_that_sleeps_loses_no_lap() {
        let (ops, merged) = simulate(20, u64::MAX);
        assert_eq!(ops[0].service.count, 20_000);
        assert!(merged > 0);
    }

    #[test]
    fn memory_of_an_hour_stays_small() {
        let (ops, _) = simulate(3_600, 500);
        let log_bytes = ops[0].interval_log.len();
        assert_eq!(ops[0].seconds.len(), 3_600);
        assert!(log_bytes < 16 << 20, "{log_bytes} bytes of log for an hour");
    }

    #[test]
    fn the_log_is_read_back_by_hdrhistograms_own_reader() {
        let (ops, _) = simulate(3, 100);
        let log = ops[0].interval_log.as_bytes();
        let entries: Vec<_> = IntervalLogIterator::new(log).map(|e| e.expect("legal")).collect();
        let tags: Vec<_> = entries
            .iter()
            .filter_map(|entry| match entry {
                LogEntry::Interval(interval) => interval.tag().map(|tag| tag.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(tags, ["service", "response"].repeat(3));
    }

    #[test]
    fn laps_beyond_a_minute_are_counted_at_the_edge() {
        let (mut laps, keeper) = recorder(&options(false));
        laps.begin(0);
        let lap = Lap { end_ns: LONGEST_NS + 5, ..Lap::default() };
        laps.lap(OpIndex(1), lap, None);
        let ops = keeper.finish(laps.finish());
        assert_eq!((ops[1].service.overflow, ops[1].service.max_ns), (1, LONGEST_NS + 5));
        assert!(ops[1].response.is_none());
    }
}
