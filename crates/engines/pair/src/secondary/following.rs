use std::{
    io::{self, ErrorKind},
    net::SocketAddr,
    ops::ControlFlow,
    os::fd::BorrowedFd,
    time::{Duration, Instant},
};

use crate::epoch::{Begin, Epoch, Position};
use crate::error::Result;
use crate::inbox::Inbox;
use crate::state::{NodeDir, State};
use crate::store::{self, Read, Store};
use crate::transport::Connection;
use crate::wire::{Frame, Reason, Wants};

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

struct Wrong(String);

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
            Err(error) if is_nothing(&error) => return Ok(self.rest()),
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
            Ok(None) => self.rest_or(Heard::Something),
            Ok(Some(reason)) => Heard::Refusal(reason),
            Err(Wrong(what)) => Heard::End(what),
        })
    }

    /// Gives a refusal, if one came.
    fn take_frames(
        &mut self,
        node: &mut NodeDir,
        store: &mut Store,
    ) -> Result<std::result::Result<Option<Reason>, Wrong>> {
        loop {
            match self.inbox.next() {
                Ok(None) => return Ok(Ok(None)),
                Ok(Some(Frame::Entry { at, payload })) => {
                    let last = store.last();
                    if at.sequence != last.sequence + 1
                        || at.epoch < last.epoch
                        || at.epoch > self.epoch
                    {
                        return Ok(Err(Wrong(format!("entry {at:?} does not follow {last:?}"))));
                    }
                    if at.epoch != last.epoch {
                        begin(node, at)?;
                    }
                    store.add(at, payload)?;
                }
                Ok(Some(Frame::Beat { .. })) => {}
                Ok(Some(Frame::Fetch { from })) => {
                    store.commit()?;
                    if let Err(wrong) = self.give_back(node, store, from)? {
                        return Ok(Err(wrong));
                    }
                }
                Ok(Some(Frame::Refused { reason, .. })) => return Ok(Ok(Some(reason))),
                Ok(Some(other)) => {
                    return Ok(Err(Wrong(format!("{other:?} where an entry was due"))));
                }
                Err(flaw) => return Ok(Err(Wrong(flaw.to_string()))),
            }
        }
    }

    /// Gives stored messages back, or says that they are not kept any more: then the primary stays without them.
    fn give_back(
        &mut self,
        node: &NodeDir,
        store: &Store,
        from: u64,
    ) -> Result<std::result::Result<(), Wrong>> {
        Ok(match give_back(&mut *self.stream, node, store, from)? {
            Ok(Read::Done) => Ok(()),
            Ok(Read::Gone { oldest }) => {
                let (reason, epoch) = (Reason::Gone, self.epoch);
                Frame::Refused { reason, epoch }.encode(&mut self.out);
                // It may be gone already; then the next read says so.
                drop(self.flush());
                Err(Wrong(format!("it asks for message {from}, and the oldest here is {oldest}")))
            }
            Err(error) => Err(Wrong(format!("what it asked for was not taken: {error}"))),
        })
    }

    /// Says how far we are, as soon as the primary takes it. What it has not taken is overtaken by the new figure.
    pub(super) fn acknowledge(&mut self, received: u64, durable: u64) {
        let ack = Frame::Ack { epoch: self.epoch, received, durable };
        if self.out.len() < 2048 {
            ack.encode(&mut self.out);
        }
    }

    fn rest(&mut self) -> Heard {
        self.rest_or(Heard::Nothing)
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

/// Sends stored messages back to the primary whose they were. It waits for nothing else meanwhile.
#[cold]
fn give_back(
    stream: &mut dyn Connection,
    node: &NodeDir,
    store: &Store,
    from: u64,
) -> Result<io::Result<Read>> {
    let mut sent = stream.wait_at_most(Some(GIVEN_BACK_WITHIN));
    let mut bytes = Vec::new();
    let read = store::read(&node.store_dir(), store.kind(), from, |at, payload| {
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
    Ok(sent.and_then(|()| stream.wait_at_most(None)).map(|()| read))
}

fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// A new epoch begins with this message: known before the message is kept.
#[cold]
fn begin(node: &mut NodeDir, at: Position) -> Result<()> {
    let mut state: State = node.state.clone();
    state.history.retain(|begin| begin.first_sequence < at.sequence);
    state.history.push(Begin { epoch: at.epoch, first_sequence: at.sequence });
    node.keep(state)
}
