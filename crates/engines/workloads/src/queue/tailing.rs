//! The tailer: spins for the next message on a thread of its own, and keeps how long it took to come.

use std::{
    sync::{
        Arc,
        atomic::{
            AtomicU64,
            Ordering::{Acquire, Release},
        },
    },
    time::{Duration, Instant},
};

use pickfs_record::{Arrival, Clock, OpIndex};
use pickfs_workload::{
    bench::Bench,
    drive::{Pace, Span, Turn, Work},
    fault::Fault,
    measurement::{Measured, Measurement},
    workload::Session,
};

use crate::pattern::Pattern;
use crate::queue::{
    channel::Source,
    params::WRITE_TO_READ,
    payload::{Told, told},
};

/// How long a tailer may need to read what is left when the appender has ended.
const CATCH_UP: Duration = Duration::from_secs(30);
const POLLS: u32 = 256;

#[derive(Debug, Default)]
pub(super) struct Sent(AtomicU64);

impl Sent {
    const UNKNOWN: u64 = u64::MAX;

    pub(super) fn begin(&self) {
        self.0.store(Sent::UNKNOWN, Release);
    }

    pub(super) fn is(&self, messages: u64) {
        self.0.store(messages, Release);
    }

    fn known(&self) -> Option<u64> {
        Some(self.0.load(Acquire)).filter(|sent| *sent != Sent::UNKNOWN)
    }
}

#[repr(align(128))]
pub(super) struct Tailing {
    source: Source,
    pattern: Pattern,
    sent: Arc<Sent>,
    last_number: u64,
    is_over: bool,
    deadline: Option<Instant>,
}

impl Tailing {
    pub(super) fn new(source: Source, pattern: Pattern, sent: Arc<Sent>) -> Self {
        Tailing { source, pattern, sent, last_number: 0, is_over: false, deadline: None }
    }

    pub(super) fn run(
        &mut self,
        session: &Session,
        setup: &Measurement,
    ) -> Result<Measured, Fault> {
        pickfs_workload::placement::pin(session.spec.helper_cpu)?;
        (self.is_over, self.deadline) = (false, None);
        let setup = Measurement { ops: vec![WRITE_TO_READ.into()], live: None, ..setup.clone() };
        let mut pace = Pace::new(Arrival::Closed { pause_ns: 0 }, 0, 0);
        let has_due_times = session.params.text("arrival") != "closed";
        setup.run_with_responses(self, &mut pace, Span::time(u64::MAX / 4), has_due_times)
    }

    #[inline]
    fn next<C: Clock>(&mut self, clock: &C) -> Result<Option<(Told, u64)>, Fault> {
        loop {
            for _ in 0..POLLS {
                if let Some(payload) = self.source.poll()? {
                    let end_ns = clock.now_ns();
                    return found(&self.pattern, &mut self.last_number, payload)
                        .map(|told| Some((told, end_ns)));
                }
                std::hint::spin_loop();
            }
            if self.is_done()? {
                return Ok(None);
            }
        }
    }

    #[cold]
    fn is_done(&mut self) -> Result<bool, Fault> {
        let Some(sent) = self.sent.known() else { return Ok(false) };
        if self.last_number >= sent {
            return Ok(true);
        }
        let deadline = *self.deadline.get_or_insert_with(|| Instant::now() + CATCH_UP);
        if Instant::now() > deadline {
            let what =
                format!("{} of {sent} messages were read, and no more came", self.last_number);
            return Err(Fault::Wrong { what });
        }
        Ok(false)
    }
}

fn found(pattern: &Pattern, last_number: &mut u64, payload: &[u8]) -> Result<Told, Fault> {
    let told =
        told(payload).ok_or_else(|| Fault::Wrong { what: "a message is too short".into() })?;
    if told.number != *last_number + 1 {
        let what = format!("message {} follows message {last_number}", told.number);
        return Err(Fault::Wrong { what });
    }
    if !pattern.is_of(payload, told.number) {
        let what = format!("message {} holds other bytes than were sent", told.number);
        return Err(Fault::Wrong { what });
    }
    *last_number = told.number;
    Ok(told)
}

impl Work for Tailing {
    #[inline]
    fn turn<C: Clock>(&mut self, clock: &C, turn: &Turn, bench: &mut Bench) -> Result<u64, Fault> {
        let Some((told, end_ns)) = self.next(clock)? else {
            self.is_over = true;
            return Ok(turn.start_ns);
        };
        bench.lap_since(OpIndex(0), told.origin_ns, told.start_ns, end_ns);
        Ok(end_ns)
    }

    fn is_stopped(&self) -> bool {
        self.is_over
    }
}
