//! No lock, no allocation, no system call.

use std::sync::Arc;

use pickfs_record::{LapRecorder, Lateness, OpIndex, Operation, Turnstile};
use pickfs_sys::live_page::{LiveCounter, LivePage};

use crate::{drive::Turn, slow::SlowPen};

/// Looked at while a measurement runs, never reported.
pub trait LiveLaps: Send + Sync {
    fn show(&self, turns: u64, latency_ns: u64, now_ns: u64);
}

impl LiveLaps for LivePage {
    #[inline]
    fn show(&self, turns: u64, latency_ns: u64, now_ns: u64) {
        self.set(LiveCounter::LapsDone, turns);
        self.set(LiveCounter::SeenAtNs, now_ns);
        // A look in between may lose this maximum to the display; nothing else depends on it.
        if latency_ns > self.get(LiveCounter::LatencyNsMax) {
            self.set(LiveCounter::LatencyNsMax, latency_ns);
        }
    }
}

/// How far turns began from when they were due, over all causes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimingError {
    pub sum_ns: u64,
    pub max_ns: u64,
}

pub struct Bench {
    laps: LapRecorder,
    slow: SlowPen,
    turnstile: Turnstile,
    live: Option<Arc<dyn LiveLaps>>,
    is_open: bool,
    due_ns: u64,
    turns: u64,
    timing_error: TimingError,
}

impl Bench {
    pub fn new(laps: LapRecorder, is_open: bool, live: Option<Arc<dyn LiveLaps>>) -> Self {
        Bench {
            laps,
            slow: SlowPen::default(),
            turnstile: Turnstile::default(),
            live,
            is_open,
            due_ns: 0,
            turns: 0,
            timing_error: TimingError::default(),
        }
    }

    /// Slow laps are told to the lab, if it asked, under these names of the operations.
    pub fn telling_slow(self, ops: &[String]) -> Self {
        Bench { slow: SlowPen::new(ops), ..self }
    }

    pub fn open(&mut self, began_ns: u64) {
        self.laps.begin(began_ns);
    }

    #[inline]
    pub fn begin(&mut self, turn: &Turn) {
        self.due_ns = turn.due_ns;
        if self.is_open {
            self.turnstile.begin(turn.due_ns, turn.start_ns);
            let error_ns = turn.start_ns - turn.due_ns;
            self.timing_error.sum_ns += error_ns;
            self.timing_error.max_ns = self.timing_error.max_ns.max(error_ns);
        }
    }

    #[inline]
    pub fn end(&mut self, turn: &Turn, end_ns: u64) {
        self.turns += 1;
        if self.is_open {
            self.turnstile.end(end_ns);
        }
        if let Some(live) = &self.live {
            live.show(self.turns, end_ns - turn.start_ns, end_ns);
        }
    }

    /// Keeps an operation that this turn was waiting for: it has a response time in an open loop.
    #[inline]
    pub fn lap(&mut self, op: OpIndex, start_ns: u64, end_ns: u64, offset_bytes: u64) {
        let response_ns = self.is_open.then(|| self.turnstile.response_ns(end_ns));
        let lap = Operation { due_ns: self.due_ns, start_ns, end_ns, offset_bytes };
        self.keep(op, lap, response_ns);
    }

    #[inline]
    fn keep(&mut self, op: OpIndex, lap: Operation, response_ns: Option<u64>) {
        self.laps.lap(op, lap, response_ns);
        self.slow.lap(op.0, &lap);
    }

    /// When the present turn was due on the line without the driver's own stalls: what passes from then to an
    /// end is a response time. `start_ns` is the turn's.
    #[inline]
    pub fn origin_ns(&self, start_ns: u64) -> u64 {
        match self.is_open {
            true => start_ns - self.turnstile.response_ns(start_ns).min(start_ns),
            false => start_ns,
        }
    }

    /// So many turns that were due and never began: responses of at least what they had waited at `now_ns`, of each
    /// operation that all of the `turns` before them had.
    #[cold]
    pub fn missed(&mut self, due_ns: u64, now_ns: u64, turns: u64, times: u64) {
        self.laps.missed(now_ns - due_ns, turns, times);
    }

    /// Keeps an operation that another thread began at `start_ns`, with its response time since `origin_ns`.
    #[inline]
    pub fn lap_since(&mut self, op: OpIndex, origin_ns: u64, start_ns: u64, end_ns: u64) {
        let lap = Operation { due_ns: origin_ns, start_ns, end_ns, offset_bytes: 0 };
        self.laps.lap(op, lap, Some(end_ns.saturating_sub(origin_ns)));
    }

    /// Keeps an operation that nobody has a due time for: service time only.
    #[inline]
    pub fn lap_alone(&mut self, op: OpIndex, start_ns: u64, end_ns: u64, offset_bytes: u64) {
        self.keep(op, Operation { due_ns: start_ns, start_ns, end_ns, offset_bytes }, None);
    }

    /// Keeps an operation that began in an earlier turn and ended in this one, at `end_ns`.
    ///
    /// Its end on the line without the driver's stalls is that of the present turn.
    #[inline]
    pub fn lap_of(&mut self, op: OpIndex, earlier: &Turn, end_ns: u64, offset_bytes: u64) {
        let response_ns =
            self.is_open.then(|| self.due_ns + self.turnstile.response_ns(end_ns) - earlier.due_ns);
        let (due_ns, start_ns) = (earlier.due_ns, earlier.start_ns);
        self.keep(op, Operation { due_ns, start_ns, end_ns, offset_bytes }, response_ns);
    }

    pub fn turns(&self) -> u64 {
        self.turns
    }

    pub fn lateness(&self) -> Lateness {
        self.turnstile.lateness()
    }

    pub fn timing_error(&self) -> TimingError {
        self.timing_error
    }

    pub fn into_recorder(self) -> LapRecorder {
        self.laps
    }
}
