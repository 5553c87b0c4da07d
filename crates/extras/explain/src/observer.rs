//! Watches some processes while they work, beside them on a thread of its own: drains the rings,
//! joins each slow operation as soon as the events around it have arrived, and keeps only the ledger.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    io,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use crate::kernel::kernel_symbols::KernelSymbols;
use pickfs_record::{Clock, MonotonicClock};
use pickfs_record::{
    ExplainAlso,
    stall::{OpStalls, OpenOperation, OperationPart, ProbeTier, StallCounts, StallRecord},
};
use pickfs_sys::{
    proc_root::ProcRoot,
    slow_operations::{SlowOperation, SlowOperations},
};

use crate::{
    cause::IO_URING,
    context::ContextBook,
    join::{Spent, Stretch, delegated, split},
    ledger::Ledger,
    naming::{Naming, words},
    sched::{Names, SchedEvent},
    threads::{Threads, on_machine},
    tier::Eyes,
    timeline::Timeline,
};

pub(crate) const OUR_THREADS: &str = "pickfs-watch";
const NICE: i32 = 10;
/// An event of one processor may arrive this much later than a younger one of another.
pub(crate) const LATE_NS: u64 = 10_000_000;
const PENDING_MAX: usize = 65_536;

pub struct Observer(Watcher<StallRecord>);

impl Observer {
    /// Children of ours; returns when the first events can arrive. Where this machine lets us see
    /// little or nothing, the record says so.
    pub fn start(operations: Arc<SlowOperations>, children: &[u32]) -> Observer {
        Observer::start_with(operations, children, &ExplainAlso::default())
    }

    pub fn start_with(
        operations: Arc<SlowOperations>,
        children: &[u32],
        also: &ExplainAlso,
    ) -> Observer {
        let (ready, is_ready) = channel();
        let (children, also) = (children.to_vec(), *also);
        let body = move |stop: &_| Watch::begin(operations, &children, &also).run(stop, &ready);
        let watcher = Watcher::start(body).expect("a thread can be started");
        // An error means that it has ended, which `finish` tells.
        let _ = is_ready.recv();
        Observer(watcher)
    }

    pub fn finish(self) -> StallRecord {
        self.0.finish()
    }
}

/// A thread that watches until it is asked what it saw.
pub(crate) struct Watcher<T> {
    stop: Sender<()>,
    thread: JoinHandle<T>,
}

impl<T: Send + 'static> Watcher<T> {
    pub(crate) fn start(
        body: impl FnOnce(&Receiver<()>) -> T + Send + 'static,
    ) -> io::Result<Watcher<T>> {
        let (stop, stopped) = channel();
        let thread = thread::Builder::new().name(OUR_THREADS.into());
        Ok(Watcher { stop, thread: thread.spawn(move || body(&stopped))? })
    }

    pub(crate) fn finish(self) -> T {
        drop(self.stop);
        self.thread.join().expect("the thread of a watch does not panic")
    }
}

/// After a pause, which a stop cuts short.
pub(crate) fn goes_on(stop: &Receiver<()>, pause: Duration) -> bool {
    stop.recv_timeout(pause) == Err(RecvTimeoutError::Timeout)
}

/// The calling thread lets others go first: those who are watched may share its processor.
pub(crate) fn stand_back() {
    // Linux takes the number 0 for the calling thread alone. Refused, we stand beside them.
    let _ = rustix::process::setpriority_process(None, NICE);
}

pub struct Joiner {
    pub timeline: Timeline,
    pub counts: StallCounts,
    pub context: ContextBook,
    naming: Naming,
    ledger: Ledger,
}

pub struct Whose<'a> {
    /// On this machine; 0 where it is not known.
    pub thread: u32,
    pub name: &'a str,
    /// Workers of io_uring that do what it waits for, by their numbers on this machine.
    pub workers: &'a dyn Fn() -> Vec<u32>,
}

impl Joiner {
    pub fn new(symbols: KernelSymbols) -> Joiner {
        Joiner {
            timeline: Timeline::default(),
            naming: Naming::new(symbols),
            ledger: Ledger::default(),
            counts: StallCounts::default(),
            context: ContextBook::default(),
        }
    }

