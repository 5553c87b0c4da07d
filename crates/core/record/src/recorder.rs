use std::sync::Arc;

use crossbeam_queue::ArrayQueue;

use crate::{episode::EpisodeCounter, keeper::IntervalKeeper, record::Operation, times::Track};

/// Which operation an operation belongs to: its place in the list given to [`recorder`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpIndex(pub usize);

#[derive(Debug, Clone)]
pub struct RecorderOptions {
    pub ops: Vec<String>,
    /// Whether a schedule exists, and so a response time.
    pub responses: bool,
    /// Worst operations kept per operation.
    pub spikes_max: usize,
}

/// The times of one operation in one second.
pub(crate) struct FullSecond {
    pub(crate) op: usize,
    pub(crate) second: u32,
    pub(crate) service: Track,
    /// Without the driver's stalls, and with them.
    pub(crate) responses: Option<[Track; 2]>,
}

impl FullSecond {
    fn empty(op: usize, responses: bool) -> Box<FullSecond> {
        let responses = responses.then(|| [Track::prefaulted(), Track::prefaulted()]);
        Box::new(FullSecond { op, second: 0, service: Track::prefaulted(), responses })
    }

    pub(crate) fn clear(&mut self) {
        self.service.clear();
        self.responses.iter_mut().flatten().for_each(Track::clear);
    }

    fn is_empty(&self) -> bool {
        let response = self.responses.as_ref().map(|[response, _]| response);
        self.service.operations.is_empty()
            && response.is_none_or(|track| track.operations.is_empty())
    }
}

struct Slot {
    current: Box<FullSecond>,
    spares: Arc<ArrayQueue<Box<FullSecond>>>,
    /// Of service, response and raw response.
    episodes: [EpisodeCounter; 3],
    responses: u64,
    spikes: Vec<Operation>,
    spike_floor_ns: u64,
}

pub struct Recorder {
    slots: Vec<Slot>,
    full: Arc<ArrayQueue<Box<FullSecond>>>,
    spikes_max: usize,
    began_ns: u64,
    second: u32,
    second_end_ns: u64,
    merged_seconds: u64,
}

pub struct OperationTail {
    /// Of service, response and raw response.
    pub(crate) episodes: Vec<[EpisodeCounter; 3]>,
    pub(crate) spikes: Vec<Vec<Operation>>,
    /// Seconds that could not be handed over in time and went into the next one.
    pub merged_seconds: u64,
}

const SPARES: usize = 3;
const SECOND_NS: u64 = 1_000_000_000;

pub fn recorder(options: &RecorderOptions) -> (Recorder, IntervalKeeper) {
    let full = Arc::new(ArrayQueue::new((SPARES + 1) * options.ops.len().max(1)));
    let slot = |op: usize| {
        let spares = Arc::new(ArrayQueue::new(SPARES + 1));
        for _ in 0..SPARES {
            let _ = spares.push(FullSecond::empty(op, options.responses));
        }
        Slot {
            current: FullSecond::empty(op, options.responses),
            spares,
            episodes: Default::default(),
            responses: 0,
            spikes: Vec::with_capacity(options.spikes_max + 1),
            spike_floor_ns: 0,
        }
    };
    let slots: Vec<Slot> = (0..options.ops.len()).map(slot).collect();
    let spares = slots.iter().map(|slot| Arc::clone(&slot.spares)).collect();
    let keeper = IntervalKeeper::new(options, Arc::clone(&full), spares);
    let operations = Recorder {
        slots,
        full,
        spikes_max: options.spikes_max,
        began_ns: 0,
        second: 0,
        second_end_ns: 0,
        merged_seconds: 0,
    };
    (operations, keeper)
}

impl Recorder {
    pub fn begin(&mut self, began_ns: u64) {
        self.began_ns = began_ns;
        self.second = 0;
        self.second_end_ns = began_ns + SECOND_NS;
    }

    /// `response_ns` is that of [`crate::Lindley`]; `None` in a closed loop.
    #[inline]
    pub fn record(&mut self, op: OpIndex, operation: Operation, response_ns: Option<u64>) {
        if operation.end_ns >= self.second_end_ns {
            self.next_second(operation.end_ns);
        }
        let service_ns = operation.end_ns - operation.start_ns;
        let slot = &mut self.slots[op.0];
        slot.current.service.keep(service_ns);
        slot.episodes[0].record(service_ns);
        if let Some(response_ns) = response_ns {
            slot.keep_response(response_ns, operation.end_ns - operation.due_ns, 1);
        }
        if service_ns > slot.spike_floor_ns {
            slot.keep_spike(operation, self.spikes_max);
        }
    }

    /// So many operations that never began after at least `waited_ns`: responses of each kind of which there were `arrivals`.
    #[cold]
    pub fn missed(&mut self, waited_ns: u64, arrivals: u64, times: u64) {
        let every_arrival = |slot: &&mut Slot| slot.responses >= arrivals.max(1);
        for slot in self.slots.iter_mut().filter(every_arrival) {
            slot.keep_response(waited_ns, waited_ns, times);
        }
    }

    pub fn finish(mut self) -> OperationTail {
        for slot in &mut self.slots {
            slot.hand_over(self.second, &self.full, true);
        }
        let mut tail = OperationTail {
            episodes: Vec::new(),
            spikes: Vec::new(),
            merged_seconds: self.merged_seconds,
        };
        for slot in self.slots {
            tail.episodes.push(slot.episodes);
            tail.spikes.push(slot.spikes);
        }
        tail
    }

    #[cold]
    fn next_second(&mut self, now_ns: u64) {
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
    fn keep_response(&mut self, response_ns: u64, raw_ns: u64, times: u64) {
        if let Some([response, raw]) = &mut self.current.responses {
            response.keep_times(response_ns, times);
            self.episodes[1].record(response_ns);
            raw.keep_times(raw_ns, times);
            self.episodes[2].record(raw_ns);
        }
        self.responses += times;
    }

    /// False when the keeper is behind: the operations stay and join the next second.
    fn hand_over(&mut self, second: u32, full: &ArrayQueue<Box<FullSecond>>, last: bool) -> bool {
        if self.current.is_empty() {
            return true;
        }
        self.current.second = second;
        let Some(spare) = self.spares.pop().or_else(|| last.then(|| FullSecond::empty(0, false)))
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
    fn keep_spike(&mut self, operation: Operation, spikes_max: usize) {
        if spikes_max == 0 {
            self.spike_floor_ns = u64::MAX;
            return;
        }
        let length_ns = |operation: &Operation| operation.end_ns - operation.start_ns;
        let place = self.spikes.partition_point(|kept| length_ns(kept) >= length_ns(&operation));
        self.spikes.insert(place, operation);
        if self.spikes.len() > spikes_max {
            self.spikes.truncate(spikes_max);
        }
        if self.spikes.len() == spikes_max {
            self.spike_floor_ns = self.spikes.last().map_or(0, length_ns);
        }
    }
}
