//! The tailer: spins for the next message on a thread of its own, and keeps how long it took to come.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use pickfs_queue::ReadBy;
use pickfs_record::record::OpRecord;
use pickfs_record::{Arrival, Clock, OpIndex};
use pickfs_workload::bench::Bench;
use pickfs_workload::drive::{Due, Pace, Span, Work};
use pickfs_workload::fault::Fault;
use pickfs_workload::measurement::{Measured, Measurement};
use pickfs_workload::role::{self, Player};
use pickfs_workload::workload::Session;

use crate::pattern::Pattern;
use crate::queue::appending::{BYTES_MIN, Told, told};
use crate::queue::channel::{Channel, Source};
use crate::queue::params::{self, WRITE_TO_READ};

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
    fn run<C: Clock>(&mut self, clock: &C, arrival: &Due, bench: &mut Bench) -> Result<u64, Fault> {
        let Some((told, end_ns)) = self.next(clock)? else {
            self.is_over = true;
            return Ok(arrival.start_ns);
        };
        bench.operation_since(OpIndex(0), told.origin_ns, told.start_ns, end_ns);
        Ok(end_ns)
    }

    fn is_stopped(&self) -> bool {
        self.is_over
    }
}

// Whoever reads: a thread of the worker, or a process that the worker talks to before and after each run.
//
// ```text
// worker                           tailer
//         "run" or "warm up"  ->
//                             <-   it begins to poll
//         messages through the queue
//         "sent N"            ->
//                             <-   its operations, when N have come
// ```

pub(super) const ROLE: &str = "tailer";

const RUN: &str = "run";
const WARM_UP: &str = "warm up";
const SENT: &str = "sent ";

pub(super) enum Reader {
    Nobody,
    Thread(Box<Tailing>, Arc<Sent>),
    Process(Player),
}

pub(super) enum Reading<'scope, 'env> {
    Nobody,
    Thread(ScopedJoinHandle<'scope, Result<Measured, Fault>>, &'env Sent),
    Process(&'env mut Player),
}

impl Reader {
    pub(super) fn new(
        session: &Session,
        channel: &Channel,
        pattern: &Pattern,
    ) -> Result<Reader, Fault> {
        let Some(by) = params::read_by(&session.params) else { return Ok(Reader::Nobody) };
        if params::reads_in_process(&session.params) {
            let mut player = Player::start(session, ROLE, |command| channel.hand_to(command))?;
            player.hear::<()>()?;
            return Ok(Reader::Process(player));
        }
        let sent = Arc::new(Sent::default());
        let tailing = Tailing::new(channel.source(by)?, pattern.clone(), Arc::clone(&sent));
        Ok(Reader::Thread(Box::new(tailing), sent))
    }

    /// Begins to read, before the first message is sent.
    pub(super) fn begin<'scope, 'env>(
        &'env mut self,
        scope: &'scope Scope<'scope, 'env>,
        session: &'env Session,
        setup: &Measurement,
        is_warm_up: bool,
    ) -> Result<Reading<'scope, 'env>, Fault> {
        Ok(match self {
            Reader::Nobody => Reading::Nobody,
            Reader::Thread(tailing, sent) => {
                sent.begin();
                let setup = setup.clone();
                Reading::Thread(scope.spawn(move || tailing.run(session, &setup)), sent)
            }
            Reader::Process(player) => {
                player.say(if is_warm_up { WARM_UP } else { RUN })?;
                player.hear::<()>()?;
                Reading::Process(player)
            }
        })
    }
}

impl Reading<'_, '_> {
    /// All messages were sent, so many since the beginning: waits until they have come.
    pub(super) fn end(self, messages: u64) -> Result<Vec<OpRecord>, Fault> {
        match self {
            Reading::Nobody => Ok(Vec::new()),
            Reading::Thread(thread, sent) => {
                sent.is(messages);
                super::ready::joined(thread).map(|measured| measured.ops)
            }
            Reading::Process(player) => {
                player.say(&format!("{SENT}{messages}"))?;
                player.hear()
            }
        }
    }
}

pub(super) fn play(session: &Session) -> Result<(), Fault> {
    let params = &session.params;
    let by = params::read_by(params).unwrap_or(ReadBy::Mapping);
    let channel = Channel::open(&params::directory(session), params)?;
    let sent = Arc::new(Sent::default());
    let size = params.integer("size") as usize;
    let pattern = Pattern::new(size, BYTES_MIN, session.spec.seed);
    let mut tailing = Tailing::new(channel.source(by)?, pattern, Arc::clone(&sent));
    let runs = runs(sent)?;
    pickfs_workload::placement::pin(session.spec.helper_cpu)?;
    pickfs_workload::placement::rank(params)?;
    role::answer(&())?;
    for is_warm_up in runs {
        role::answer(&())?;
        let measured = tailing.run(session, &session.measurement(is_warm_up))?;
        role::answer(&measured.ops)?;
    }
    Ok(())
}

/// Runs as they are asked for; how much was sent goes to the one that is on.
fn runs(sent: Arc<Sent>) -> Result<Receiver<bool>, Fault> {
    let (asked, runs) = channel();
    role::listen(move |word| match word {
        Some(RUN | WARM_UP) => {
            sent.begin();
            // Nobody who has ended is asked.
            let _ = asked.send(word == Some(WARM_UP));
        }
        Some(word) => {
            let messages = word.strip_prefix(SENT).and_then(|number| number.parse().ok());
            messages.into_iter().for_each(|messages| sent.is(messages));
        }
        // The next receive fails when this closure is dropped, which is now.
        None => {}
    })?;
    Ok(runs)
}
