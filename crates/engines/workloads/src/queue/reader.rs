//! Whoever reads: a thread of the worker, or a process that the worker talks to before and after each run.
//!
//! ```text
//! worker                           tailer
//!         "run" or "warm up"  ->
//!                             <-   it begins to poll
//!         messages through the queue
//!         "sent N"            ->
//!                             <-   its laps, when N have come
//! ```

use std::sync::{
    Arc,
    mpsc::{Receiver, channel},
};
use std::thread::{Scope, ScopedJoinHandle};

use pickfs_queue::ReadBy;
use pickfs_record::record::OpRecord;
use pickfs_workload::{
    fault::Fault,
    measurement::{Measured, Measurement},
    role::{self, Player},
    workload::Session,
};

use crate::pattern::Pattern;
use crate::queue::{
    channel::Channel,
    params, payload,
    tailing::{Sent, Tailing},
};

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
    let pattern = Pattern::new(size, payload::BYTES_MIN, session.spec.seed);
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
