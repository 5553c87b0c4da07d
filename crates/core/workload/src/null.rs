//! Its operations are the cost of measuring, and the row without I/O shows the noise of clock,
//! scheduler and machine.

use pickfs_record::{Clock, Durability, OpIndex};

use crate::{
    arrival::{self, Schedule},
    bench::Bench,
    drive::{Due, Pace, Span, Work},
    fault::Fault,
    measurement::{Measured, Measurement},
    param::{Literal, Param},
    placement,
    workload::{Prepared, Session, Workload},
};

const PARAMS: &[Param] = &[
    Param { default: Literal::Text("closed"), ..arrival::ARRIVAL },
    arrival::RATE,
    arrival::BURST_FACTOR,
    arrival::BURST_PERIOD,
    arrival::BURST_LENGTH,
    arrival::RECORDING,
    arrival::SPEED,
    Param { default: Literal::Integer(0), ..arrival::PAUSE },
    arrival::WAIT,
    placement::THREAD_POLICY,
];

pub(crate) const WORKLOAD: Workload = Workload {
    name: "null",
    about: "does nothing: the cost of one operation and the noise of the machine",
    params: PARAMS,
    ops: |_| vec!["null".into()],
    durability: |_| Durability::Nothing,
    prepare: |session| {
        let recording = arrival::recording(&session.params)?;
        Ok(Box::new(Ready(Schedule::of(&session.params, recording.as_ref()))))
    },
    check: arrival::check,
    begins_by_recorder: true,
    ..Workload::LOOP
};

#[derive(Debug, Clone, Copy, Default)]
pub struct Nothing;

impl Work for Nothing {
    #[inline]
    fn run<C: Clock>(&mut self, clock: &C, arrival: &Due, bench: &mut Bench) -> Result<u64, Fault> {
        let end_ns = clock.now_ns();
        bench.record(OpIndex(0), arrival.start_ns, end_ns, 0);
        Ok(end_ns)
    }
}

const WITHOUT_IO_NS: u64 = 200_000_000;

/// The measured loop at this pace with nothing to do, for a moment: `no_io_p50_ns`,
/// `no_io_p99_ns` and `no_io_max_ns`, what clock and machine add to every operation.
pub fn without_io(session: &Session, mut pace: Pace) -> Result<Vec<(&'static str, f64)>, Fault> {
    let setup = Measurement {
        ops: vec!["null".into()],
        spikes_max: 0,
        live: None,
        ..session.measurement(true)
    };
    let measured = setup.run(&mut Nothing, &mut pace, Span::time(WITHOUT_IO_NS))?;
    let Some(operations) =
        measured.ops.first().map(|op| &op.service).filter(|operations| operations.count > 0)
    else {
        return Ok(Vec::new());
    };
    let at = |q: f64| operations.quantile(q).map_or(0.0, |row| row.value_ns as f64);
    Ok(vec![
        ("no_io_p50_ns", at(0.5)),
        ("no_io_p99_ns", at(0.99)),
        ("no_io_max_ns", operations.max_ns as f64),
    ])
}

struct Ready(Schedule);

impl Ready {
    fn run(&self, session: &Session, span: Span, is_warm_up: bool) -> Result<Measured, Fault> {
        let mut pace = self.0.pace(session, is_warm_up);
        session.measurement(is_warm_up).run(&mut Nothing, &mut pace, span)
    }
}

impl Prepared for Ready {
    fn warm_up(&mut self, session: &Session) -> Result<u64, Fault> {
        Ok(self.run(session, Span::time(session.spec.warmup_ns), true)?.load.measured_ns)
    }

    fn measure(&mut self, session: &Session) -> Result<Measured, Fault> {
        self.run(session, Span::time(session.spec.measure_ns), false)
    }

    fn verify(&mut self, _session: &Session) -> Result<u64, Fault> {
        Ok(0)
    }
}