    pub fn take(&mut self, events: &[SchedEvent]) {
        self.counts.events += events.len() as u64;
        events.iter().for_each(|event| self.timeline.take(event));
    }

    /// Adds what was seen up to `until_ns` to events, and takes them in the order of their times.
    pub fn look(&mut self, eyes: &mut Eyes, until_ns: u64, events: &mut Vec<SchedEvent>) {
        eyes.drain(until_ns, events);
        events.sort_by_key(|event| event.time_ns);
        self.take(events);
        if let Some(context) = eyes.context() {
            context.drain(until_ns, &mut |event, who| self.context.take(event, who));
            self.counts.context_events = context.events;
            self.counts.context_lost = context.lost;
        }
    }

    pub fn join(&mut self, op: &str, operation: &SlowOperation, whose: &Whose<'_>, names: &Names) {
        let id = whose.thread;
        if self.timeline.since_ns(id).is_none_or(|since_ns| since_ns > operation.start_ns) {
            self.counts.operations_unwatched += 1;
        }
        let (mut parts, mut samples) = (Vec::new(), Vec::new());
        for stretch in split(&self.timeline, id, operation.start_ns, operation.end_ns) {
            if stretch.spent == Spent::OnCpu {
                samples.extend(self.timeline.samples(id, stretch.from_ns, stretch.to_ns));
            }
            let part = self.part(stretch, names);
            match part.cause.as_str() {
                IO_URING => {
                    let (from_ns, to_ns) = (stretch.from_ns, stretch.to_ns);
                    let workers = (whose.workers)().into_iter();
                    let waits = workers.flat_map(|id| self.timeline.waits(id, from_ns, to_ns));
                    let done = delegated(stretch, &waits.collect::<Vec<_>>());
                    parts.extend(done.into_iter().map(|stretch| self.part(stretch, names)));
                }
                _ => parts.push(part),
            }
        }
        self.counts.samples += samples.len() as u64;
        let sampled = |stack| (self.naming.sampled(names, stack), stack);
        let samples: Vec<_> = samples.into_iter().map(sampled).collect();
        let operation = OpenOperation {
            start_ns: operation.start_ns,
            end_ns: operation.end_ns,
            offset_bytes: operation.offset_bytes,
            thread: whose.name.to_owned(),
            parts,
            context: match self.ledger.opens(op, operation.end_ns - operation.start_ns) {
                true => self.context.during(operation.start_ns, operation.end_ns, whose.name),
                false => Vec::new(),
            },
        };
        self.ledger.add(op, operation, &samples);
    }

    fn part(&mut self, stretch: Stretch, names: &Names) -> OperationPart {
        let length_ns = stretch.length_ns();
        OperationPart { length_ns, ..self.naming.name(names, stretch.spent) }
    }

    pub fn finish_with(mut self, eyes: Eyes, above_ns: u64, threads: u64) -> StallRecord {
        self.counts.threads = threads;
        self.counts.run_delay_ns = eyes.run_delay_ns();
        let record = self.finish(eyes.tier(), above_ns, &eyes.names);
        let (channels, missing) = eyes.told();
        StallRecord { channels, missing, ..record }
    }

    pub fn finish(mut self, tier: ProbeTier, above_ns: u64, names: &Names) -> StallRecord {
        self.counts.events_lost = self.timeline.lost_events;
        let mut ops = self.ledger.finish();
        let mut stacks =
            Stacks { naming: &self.naming, names, places: HashMap::new(), kept: Vec::new() };
        ops.iter_mut().for_each(|op| stacks.place(op));
        let stacks = stacks.kept;
        let causes = causes_of(&ops).into_iter().map(|cause| words(&cause)).collect();
        let (channels, missing, counts) = (Vec::new(), Vec::new(), self.counts);
        StallRecord { tier, channels, missing, above_ns, ops, causes, stacks, counts }
    }
}

fn causes_of(ops: &[OpStalls]) -> BTreeSet<String> {
    let rows = ops.iter().flat_map(|op| &op.causes).map(|row| row.cause.clone());
    let opened = ops.iter().flat_map(|op| &op.worst).flat_map(|operation| &operation.parts);
    rows.chain(opened.map(|part| part.cause.clone())).collect()
}

