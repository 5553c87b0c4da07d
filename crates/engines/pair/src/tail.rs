//! What a primary lost and its secondary has: the last messages of its own earlier reign, fetched when it starts again.
//!
//! That happens when it died between sending and journalling, or lost its page cache with the host. Only messages of
//! its own term are taken, before it has taken any new one, and only behind a message that both hold: two stores that
//! hold the same message of the same epoch hold the same before it, as an epoch has one writer.

use std::{
    io::ErrorKind,
    sync::atomic::Ordering::Acquire,
    time::{Duration, Instant},
};

use crate::dialer::{Answer, Dialing};
use crate::epoch::Position;
use crate::error::{Error, Result};
use crate::inbox::Inbox;
use crate::transport::Connection;
use crate::wire::{Frame, Greeting, Reason};

/// Bytes that are handed to the primary at a time.
const CHUNK_BYTES: usize = 1 << 20;
const LOOK_EACH: Duration = Duration::from_millis(1);

/// In order; the primary may have the first of them already.
#[derive(Default)]
pub(crate) struct Tail {
    pub(crate) entries: Vec<(Position, Vec<u8>)>,
    bytes: usize,
}

impl Dialing {
    /// Whether what they have and we lack may be the end of our own earlier reign.
    pub(crate) fn may_fetch(&self, theirs: &Greeting) -> bool {
        let (mine, last) = (self.origin.epoch, theirs.last);
        let is_of_our_term = (last.epoch.term(), last.epoch.node()) == (mine.term(), mine.node());
        let appended = self.origin.told.appended.load(Acquire);
        let has_begun = appended > self.origin.told.inherited.load(Acquire);
        is_of_our_term && last.epoch < mine && last.sequence > appended && !has_begun
    }

    /// Asks for it, hands it to the primary, and returns when that has it in its store.
    pub(crate) fn fetch(
        &self,
        stream: &mut dyn Connection,
        inbox: &mut Inbox,
        theirs: &Greeting,
    ) -> Result<()> {
        let last = theirs.last.sequence;
        // The one that both have is asked for too.
        let mut next = self.origin.told.appended.load(Acquire).max(1);
        self.say(stream, Frame::Fetch { from: next })?;
        while next <= last {
            let tail = self.piece(stream, inbox, &mut next, theirs)?;
            let is_gone = self.answer.send(Answer::Tail(tail)).is_err();
            if is_gone {
                return Err(self.failed("fetch from")(ErrorKind::Interrupted.into()));
            }
        }
        self.until_taken(theirs)
    }

    fn piece(
        &self,
        stream: &mut dyn Connection,
        inbox: &mut Inbox,
        next: &mut u64,
        theirs: &Greeting,
    ) -> Result<Tail> {
        let (peer, last) = (|| self.peer.to_string(), theirs.last.sequence);
        let mut tail = Tail::default();
        while *next <= last && tail.bytes < CHUNK_BYTES {
            match inbox.next().map_err(|flaw| Error::Wire { peer: peer(), flaw })? {
                Some(Frame::Entry { at, payload }) if at.sequence == *next => {
                    tail.bytes += payload.len();
                    tail.entries.push((at, payload.to_vec()));
                    *next += 1;
                }
                Some(Frame::Ack { .. }) => {}
                Some(Frame::Refused { reason: Reason::Gone, .. }) => return Err(self.ahead(theirs)),
                Some(_) => {
                    let (expected, found) = ("the message that was asked for", "another frame");
                    return Err(Error::Unexpected { peer: peer(), expected, found });
                }
                None => match inbox.fill(stream) {
                    Ok(0) => {
                        return Err(self.failed("fetch from")(ErrorKind::UnexpectedEof.into()));
                    }
                    read => drop(read.map_err(self.failed("fetch from"))?),
                },
            }
        }
        Ok(tail)
    }

    /// The primary takes it on its own thread, piece by piece, or does not where it has gone on meanwhile.
    fn until_taken(&self, theirs: &Greeting) -> Result<()> {
        let (mut moved, mut taken) = (Instant::now(), 0);
        loop {
            let inherited = self.origin.told.inherited.load(Acquire);
            if inherited >= theirs.last.sequence {
                return Ok(());
            }
            if inherited > taken {
                (moved, taken) = (Instant::now(), inherited);
            }
            if moved.elapsed() > self.origin.timeout {
                return Err(self.ahead(theirs));
            }
            std::thread::sleep(LOOK_EACH);
        }
    }

    fn ahead(&self, theirs: &Greeting) -> Error {
        let Position { epoch, sequence } = theirs.last;
        let ours = self.origin.told.appended.load(Acquire);
        Error::Ahead { peer: self.peer.to_string(), epoch, theirs: sequence, ours }
    }
}
