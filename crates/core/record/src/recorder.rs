use std::sync::Arc;

use crossbeam_queue::ArrayQueue;
use hdrhistogram::Histogram;

use crate::{
    episode::EpisodeCounter,
    keeper::IntervalKeeper,
    summary::{Exact, LONGEST_NS, histogram},
};

/// Which operation a lap belongs to: its place in the list given to [`recorder`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpIndex(pub usize);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lap {
    /// When it was due; equal to `start_ns` in a closed loop.
    pub due_ns: u64,
    pub start_ns: u64,
    pub end_ns: u64,
    /// Where in the file, or 0.
    pub offset_bytes: u64,
}

#[derive(Debug, Clone)]
pub struct RecorderOptions {
    pub ops: Vec<String>,
    /// Whether a schedule exists, and so a response time.
    pub responses: bool,
    /// Worst laps kept per operation.
    pub spikes_max: usize,
    pub quantiles: Vec<f64>,
}

pub(crate) struct Second {
    pub(crate) op: usize,
    pub(crate) second: u32,
    pub(crate) service: Histogram<u64>,
    pub(crate) response: Option<Histogram<u64>>,
    pub(crate) raw: Option<Histogram<u64>>,
    pub(crate) service_exact: Exact,
    pub(crate) response_exact: Exact,
    pub(crate) raw_exact: Exact,
}

impl Second {
    pub(crate) fn empty(op: usize, responses: bool) -> Box<Second> {
        let none = Exact { min_ns: u64::MAX, ..Exact::default() };
        Box::new(Second {
            op,
            second: 0,
            service: prefaulted(),
            response: responses.then(prefaulted),
            raw: responses.then(prefaulted),
            service_exact: none,
            response_exact: none,
            raw_exact: none,
        })
    }

    pub(crate) fn clear(&mut self) {
        self.service.reset();
        self.response.iter_mut().chain(&mut self.raw).for_each(Histogram::reset);
        self.service_exact = Exact { min_ns: u64::MAX, ..Exact::default() };
        self.response_exact = self.service_exact;
        self.raw_exact = self.service_exact;
    }
}

/// A histogram whose pages have been written, so that a lap never faults one in.
fn prefaulted() -> Histogram<u64> {
    let mut touched = histogram();
    let mut value_ns = 1;
    while value_ns < LONGEST_NS {
        touched.saturating_record(value_ns);
        value_ns += (value_ns / 512).max(1);
    }
    touched.reset();
    touched
}

struct Slot {
    current: Box<Second>,
    spares: Arc<ArrayQueue<Box<Second>>>,
    service_episodes: EpisodeCounter,
    response_episodes: EpisodeCounter,
    raw_episodes: EpisodeCounter,
    responses: u64,
    spikes: Vec<Lap>,
    spike_floor_ns: u64,
}

pub struct LapRecorder {
    slots: Vec<Slot>,
    full: Arc<ArrayQueue<Box<Second>>>,
    spikes_max: usize,
    began_ns: u64,
    second: u32,
    second_end_ns: u64,
    merged_seconds: u64,
}

pub struct LapTail {
    /// Of service, response and raw response.
    pub(crate) episodes: Vec<[EpisodeCounter; 3]>,
    pub(crate) spikes: Vec<Vec<Lap>>,
    /// Seconds that could not be handed over in time and went into the next one.
    pub merged_seconds: u64,
}

const SPARES: usize = 3;
const SECOND_NS: u64 = 1_000_000_000;

pub fn recorder(options: &RecorderOptions) -> (LapRecorder, IntervalKeeper) {
    let full = Arc::new(ArrayQueue::new((SPARES + 1) * options.ops.len().max(1)));
    let slot = |op: usize| {
        let spares = Arc::new(ArrayQueue::new(SPARES + 1));
        for _ in 0..SPARES {
            let _ = spares.push(Second::empty(op, options.responses));
        }
        Slot {
            current: Second::empty(op, options.responses),
            spares,
            service_episodes: EpisodeCounter::default(),
            response_episodes: EpisodeCounter::default(),
            raw_episodes: EpisodeCounter::default(),
            responses: 0,
            spikes: Vec::with_capacity(options.spikes_max + 1),
            spike_floor_ns: 0,
        }
    };
    let slots: Vec<Slot> = (0..options.ops.len()).map(slot).collect();
    let spares = slots.iter().map(|slot| Arc::clone(&slot.spares)).collect();
    let keeper = IntervalKeeper::new(options, Arc::clone(&full), spares);
    let laps = LapRecorder {
        slots,
        full,
        spikes_max: options.spikes_max,
        began_ns: 0,
        second: 0,
        second_end_ns: 0,
        merged_seconds: 0,
    };
    (laps, keeper)
}