struct Stacks<'a> {
    naming: &'a Naming,
    names: &'a Names,
    places: HashMap<u32, u32>,
    kept: Vec<Vec<String>>,
}

impl Stacks<'_> {
    fn place(&mut self, op: &mut OpStalls) {
        for row in &mut op.causes {
            self.replace(&mut row.stack);
            self.replace(&mut row.waker_stack);
        }
        op.samples.iter_mut().for_each(|row| self.replace(&mut row.stack));
        for part in op.worst.iter_mut().flat_map(|operation| &mut operation.parts) {
            self.replace(&mut part.stack);
            self.replace(&mut part.waker_stack);
        }
    }

    fn replace(&mut self, stack: &mut Option<u32>) {
        let Some(number) = *stack else { return };
        let place = *self.places.entry(number).or_insert_with(|| {
            self.kept.push(self.naming.frames(self.names, number));
            self.kept.len() as u32 - 1
        });
        *stack = Some(place);
    }
}

struct Watch {
    operations: Arc<SlowOperations>,
    read: u64,
    pending: VecDeque<SlowOperation>,
    threads: Threads,
    eyes: Eyes,
    joiner: Joiner,
}

impl Watch {
    fn begin(operations: Arc<SlowOperations>, children: &[u32], also: &ExplainAlso) -> Watch {
        let proc_root = ProcRoot::host();
        let mut eyes = Eyes::open(also);
        let processes = on_machine(children, &proc_root).unwrap_or_else(|error| {
            eyes.miss(format!("the watched processes were not found: {error}"));
            Vec::new()
        });
        Watch {
            operations,
            read: 0,
            pending: VecDeque::new(),
            threads: Threads::of(processes, proc_root),
            joiner: Joiner::new(eyes.symbols()),
            eyes,
        }
    }

    fn run(mut self, stop: &Receiver<()>, ready: &Sender<()>) -> StallRecord {
        stand_back();
        self.look_for_threads();
        let _ = ready.send(());
        while goes_on(stop, self.eyes.look_each()) {
            self.look_for_threads();
            self.look();
        }
        thread::sleep(Duration::from_nanos(2 * LATE_NS));
        self.look();
        self.joiner.finish_with(self.eyes, self.operations.above_ns(), self.threads.count() as u64)
    }

    fn look_for_threads(&mut self) {
        if !self.threads.look() {
            return;
        }
        let ids = self.threads.ids();
        let both = |id: &u32| Some((*id, self.threads.get(*id)?.own_id));
        let both: Vec<(u32, u32)> = ids.iter().filter_map(both).collect();
        match self.eyes.follow(&both, None) {
            Ok(()) => {
                let now_ns = MonotonicClock.now_ns();
                ids.iter().for_each(|id| self.joiner.timeline.watch(*id, now_ns));
            }
            Err(reason) => self.eyes.miss(reason),
        }
    }

    fn look(&mut self) {
        let until_ns = MonotonicClock.now_ns() - LATE_NS;
        self.joiner.look(&mut self.eyes, until_ns, &mut Vec::new());
        self.take_operations();
        while let Some(operation) = self.pending.pop_front() {
            if operation.end_ns > until_ns {
                self.pending.push_front(operation);
                break;
            }
            let op = self.operations.op_name(operation.op).unwrap_or_else(|| "others".into());
            let thread = self.threads.by_own_id(operation.thread_id);
            let workers = || {
                thread.map(|thread| self.threads.uring_workers(thread.process)).unwrap_or_default()
            };
            let whose = Whose {
                thread: thread.map_or(0, |thread| thread.id),
                name: thread.map_or("", |thread| &thread.name),
                workers: &workers,
            };
            self.joiner.join(&op, &operation, &whose, &self.eyes.names);
        }
    }

    fn take_operations(&mut self) {
        loop {
            let (operation, missed) = self.operations.take(&mut self.read);
            self.joiner.counts.operations_missed += missed;
            match operation {
                Some(_) if self.pending.len() >= PENDING_MAX => {
                    self.joiner.counts.operations_missed += 1
                }
                Some(operation) => self.pending.push_back(operation),
                None if missed > 0 => {}
                None => return,
            }
        }
    }
}
