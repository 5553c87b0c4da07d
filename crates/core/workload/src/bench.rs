//! No lock, no allocation, no system call.

use std::sync::Arc;

use pickfs_record::{Lateness, Lindley, OpIndex, Operation, Recorder};
use pickfs_sys::live_page::{LiveCounter, LivePage};

use crate::{drive::Due, slow::SlowPen};

/// Looked at while a measurement runs, never reported.
pub trait LiveOperations: Send + Sync {
    fn show(&self, arrivals: u64, latency_ns: u64, now_ns: u64);
}

impl LiveOperations for LivePage {
    #[inline]
    fn show(&self, arrivals: u64, latency_ns: u64, now_ns: u64) {
        self.set(LiveCounter::OperationsDone, arrivals);
        self.set(LiveCounter::SeenAtNs, now_ns);
        // A look in between may lose this maximum to the display; nothing else depends on it.
        if latency_ns > self.get(LiveCounter::LatencyNsMax) {
            self.set(LiveCounter::LatencyNsMax, latency_ns);
        }
    }
}

/// How far arrivals began from when they were due, over all causes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimingError {
    pub sum_ns: u64,
    pub max_ns: u64,
}

pub struct Bench {
    operations: Recorder,
    slow: SlowPen,
    lindley: Lindley,
    live: Option<Arc<dyn LiveOperations>>,
    is_open: bool,
    due_ns: u64,
    arrivals: u64,
    timing_error: TimingError,
}

impl Bench {
    pub fn new(operations: Recorder, is_open: bool, live: Option<Arc<dyn LiveOperations>>) -> Self {
        Bench {
            operations,
            slow: SlowPen::default(),
            lindley: Lindley::default(),
            live,
            is_open,
            due_ns: 0,
            arrivals: 0,
            timing_error: TimingError::default(),
        }
    }

    /// Slow operations are told to the lab, if it asked, under these names of the operations.
    pub fn telling_slow(self, ops: &[String]) -> Self {
        Bench { slow: SlowPen::new(ops), ..self }
    }

    pub fn open(&mut self, began_ns: u64) {
        self.operations.begin(began_ns);
    }

    #[inline]
    pub fn begin(&mut self, arrival: &Due) {
        self.due_ns = arrival.due_ns;
        if self.is_open {
            self.lindley.begin(arrival.due_ns, arrival.start_ns);
            let error_ns = arrival.start_ns - arrival.due_ns;
            self.timing_error.sum_ns += error_ns;
            self.timing_error.max_ns = self.timing_error.max_ns.max(error_ns);
        }
    }

    #[inline]
    pub fn end(&mut self, arrival: &Due, end_ns: u64) {
        self.arrivals += 1;
        if self.is_open {
            self.lindley.end(end_ns);
        }
        if let Some(live) = &self.live {
            live.show(self.arrivals, end_ns - arrival.start_ns, end_ns);
        }
    }

    /// Keeps an operation that this arrival was waiting for: it has a response time in an open loop.
    #[inline]
    pub fn record(&mut self, op: OpIndex, start_ns: u64, end_ns: u64, offset_bytes: u64) {
        let response_ns = self.is_open.then(|| self.lindley.response_ns(end_ns));
        let operation = Operation { due_ns: self.due_ns, start_ns, end_ns, offset_bytes };
        self.keep(op, operation, response_ns);
    }

    #[inline]
    fn keep(&mut self, op: OpIndex, operation: Operation, response_ns: Option<u64>) {
        self.operations.record(op, operation, response_ns);
        self.slow.record(op.0, &operation);
    }

    /// When the present arrival was due on the line without the driver's own stalls: what passes from then to an
    /// end is a response time. `start_ns` is the arrival's.
    #[inline]
    pub fn origin_ns(&self, start_ns: u64) -> u64 {
        match self.is_open {
            true => start_ns - self.lindley.response_ns(start_ns).min(start_ns),
            false => start_ns,
        }
    }

    /// So many arrivals that were due and never began: responses of at least what they had waited at `now_ns`, of each
    /// operation that all of the `arrivals` before them had.
    #[cold]
    pub fn missed(&mut self, due_ns: u64, now_ns: u64, arrivals: u64, times: u64) {
        self.operations.missed(now_ns - due_ns, arrivals, times);
    }

    /// Keeps an operation that another thread began at `start_ns`, with its response time since `origin_ns`.
    #[inline]
    pub fn operation_since(&mut self, op: OpIndex, origin_ns: u64, start_ns: u64, end_ns: u64) {
        let operation = Operation { due_ns: origin_ns, start_ns, end_ns, offset_bytes: 0 };
        self.operations.record(op, operation, Some(end_ns.saturating_sub(origin_ns)));
    }

    /// Keeps an operation that nobody has a due time for: service time only.
    #[inline]
    pub fn operation_alone(&mut self, op: OpIndex, start_ns: u64, end_ns: u64, offset_bytes: u64) {
        self.keep(op, Operation { due_ns: start_ns, start_ns, end_ns, offset_bytes }, None);
    }

    /// Keeps an operation that began in an earlier arrival and ended in this one, at `end_ns`.
    ///
    /// Its end on the line without the driver's stalls is that of the present arrival.
    #[inline]
    pub fn operation_of(&mut self, op: OpIndex, earlier: &Due, end_ns: u64, offset_bytes: u64) {
        let response_ns =
            self.is_open.then(|| self.due_ns + self.lindley.response_ns(end_ns) - earlier.due_ns);
        let (due_ns, start_ns) = (earlier.due_ns, earlier.start_ns);
        self.keep(op, Operation { due_ns, start_ns, end_ns, offset_bytes }, response_ns);
    }

    pub fn arrivals(&self) -> u64 {
        self.arrivals
    }

    pub fn lateness(&self) -> Lateness {
        self.lindley.lateness()
    }

    pub fn timing_error(&self) -> TimingError {
        self.timing_error
    }

    pub fn into_recorder(self) -> Recorder {
        self.operations
    }
}