impl LapRecorder {
    pub fn begin(&mut self, began_ns: u64) {
        self.began_ns = began_ns;
        self.second = 0;
        self.second_end_ns = began_ns + SECOND_NS;
    }

    /// `response_ns` is that of [`crate::Turnstile`]; `None` in a closed loop.
    #[inline]
    pub fn lap(&mut self, op: OpIndex, lap: Lap, response_ns: Option<u64>) {
        if lap.end_ns >= self.second_end_ns {
            self.turn_second(lap.end_ns);
        }
        let service_ns = lap.end_ns - lap.start_ns;
        let slot = &mut self.slots[op.0];
        keep(&mut slot.current.service, &mut slot.current.service_exact, service_ns);
        slot.service_episodes.lap(service_ns);
        if let Some(response_ns) = response_ns {
            slot.keep_response(response_ns, lap.end_ns - lap.due_ns);
        }
        if service_ns > slot.spike_floor_ns {
            slot.keep_spike(lap, self.spikes_max);
        }
    }

    /// An operation that never began after at least `waited_ns`: a response of each kind of which there were `turns`.
    #[cold]
    pub fn missed(&mut self, waited_ns: u64, turns: u64) {
        let every_turn = |slot: &&mut Slot| slot.responses >= turns.max(1);
        for slot in self.slots.iter_mut().filter(every_turn) {
            slot.keep_response(waited_ns, waited_ns);
        }
    }

    pub fn finish(mut self) -> LapTail {
        for slot in &mut self.slots {
            slot.hand_over(self.second, &self.full, true);
        }
        let mut tail = LapTail {
            episodes: Vec::new(),
            spikes: Vec::new(),
            merged_seconds: self.merged_seconds,
        };
        for slot in self.slots {
            let episodes = [slot.service_episodes, slot.response_episodes, slot.raw_episodes];
            tail.episodes.push(episodes);
            tail.spikes.push(slot.spikes);
        }
        tail
    }

    #[cold]
    fn turn_second(&mut self, now_ns: u64) {
        for slot in &mut self.slots {
            let handed = slot.hand_over(self.second, &self.full, false);
            self.merged_seconds += u64::from(!handed);
        }
        self.second = ((now_ns - self.began_ns) / SECOND_NS) as u32;
        self.second_end_ns = self.began_ns + (u64::from(self.second) + 1) * SECOND_NS;
    }
}

impl Slot {
    /// `response_ns` is without the driver's stalls, `raw_ns` with them.
    #[inline]
    fn keep_response(&mut self, response_ns: u64, raw_ns: u64) {
        if let Some(responses) = &mut self.current.response {
            keep(responses, &mut self.current.response_exact, response_ns);
            self.response_episodes.lap(response_ns);
        }
        if let Some(raw) = &mut self.current.raw {
            keep(raw, &mut self.current.raw_exact, raw_ns);
            self.raw_episodes.lap(raw_ns);
        }
        self.responses += 1;
    }

    /// False when the keeper is behind: the laps stay and join the next second.
    fn hand_over(&mut self, second: u32, full: &ArrayQueue<Box<Second>>, last: bool) -> bool {
        let has_none =
            |laps: &Option<Histogram<u64>>| laps.as_ref().is_none_or(Histogram::is_empty);
        if self.current.service.is_empty() && has_none(&self.current.response) {
            return true;
        }
        self.current.second = second;
        let Some(spare) = self.spares.pop().or_else(|| last.then(|| Second::empty(0, false)))
        else {
            return false;
        };
        let done = std::mem::replace(&mut self.current, spare);
        if let Err(done) = full.push(done) {
            self.current = done;
            return false;
        }
        true
    }

    #[cold]
    fn keep_spike(&mut self, lap: Lap, spikes_max: usize) {
        if spikes_max == 0 {
            self.spike_floor_ns = u64::MAX;
            return;
        }
        let length_ns = |lap: &Lap| lap.end_ns - lap.start_ns;
        let place = self.spikes.partition_point(|kept| length_ns(kept) >= length_ns(&lap));
        self.spikes.insert(place, lap);
        if self.spikes.len() > spikes_max {
            self.spikes.truncate(spikes_max);
        }
        if self.spikes.len() == spikes_max {
            self.spike_floor_ns = self.spikes.last().map_or(0, length_ns);
        }
    }
}

#[inline]
fn keep(histogram: &mut Histogram<u64>, exact: &mut Exact, latency_ns: u64) {
    histogram.saturating_record(latency_ns);
    exact.sum_ns += latency_ns;
    exact.min_ns = exact.min_ns.min(latency_ns);
    exact.max_ns = exact.max_ns.max(latency_ns);
    exact.overflow += u64::from(latency_ns > LONGEST_NS);
}
