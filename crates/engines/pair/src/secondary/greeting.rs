//! Who knocks: a connection that has not said who it is, and what is answered when it has.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use super::{Followed, Secondary, following::Following};
use crate::error::Result;
use crate::inbox::Inbox;
use crate::state::State;
use crate::transport::Connection;
use crate::wire::{Frame, Greeting, Reason, Wants};

const HELLO_WITHIN: Duration = Duration::from_secs(1);
/// Taken from the primary at once, at first.
const INBOX_BYTES: usize = 256 << 10;

pub(super) struct Knocking {
    pub(super) stream: Box<dyn Connection>,
    peer: SocketAddr,
    inbox: Inbox,
    since: Instant,
}

impl Secondary {
    /// Lets the next one in, and answers who has said hello.
    pub(super) fn open_door(&mut self, now: Instant) -> Result<()> {
        let is_late =
            |knocking: &Knocking| now.saturating_duration_since(knocking.since) > HELLO_WITHIN;
        if self.knocking.as_ref().is_none_or(is_late) {
            self.knocking = self.accept(now);
        }
        let Some(knocking) = &mut self.knocking else { return Ok(()) };
        let is_over = matches!(knocking.inbox.fill(&mut knocking.stream), Ok(0));
        let hello = match knocking.inbox.next() {
            Ok(Some(Frame::Hello { greeting, wants })) => Some((greeting, wants)),
            Ok(None) if !is_over => return Ok(()),
            _ => None,
        };
        match (self.knocking.take(), hello) {
            (Some(knocking), Some((greeting, wants))) => self.answer(knocking, greeting, wants),
            _ => Ok(()),
        }
    }

    fn accept(&mut self, now: Instant) -> Option<Knocking> {
        let (stream, peer) = self.door.accept()?;
        Some(Knocking { stream, peer, inbox: Inbox::new(INBOX_BYTES), since: now })
    }

    fn answer(&mut self, knocking: Knocking, theirs: Greeting, wants: Wants) -> Result<()> {
        let Knocking { mut stream, peer, inbox, .. } = knocking;
        if let Some(reason) = self.objection(theirs, wants) {
            let mut bytes = Vec::new();
            Frame::Refused { reason, epoch: self.node.state.epoch }.encode(&mut bytes);
            // Whether it hears that is its own affair.
            let _ = stream.write_all(&bytes);
            self.note(Followed::Refused { peer, reason });
            return Ok(());
        }
        self.promise(theirs)?;
        let mut bytes = Vec::new();
        Frame::Join(self.greeting()).encode(&mut bytes);
        if stream.write_all(&bytes).is_err() {
            return Ok(());
        }
        let mut following = Following::new((peer, stream, inbox), theirs.epoch, wants);
        following.acknowledge(self.store.last().sequence, self.durable);
        self.following = Some(following);
        self.note(Followed::Began { peer, epoch: theirs.epoch });
        Ok(())
    }

    fn objection(&self, theirs: Greeting, wants: Wants) -> Option<Reason> {
        let State { identity, node, epoch, .. } = self.node.state;
        if theirs.identity == 0
            || (identity != 0 && identity != theirs.identity)
            || theirs.node == node
        {
            return Some(Reason::Identity);
        }
        if theirs.epoch < epoch {
            return Some(Reason::Fenced);
        }
        (wants == Wants::Durable && !self.options.store.is_durable()).then_some(Reason::NoSync)
    }

    /// From now on no earlier primary is followed; on the disk before it is told.
    fn promise(&mut self, theirs: Greeting) -> Result<()> {
        let Greeting { identity, epoch, .. } = theirs;
        if (identity, epoch) == (self.node.state.identity, self.node.state.epoch) {
            return Ok(());
        }
        self.node.keep(State { identity, epoch, ..self.node.state.clone() })
    }

    fn greeting(&self) -> Greeting {
        let State { identity, node, epoch, .. } = self.node.state;
        Greeting { identity, epoch, node, last: self.store.last() }
    }
}
