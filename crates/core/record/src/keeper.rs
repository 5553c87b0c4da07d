//! The keeper: takes full seconds from the measuring thread, on a thread of its own,
//! so that nothing is merged, encoded or freed where operations are timed.
//!
//! Its memory grows by one encoded histogram (about 2 kB) per second and operation.

use std::sync::Arc;

use crossbeam_queue::ArrayQueue;

use crate::{
    episode::EpisodeCounter,
    merge::IntervalLog,
    record::{OpRecord, Second, Times},
    recorder::{FullSecond, OperationTail, RecorderOptions},
    times::Track,
};

pub(crate) struct OpTotal {
    name: String,
    service: Track,
    /// Without the driver's stalls, and with them.
    responses: Option<[Track; 2]>,
    rows: Vec<Second>,
    log: IntervalLog,
}

pub struct IntervalKeeper {
    full: Arc<ArrayQueue<Box<FullSecond>>>,
    spares: Vec<Arc<ArrayQueue<Box<FullSecond>>>>,
    totals: Vec<OpTotal>,
}

impl IntervalKeeper {
    pub(crate) fn new(
        options: &RecorderOptions,
        full: Arc<ArrayQueue<Box<FullSecond>>>,
        spares: Vec<Arc<ArrayQueue<Box<FullSecond>>>>,
    ) -> Self {
        let total = |name: &String| OpTotal::new(name, options.responses);
        IntervalKeeper { full, spares, totals: options.ops.iter().map(total).collect() }
    }

    /// Takes every second that is waiting; call it a few times a second.
    pub fn drain(&mut self) {
        while let Some(mut second) = self.full.pop() {
            let op = second.op;
            self.totals[op].take(&second);
            second.clear();
            let _ = self.spares[op].push(second);
        }
    }

    /// The measurement has ended: all times of each operation, in the order of the options.
    pub fn finish(mut self, tail: OperationTail) -> Vec<OpRecord> {
        self.drain();
        let tails = tail.episodes.into_iter().zip(tail.spikes);
        let op = |(total, (episodes, spikes)): (OpTotal, ([EpisodeCounter; 3], _))| {
            let responses = match &total.responses {
                Some([own, with_stalls]) => {
                    [own.times(&episodes[1]), with_stalls.times(&episodes[2])]
                        .map(|times| Some(times).filter(|times| times.count > 0))
                }
                None => [None, None],
            };
            let service = total.service.times(&episodes[0]);
            OpRecord { spikes, ..total.record(service, responses) }
        };
        self.totals.into_iter().zip(tails).map(op).collect()
    }
}

impl OpTotal {
    pub(crate) fn new(name: &str, has_responses: bool) -> OpTotal {
        OpTotal {
            name: name.into(),
            service: Track::default(),
            responses: has_responses.then(Default::default),
            rows: Vec::new(),
            log: IntervalLog::default(),
        }
    }

    /// With these times and no spikes.
    pub(crate) fn record(self, service: Times, responses: [Option<Times>; 2]) -> OpRecord {
        let [response, raw_response] = responses;
        OpRecord {
            op: self.name,
            service,
            response,
            raw_response,
            intervals: self.rows,
            spikes: Vec::new(),
            interval_log: self.log.text,
        }
    }

    pub(crate) fn take(&mut self, second: &FullSecond) {
        const ONE_KIND: &str = "histograms of one kind add";
        self.service.add(&second.service).expect(ONE_KIND);
        let responses = self.responses.iter_mut().flatten();
        for (total, operations) in responses.zip(second.responses.iter().flatten()) {
            total.add(operations).expect(ONE_KIND);
        }
        let response = second.responses.as_ref().map(|[response, _]| response);
        self.rows.push(Second {
            second: second.second,
            count: second.service.operations.len(),
            service_min_ns: second.service.min_ns,
            service_p50_ns: second.service.operations.value_at_quantile(0.5),
            service_max_ns: second.service.max_ns,
            response_max_ns: response.map_or(0, |response| response.max_ns),
        });
        self.log.add(
            second.second,
            &second.service.operations,
            response.map(|track| &track.operations),
        );
    }
}

#[cfg(test)]
mod tests {
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    use super::*;
    use crate::{Clock, Lindley, OpIndex, Operation, SimClock, recorder, times::LONGEST_NS};

    fn options(responses: bool) -> RecorderOptions {
        RecorderOptions { ops: vec!["append".into(), "sync".into()], responses, spikes_max: 3 }
    }

    /// 1,000 arrivals a second for `seconds`; every hundredth takes 3.5 ms, the others 2 us.
    fn simulate(seconds: u64, drain_each: u64) -> (Vec<OpRecord>, u64) {
        let clock = SimClock::default();
        let (mut operations, mut keeper) = recorder(&options(true));
        let mut lindley = Lindley::default();
        operations.begin(0);
        for arrival in 0..seconds * 1_000 {
            let due_ns = arrival * 1_000_000;
            clock.wait_until(due_ns, 0);
            let start_ns = clock.now_ns();
            lindley.begin(due_ns, start_ns);
            clock.advance(if arrival % 100 == 49 { 3_500_000 } else { 2_000 });
            let end_ns = clock.now_ns();
            let operation = Operation { due_ns, start_ns, end_ns, offset_bytes: arrival * 256 };
            operations.record(OpIndex(0), operation, Some(lindley.response_ns(end_ns)));
            lindley.end(end_ns);
            if arrival % drain_each == 0 {
                keeper.drain();
            }
        }
        let tail = operations.finish();
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
            append.intervals.iter().map(|row| row.second).collect::<Vec<_>>(),
            [0, 1, 2, 3, 4]
        );
        let response = append.response.as_ref().expect("an open loop");
        assert_eq!(response.max_ns, 3_500_000);
        assert_eq!(append.service.quantile(0.5).expect("recorded").episodes, 50);
        assert_eq!(append.spikes.len(), 3);
        assert_eq!(append.spikes[0].end_ns - append.spikes[0].start_ns, 3_500_000);
        assert_eq!(ops[1].service.count, 0);
    }

    #[test]
    fn a_keeper_that_sleeps_loses_no_operation() {
        let (ops, merged) = simulate(20, u64::MAX);
        assert_eq!(ops[0].service.count, 20_000);
        assert!(merged > 0);
    }

    #[test]
    fn memory_of_an_hour_stays_small() {
        let (ops, _) = simulate(3_600, 500);
        let log_bytes = ops[0].interval_log.len();
        assert_eq!(ops[0].intervals.len(), 3_600);
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
    fn operations_beyond_a_minute_are_counted_at_the_edge() {
        let (mut operations, keeper) = recorder(&options(false));
        operations.begin(0);
        let operation = Operation { end_ns: LONGEST_NS + 5, ..Operation::default() };
        operations.record(OpIndex(1), operation, None);
        let ops = keeper.finish(operations.finish());
        assert_eq!((ops[1].service.overflow, ops[1].service.max_ns), (1, LONGEST_NS + 5));
        assert!(ops[1].response.is_none());
    }
}
