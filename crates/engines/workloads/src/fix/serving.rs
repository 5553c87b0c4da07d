use std::sync::{
    Arc,
    atomic::{
        AtomicBool,
        Ordering::{Acquire, Release},
    },
};

use pickfs_fix::{Acceptor, engine::EngineError, store::StoreError};
use pickfs_record::{Arrival, Clock};
use pickfs_workload::{
    bench::Bench,
    drive::{Pace, Span, Turn, Work},
    fault::Fault,
    measurement::{Measured, Measurement},
    workload::Session,
};

use crate::fix::{params, watch::Watch};

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

#[derive(Debug, Default)]
pub(super) struct Open(AtomicBool);

impl Open {
    pub(super) fn begin(&self) {
        self.0.store(true, Release);
    }

    pub(super) fn end(&self) {
        self.0.store(false, Release);
    }
}

/// The engine's work: a turn is the rounds until something came.
pub(super) struct Serving {
    pub(super) acceptor: Acceptor<Watch>,
    open: Arc<Open>,
    is_over: bool,
}

/// Rounds between two looks whether it is over.
const ROUNDS: u32 = 256;

impl Serving {
    pub(super) fn new(acceptor: Acceptor<Watch>, open: Arc<Open>) -> Serving {
        Serving { acceptor, open, is_over: false }
    }

    pub(super) fn run(
        &mut self,
        session: &Session,
        setup: &Measurement,
    ) -> Result<Measured, Fault> {
        pickfs_workload::placement::pin(session.spec.cpu)?;
        pickfs_workload::placement::rank(&session.params)?;
        self.is_over = false;
        let ops = params::of_engine(&session.params).iter().map(|op| (*op).to_string()).collect();
        let setup = Measurement { ops, live: None, ..setup.clone() };
        let mut pace = Pace::new(Arrival::Closed { pause_ns: 0 }, 0, 0);
        setup.run_with_responses(self, &mut pace, Span::time(u64::MAX / 4), false)
    }

    #[inline]
    fn serve(&mut self) -> Result<bool, Fault> {
        loop {
            for _ in 0..ROUNDS {
                if self.acceptor.round().map_err(fault)? {
                    return Ok(true);
                }
            }
            if !self.open.0.load(Acquire) {
                return Ok(false);
            }
        }
    }
}

impl Work for Serving {
    #[inline]
    fn turn<C: Clock>(&mut self, clock: &C, _turn: &Turn, bench: &mut Bench) -> Result<u64, Fault> {
        self.is_over = !self.serve()?;
        let watch = self.acceptor.engine().observer();
        for step in &watch.steps {
            bench.lap_alone(step.op, step.start_ns, step.end_ns, 0);
        }
        watch.steps.clear();
        Ok(clock.now_ns())
    }

    fn is_stopped(&self) -> bool {
        self.is_over
    }
}
