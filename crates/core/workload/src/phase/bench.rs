use std::{
    ops::{Deref, DerefMut},
    sync::{
        Arc,
        mpsc::{Receiver, Sender, channel},
    },
};

use pickfs_record::{
    Clock, MonotonicClock, OpIndex, OpRecord, Operation, Recorder, RecorderOptions, recorder,
};

use pickfs_sys::own_descriptors::leave_shared_table;

use super::span::{MachineMoment, OpenSpan, Span, busy_processors};
use crate::{bench::LiveOperations, fault::Fault, keepers::Keepers, slow::SlowPen};

struct Ended {
    /// Which keeper is its own.
    keeper: usize,
    operations: Recorder,
    span: Option<Span>,
}

pub(super) struct Kept {
    pub(super) ops: Vec<OpRecord>,
    pub(super) span: Option<Span>,
    pub(super) machine_busy_cpus: Option<f64>,
}

#[derive(Default)]
struct MachineSpan {
    is_watched: bool,
    began: Option<MachineMoment>,
    ended: Option<MachineMoment>,
}

impl MachineSpan {
    fn now(&self) -> Option<MachineMoment> {
        self.is_watched.then(MachineMoment::now).flatten()
    }
}

pub struct PhaseBench {
    first: ThreadBench,
    machine: MachineSpan,
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
        live: Option<Arc<dyn LiveOperations>>,
    ) -> Result<PhaseBench, Fault> {
        let options = RecorderOptions { ops, responses: false, spikes_max };
        // Or each call of a measuring thread would pay for a second user of its descriptors.
        let keepers = Keepers::start(helper_cpu, || _ = leave_shared_table())?;
        let (sender, ended) = channel();
        let first = ThreadBench::new(&options, &keepers, sender.clone(), live);
        let machine = MachineSpan::default();
        Ok(PhaseBench { first, machine, options, keepers, ended, sender })
    }

    pub(super) fn watch_machine(&mut self) {
        self.machine.is_watched = true;
    }

    pub(super) fn begin(&mut self) {
        self.span_begins();
        self.first.begin(self.first.span.began_ns());
    }

    /// The work has returned: its span ends here unless it ended before.
    pub(super) fn end(&mut self) {
        if self.first.span.is_open() {
            self.span_ends();
        }
    }

    /// Time and CPU of the phase count from here, not from when its work was called. What was
    /// prepared before is in neither.
    pub fn span_begins(&mut self) {
        self.machine.ended = None;
        self.machine.began = self.machine.now();
        self.first.span_begins();
    }

    /// Time and CPU of the phase count until here. What comes behind, such as reading back, is in
    /// neither.
    pub fn span_ends(&mut self) {
        self.first.span_ends();
        self.machine.ended = self.machine.now();
    }

    /// Benches for threads that the phase starts: one each. All of them must have been dropped
    /// when the phase's work returns. Making one touches about a megabyte for each kind of
    /// operation: do it before the span begins. Where threads tell spans of their own, the phase's
    /// is from the first beginning to the last end of them.
    pub fn split(&mut self, threads: usize) -> Vec<ThreadBench> {
        let bench = |_| {
            let mut bench =
                ThreadBench::new(&self.options, &self.keepers, self.sender.clone(), None);
            bench.begin(self.first.began_ns);
            bench
        };
        (0..threads).map(bench).collect()
    }

    pub(super) fn finish(self) -> Result<Kept, Fault> {
        let PhaseBench { first, machine, options, keepers, ended, sender } = self;
        let own = first.span.closed();
        drop((first, sender));
        let mut by_op: Vec<Vec<OpRecord>> = options.ops.iter().map(|_| Vec::new()).collect();
        let mut keepers: Vec<_> = keepers.stop()?.into_iter().map(Some).collect();
        let mut of_threads: Option<Span> = None;
        for Ended { keeper, operations, span } in ended {
            if keeper != FIRST {
                of_threads = of_threads.into_iter().chain(span).reduce(Span::around);
            }
            let Some(keeper) = keepers[keeper].take() else { continue };
            for (op, operations) in keeper.finish(operations.finish()).into_iter().enumerate() {
                by_op[op].push(operations);
            }
        }
        let merged = by_op.into_iter().map(|parts| OpRecord::merged(parts, options.spikes_max));
        let ops = merged.collect::<Result<_, _>>().map_err(|reason| Fault::Failed { reason })?;
        let machine_busy_cpus = busy_processors(machine.began.as_ref(), machine.ended.as_ref());
        Ok(Kept { ops, span: of_threads.or(own), machine_busy_cpus })
    }
}

impl Deref for PhaseBench {
    type Target = ThreadBench;

    #[inline]
    fn deref(&self) -> &ThreadBench {
        &self.first
    }
}

impl DerefMut for PhaseBench {
    #[inline]
    fn deref_mut(&mut self) -> &mut ThreadBench {
        &mut self.first
    }
}

const FIRST: usize = 0;

/// It hands its operations over when it is dropped.
pub struct ThreadBench {
    operations: Option<Recorder>,
    slow: SlowPen,
    number: usize,
    sender: Sender<Ended>,
    live: Option<Arc<dyn LiveOperations>>,
    span: OpenSpan,
    began_ns: u64,
    count: u64,
}

impl ThreadBench {
    fn new(
        options: &RecorderOptions,
        keepers: &Keepers,
        sender: Sender<Ended>,
        live: Option<Arc<dyn LiveOperations>>,
    ) -> ThreadBench {
        let (operations, keeper) = recorder(options);
        let number = keepers.add(keeper);
        let (span, operations) = (OpenSpan::default(), Some(operations));
        let slow = SlowPen::new(&options.ops);
        ThreadBench { operations, slow, number, sender, live, span, began_ns: 0, count: 0 }
    }

    pub fn span_begins(&mut self) {
        self.span.begin();
    }

    pub fn span_ends(&mut self) {
        self.span.end();
    }

    fn begin(&mut self, began_ns: u64) {
        self.began_ns = began_ns;
        self.operations.iter_mut().for_each(|operations| operations.begin(began_ns));
    }

    #[inline]
    pub fn now_ns(&self) -> u64 {
        MonotonicClock.now_ns()
    }

    /// Keeps one operation of a kind (its place in the phase's list of kinds, 0 where it has none).
    #[inline]
    pub fn record(&mut self, kind: usize, start_ns: u64, end_ns: u64, offset_bytes: u64) {
        let Some(operations) = &mut self.operations else { return };
        let operation = Operation { due_ns: start_ns, start_ns, end_ns, offset_bytes };
        operations.record(OpIndex(kind), operation, None);
        self.slow.record(kind, &operation);
        self.count += 1;
        if let Some(live) = &self.live {
            live.show(self.count, end_ns - start_ns, end_ns);
        }
    }
}

impl Drop for ThreadBench {
    fn drop(&mut self) {
        if let Some(operations) = self.operations.take() {
            let span = self.span.closed();
            let _ = self.sender.send(Ended { keeper: self.number, operations, span });
        }
    }
}
