use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Acquire;

use pickfs_fix::engine::EngineError;
use pickfs_fix::store::{Gate, StoreError};
use pickfs_fix::{Acceptor, Observer, Way};
use pickfs_record::{Arrival, Clock, MonotonicClock, OpIndex};
use pickfs_workload::bench::Bench;
use pickfs_workload::drive::{Due, Pace, Span, Work};
use pickfs_workload::fault::Fault;
use pickfs_workload::measurement::{Measured, Measurement};
use pickfs_workload::workload::Session;

use crate::fix::params::{self, Waits};

pub(super) fn fault(error: EngineError) -> Fault {
    use pickfs_queue as queue;
    let reason = format!("engine: {error}");
    match error {
        EngineError::Store(StoreError::Queue(queue::Error::Refused { .. }))
        | EngineError::Store(StoreError::Journal(pickfs_journal::Error::Refused { .. })) => {
            Fault::Skipped { reason }
        }
        EngineError::Store(StoreError::Damaged { .. }) | EngineError::Differs { .. } => {
            Fault::Wrong { what: reason }
        }
        _ => Fault::Failed { reason },
    }
}

/// The engine's work: an arrival is the rounds until something came.
pub(super) struct Serving<'a> {
    pub(super) acceptor: &'a mut Acceptor<Watch>,
    /// While clients send.
    pub(super) open: &'a AtomicBool,
    pub(super) is_over: bool,
}

/// Rounds between two looks whether it is over.
const ROUNDS: u32 = 256;

impl Serving<'_> {
    pub(super) fn run(mut self, session: &Session, setup: &Measurement) -> Result<Measured, Fault> {
        pickfs_workload::placement::pin(session.spec.cpu)?;
        pickfs_workload::placement::rank(&session.params)?;
        let ops = params::of_engine(&session.params).iter().map(|op| (*op).to_string()).collect();
        let setup = Measurement { ops, live: None, ..setup.clone() };
        let mut pace = Pace::new(Arrival::Closed { pause_ns: 0 }, 0, 0);
        setup.run_with_responses(&mut self, &mut pace, Span::time(u64::MAX / 4), false)
    }

    #[inline]
    fn serve(&mut self) -> Result<bool, Fault> {
        loop {
            for _ in 0..ROUNDS {
                if self.acceptor.round().map_err(fault)? {
                    return Ok(true);
                }
            }
            if !self.open.load(Acquire) {
                return Ok(false);
            }
        }
    }
}

impl Work for Serving<'_> {
    #[inline]
    fn run<C: Clock>(
        &mut self,
        clock: &C,
        _arrival: &Due,
        bench: &mut Bench,
    ) -> Result<u64, Fault> {
        self.is_over = !self.serve()?;
        let watch = self.acceptor.engine().observer();
        for step in &watch.steps {
            bench.operation_alone(step.op, step.start_ns, step.end_ns, 0);
        }
        watch.steps.clear();
        Ok(clock.now_ns())
    }

    fn is_stopped(&self) -> bool {
        self.is_over
    }
}

const CONNECTIONS: usize = 64;
/// Operations of one round: far more than a round makes.
const OPERATIONS: usize = 16_384;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) op: OpIndex,
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Read {
    at_ns: u64,
    orders: u32,
}

pub(super) struct Watch {
    /// Steps that were not taken yet.
    pub(super) steps: Vec<Step>,
    pub(super) lost: u64,
    pub(super) orders: u64,
    waits: Waits,
    reads: [Read; CONNECTIONS],
    began_ns: u64,
}

impl Watch {
    pub(super) fn new(waits: Waits) -> Watch {
        Watch {
            steps: Vec::with_capacity(OPERATIONS),
            lost: 0,
            orders: 0,
            waits,
            reads: [Read::default(); CONNECTIONS],
            began_ns: 0,
        }
    }

    #[inline]
    fn begin(&mut self) {
        self.began_ns = MonotonicClock.now_ns();
    }

    #[inline]
    fn end(&mut self, op: usize) -> u64 {
        let end_ns = MonotonicClock.now_ns();
        self.keep(op, self.began_ns, end_ns);
        end_ns
    }

    #[inline]
    fn keep(&mut self, op: usize, start_ns: u64, end_ns: u64) {
        if self.steps.len() < OPERATIONS {
            self.steps.push(Step { op: OpIndex(op), start_ns, end_ns });
        } else {
            self.lost += 1;
        }
    }
}

const ORDER: usize = 0;
const PERSIST_IN: usize = 1;
const PERSIST_OUT: usize = 2;
const SEND: usize = 3;
const BEFORE_SEND: usize = 4;

impl Observer for Watch {
    #[inline]
    fn read(&mut self, connection: usize) {
        let read = &mut self.reads[connection % CONNECTIONS];
        // Orders that wait for a full socket keep their time.
        if read.orders == 0 {
            read.at_ns = MonotonicClock.now_ns();
        }
    }

    #[inline]
    fn keeping(&mut self, _way: Way) {
        self.begin();
    }

    #[inline]
    fn kept(&mut self, way: Way) {
        self.end(if way == Way::In { PERSIST_IN } else { PERSIST_OUT });
    }

    #[inline]
    fn waiting(&mut self, gate: Gate) {
        if self.waits.at(gate).is_some() {
            self.begin();
        }
    }

    #[inline]
    fn waited(&mut self, gate: Gate) {
        if let Some(op) = self.waits.at(gate) {
            self.end(op);
        }
    }

    #[inline]
    fn answered(&mut self, connection: usize) {
        self.reads[connection % CONNECTIONS].orders += 1;
        self.orders += 1;
    }

    #[inline]
    fn sending(&mut self, _connection: usize) {
        self.begin();
    }

    #[inline]
    fn sent(&mut self, connection: usize) {
        let end_ns = self.end(SEND);
        let read = std::mem::take(&mut self.reads[connection % CONNECTIONS]);
        for _ in 0..read.orders {
            self.keep(ORDER, read.at_ns, end_ns);
            self.keep(BEFORE_SEND, read.at_ns, self.began_ns);
        }
    }
}
