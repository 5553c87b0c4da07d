use std::io;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use super::{Followed, Secondary};
use crate::epoch::{Begin, Epoch, Position};
use crate::error::Result;
use crate::link::is_nothing;
use crate::state::{NodeDir, State};
use crate::store::{self, Read, Store};
use crate::transport::Connection;
use crate::wire::{Frame, Greeting, Inbox, Reason, Wants};

/// A primary that takes nothing of what it asked for, for so long, is lost.
const GIVEN_BACK_WITHIN: Duration = Duration::from_secs(5);

pub(super) enum Heard {
    Nothing,
    Something,
    End(String),
    Refusal(Reason),
}

pub(super) struct Following {
    pub(super) peer: SocketAddr,
    stream: Box<dyn Connection>,
    inbox: Inbox,
    epoch: Epoch,
    wants: Wants,
    /// Acknowledgements, or the rest of one, that the primary has not taken yet.
    out: Vec<u8>,
    heard: Instant,
}

impl Following {
    pub(super) fn new(
        (peer, stream, inbox): (SocketAddr, Box<dyn Connection>, Inbox),
        epoch: Epoch,
        wants: Wants,
    ) -> Following {
        let out = Vec::with_capacity(4096);
        Following { peer, stream, inbox, epoch, wants, out, heard: Instant::now() }
    }

    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.stream.fd()
    }

    pub(super) fn is_silent(&self, now: Instant, timeout: Duration) -> bool {
        now.saturating_duration_since(self.heard) > timeout
    }

    /// Once. An error is the store's.
    #[inline]
    pub(super) fn hear(
        &mut self,
        node: &mut NodeDir,
        store: &mut Store,
        durable: &mut u64,
    ) -> Result<Heard> {
        match self.inbox.fill(&mut self.stream) {
            Ok(0) => return Ok(Heard::End("the primary closed the connection".into())),
            Ok(_) => {}
            Err(error) if is_nothing(&error) => return Ok(self.rest_or(Heard::Nothing)),
            Err(error) => return Ok(Heard::End(error.to_string())),
        }
        self.heard = Instant::now();
        let taken = self.take_frames(node, store)?;
        // On receipt, before the store: that is what this degree means.
        if self.wants == Wants::Received {
            self.acknowledge(store.last().sequence, *durable);
        }
        store.commit()?;
        if self.wants == Wants::Durable {
            *durable = store.last().sequence;
            self.acknowledge(*durable, *durable);
        }
        Ok(match taken {
            Heard::Something => self.rest_or(Heard::Something),
            other => other,
        })
    }

    fn take_frames(&mut self, node: &mut NodeDir, store: &mut Store) -> Result<Heard> {
        loop {
            match self.inbox.next() {
                Ok(None) => return Ok(Heard::Something),
                Ok(Some(Frame::Entry { at, payload })) => {
                    let last = store.last();
                    if at.sequence != last.sequence + 1
                        || at.epoch < last.epoch
                        || at.epoch > self.epoch
                    {
                        return Ok(Heard::End(format!("entry {at:?} does not follow {last:?}")));
                    }
                    if at.epoch != last.epoch {
                        begin(node, at)?;
                    }
                    store.add(at, payload)?;
                }
                Ok(Some(Frame::Beat { .. })) => {}
                Ok(Some(Frame::Fetch { from })) => {
                    store.commit()?;
                    if let Some(end) = self.give_back(node, store, from)? {
                        return Ok(end);
                    }
                }
                Ok(Some(Frame::Refused { reason, .. })) => return Ok(Heard::Refusal(reason)),
                Ok(Some(other)) => {
                    return Ok(Heard::End(format!("{other:?} where an entry was due")));
                }
                Err(flaw) => return Ok(Heard::End(flaw.to_string())),
            }
        }
    }

    /// Sends stored messages back to the primary whose they were, or says that they are not kept any more: then it
    /// stays without them. It waits for nothing else meanwhile.
    #[cold]
    fn give_back(&mut self, node: &NodeDir, store: &Store, from: u64) -> Result<Option<Heard>> {
        let stream = &mut *self.stream;
        let mut sent = stream.wait_at_most(Some(GIVEN_BACK_WITHIN));
        let mut bytes = Vec::new();
        let read = store::read(&node.store_dir(), from, |at, payload| {
            bytes.clear();
            Frame::Entry { at, payload }.encode(&mut bytes);
            if sent.is_ok() {
                sent = stream.write_all(&bytes);
            }
            match sent.is_ok() && at.sequence < store.last().sequence {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        })?;
        Ok(match (sent.and_then(|()| stream.wait_at_most(None)), read) {
            (Ok(()), Read::Done) => None,
            (Ok(()), Read::Gone { oldest }) => {
                let (reason, epoch) = (Reason::Gone, self.epoch);
                Frame::Refused { reason, epoch }.encode(&mut self.out);
                // It may be gone already; then the next read says so.
                drop(self.flush());
                let what = format!("it asks for message {from}, and the oldest here is {oldest}");
                Some(Heard::End(what))
            }
            (Err(error), _) => {
                Some(Heard::End(format!("what it asked for was not taken: {error}")))
            }
        })
    }

    /// Says how far we are, as soon as the primary takes it. What it has not taken is overtaken by the new figure.
    pub(super) fn acknowledge(&mut self, received: u64, durable: u64) {
        let ack = Frame::Ack { epoch: self.epoch, received, durable };
        if self.out.len() < 2048 {
            ack.encode(&mut self.out);
        }
    }

    fn rest_or(&mut self, otherwise: Heard) -> Heard {
        match self.flush() {
            Ok(()) => otherwise,
            Err(error) => Heard::End(error.to_string()),
        }
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        while !self.out.is_empty() {
            match self.stream.write(&self.out) {
                Ok(count) => drop(self.out.drain(..count)),
                Err(error) if is_nothing(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// A new epoch begins with this message: known before the message is kept.
#[cold]
fn begin(node: &mut NodeDir, at: Position) -> Result<()> {
    let mut state: State = node.state.clone();
    state.history.retain(|begin| begin.first_sequence < at.sequence);
    state.history.push(Begin { epoch: at.epoch, first_sequence: at.sequence });
    node.keep(state)
}

// Who knocks: a connection that has not said who it is, and what is answered when it has.

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
            // Whether it hears that is its own affair.
            let _ = Frame::Refused { reason, epoch: self.node.state.epoch }.send(&mut stream);
            self.events.note(Followed::Refused { peer, reason });
            return Ok(());
        }
        self.promise(theirs)?;
        if Frame::Join(self.greeting()).send(&mut stream).is_err() {
            return Ok(());
        }
        let mut following = Following::new((peer, stream, inbox), theirs.epoch, wants);
        following.acknowledge(self.store.last().sequence, self.durable);
        self.following = Some(following);
        self.events.note(Followed::Began { peer, epoch: theirs.epoch });
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
