//! What the threads of a phase write while it runs: laps by kind of operation.

use std::sync::{
    Arc,
    mpsc::{Receiver, Sender, channel},
};

use pickfs_measure::{
    Clock, Lap, LapRecorder, MonotonicClock, OpIndex, OpLaps, RecorderOptions, recorder,
};
use pickfs_model::record::QUANTILES;

use super::keepers::Keepers;
use crate::{bench::LiveLaps, fault::Fault};

/// Recorders of threads that have ended, by the number of their keeper.
type Ended = (usize, LapRecorder);

/// The bench of a phase's first thread.
pub struct PhaseBench {
    first: ThreadBench,
    options: RecorderOptions,
    keepers: Keepers,
    ended: Receiver<Ended>,
    sender: Sender<Ended>,
}

impl PhaseBench {
    pub(crate) fn new(
        ops: Vec<String>,
        spikes_max: usize,
        helper_cpu: Option<u32>,
        live: Option<Arc<dyn LiveLaps>>,
    ) -> Result<PhaseBench, Fault> {
        let options =
            RecorderOptions { ops, responses: false, spikes_max, quantiles: QUANTILES.to_vec() };
        let keepers = Keepers::start(helper_cpu)?;
        let (sender, ended) = channel();
        let first = ThreadBench::new(&options, &keepers, sender.clone(), live);
        Ok(PhaseBench { first, options, keepers, ended, sender })
    }

    pub(crate) fn begin(&mut self, began_ns: u64) {
        self.first.begin(began_ns);
    }

    /// The clock of the laps, on the CLOCK_MONOTONIC line, in nanoseconds.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        MonotonicClock.now_ns()
    }

    /// Keeps one operation of a kind (its place in the phase's list of kinds, 0 where it has none).
    #[inline]
    pub fn lap(&mut self, kind: usize, start_ns: u64, end_ns: u64, offset_bytes: u64) {
        self.first.lap(kind, start_ns, end_ns, offset_bytes);
    }

    /// Benches for threads that the phase starts: one each. All of them must have been dropped
    /// when the phase's work returns. Making one touches about a megabyte for each kind of
    /// operation: do it before the clock starts, with [`Done::between`](super::Done::between).
    pub fn split(&mut self, threads: usize) -> Vec<ThreadBench> {
        let bench = |_| {
            let mut bench =
                ThreadBench::new(&self.options, &self.keepers, self.sender.clone(), None);
            bench.begin(self.first.began_ns);
            bench
        };
        (0..threads).map(bench).collect()
    }

    /// The laps of all threads, by operation.
    pub(crate) fn finish(self) -> Result<Vec<OpLaps>, Fault> {
        let PhaseBench { first, options, keepers, ended, sender } = self;
        drop((first, sender));
        let mut by_op: Vec<Vec<OpLaps>> = options.ops.iter().map(|_| Vec::new()).collect();
        let mut keepers: Vec<_> = keepers.stop().into_iter().map(Some).collect();
        for (number, laps) in ended {
            let Some(keeper) = keepers[number].take() else { continue };
            for (op, laps) in keeper.finish(laps.finish()).into_iter().enumerate() {
                by_op[op].push(laps);
            }
        }
        let merged = by_op.into_iter().map(|parts| OpLaps::merged(parts, options.spikes_max));
        merged.collect::<Result<_, _>>().map_err(|reason| Fault::Failed { reason })
    }
}

/// The bench of one thread. It hands its laps over when it is dropped.
pub struct ThreadBench {
    laps: Option<LapRecorder>,
    number: usize,
    sender: Sender<Ended>,
    live: Option<Arc<dyn LiveLaps>>,
    began_ns: u64,
    count: u64,
}

impl ThreadBench {
    fn new(
        options: &RecorderOptions,
        keepers: &Keepers,
        sender: Sender<Ended>,
        live: Option<Arc<dyn LiveLaps>>,
    ) -> ThreadBench {
        let (laps, keeper) = recorder(options);
        let number = keepers.add(keeper);
        ThreadBench { laps: Some(laps), number, sender, live, began_ns: 0, count: 0 }
    }

    fn begin(&mut self, began_ns: u64) {
        self.began_ns = began_ns;
        self.laps.iter_mut().for_each(|laps| laps.begin(began_ns));
    }

    /// The clock of the laps, on the CLOCK_MONOTONIC line, in nanoseconds.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        MonotonicClock.now_ns()
    }

    /// Keeps one operation of a kind.
    #[inline]
    pub fn lap(&mut self, kind: usize, start_ns: u64, end_ns: u64, offset_bytes: u64) {
        let Some(laps) = &mut self.laps else { return };
        laps.lap(OpIndex(kind), Lap { due_ns: start_ns, start_ns, end_ns, offset_bytes }, None);
        self.count += 1;
        if let Some(live) = &self.live {
            live.show(self.count, end_ns - start_ns, end_ns);
        }
    }
}

impl Drop for ThreadBench {
    fn drop(&mut self) {
        if let Some(laps) = self.laps.take() {
            let _ = self.sender.send((self.number, laps));
        }
    }
}
