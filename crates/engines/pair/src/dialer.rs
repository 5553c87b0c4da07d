//! Beside the primary: a thread for each secondary that connects, greets, and brings it up to date from the store,
//! so that the primary's own thread never waits for a connection or reads a file.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::epoch::{Begin, Epoch, Position, end_of};
use crate::error::{Error, Result};
use crate::link::Joined;
use crate::store::{self, Read};
use crate::transport::{Connection, Transport};
use crate::wire::{Frame, Greeting, Inbox, Reason, Wants};

/// From a failure to the next try.
const RETRY: Duration = Duration::from_millis(50);
/// From an answer that another try will hardly change to the next try.
const RETRY_REFUSED: Duration = Duration::from_millis(500);
const CHUNK_BYTES: usize = 64 << 10;
const ACKS_BYTES: usize = 4096;

#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) appended: AtomicU64,
    pub(crate) oldest: AtomicU64,
    /// Last message before this reign.
    pub(crate) inherited: AtomicU64,
    history: Mutex<Vec<Begin>>,
    pub(crate) stop: AtomicBool,
}

impl Told {
    pub(crate) fn history(&self) -> MutexGuard<'_, Vec<Begin>> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Origin {
    pub(crate) identity: u64,
    pub(crate) epoch: Epoch,
    pub(crate) node: u8,
    pub(crate) wants: Wants,
    pub(crate) store_dir: PathBuf,
    pub(crate) transport: Transport,
    pub(crate) timeout: Duration,
    pub(crate) told: Arc<Told>,
}

pub(crate) enum Answer {
    /// It has almost all; the next message it needs was in the outbox a moment ago.
    Joined(Joined),
    Tail(Tail),
    Failed(Error),
}

pub(crate) struct Dialer {
    answers: Receiver<Answer>,
    orders: Option<Sender<Order>>,
    thread: Option<JoinHandle<()>>,
}

enum Order {
    /// The outbox has forgotten its next message meanwhile.
    Again(Joined),
    Dial,
}

impl Dialer {
    pub(crate) fn start(peer: SocketAddr, origin: Origin) -> Result<Dialer> {
        let (answer, answers) = channel();
        let (orders, order) = channel();
        let dialing = Dialing { peer, origin, answer, order };
        let thread = thread::Builder::new().name("pair-dialer".into()).spawn(move || dialing.run());
        let thread = thread.map_err(Error::io("start a thread for", peer))?;
        Ok(Dialer { answers, orders: Some(orders), thread: Some(thread) })
    }

    pub(crate) fn answer(&self) -> Option<Answer> {
        self.answers.try_recv().ok()
    }

    pub(crate) fn dial(&self) {
        self.order(Order::Dial);
    }

    pub(crate) fn again(&self, joined: Joined) {
        self.order(Order::Again(joined));
    }

    fn order(&self, order: Order) {
        if let Some(orders) = &self.orders {
            // A dialer that died has said so on standard error; its secondary stays away.
            let _ = orders.send(order);
        }
    }

    /// Ends the thread; `stop` was told before.
    pub(crate) fn end(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

pub(crate) struct Dialing {
    pub(crate) peer: SocketAddr,
    pub(crate) origin: Origin,
    pub(crate) answer: Sender<Answer>,
    order: Receiver<Order>,
}

impl Dialing {
    fn run(self) {
        while let Some(pause) = self.dial() {
            if matches!(self.order.recv_timeout(pause), Err(RecvTimeoutError::Disconnected)) {
                return;
            }
        }
    }

    /// One connection, from its beginning to its end; gives the time to the next, `None` when there is none.
    fn dial(&self) -> Option<Duration> {
        let error = match self.join().and_then(|joined| self.hand_over(joined)) {
            Ok(goes_on) => return goes_on.then_some(RETRY),
            Err(error) => error,
        };
        let pause = match &error {
            Error::Io { source, .. } if source.kind() != ErrorKind::InvalidData => RETRY,
            _ => RETRY_REFUSED,
        };
        self.answer.send(Answer::Failed(error)).ok()?;
        Some(pause)
    }

    /// While it follows, the primary has the connection. `false` when the primary is gone.
    fn hand_over(&self, mut joined: Joined) -> Result<bool> {
        loop {
            if self.answer.send(Answer::Joined(joined)).is_err() {
                return Ok(false);
            }
            joined = match self.order.recv() {
                Ok(Order::Again(joined)) => self.catch_up(joined)?,
                Ok(Order::Dial) => return Ok(true),
                Err(_) => return Ok(false),
            }
        }
    }

    fn failed(&self, verb: &'static str) -> impl FnOnce(std::io::Error) -> Error + use<> {
        Error::io(verb, self.peer)
    }

    fn join(&self) -> Result<Joined> {
        let mut stream = self.origin.transport.connect(self.peer, self.origin.timeout)?;
        self.say(
            &mut *stream,
            Frame::Hello { greeting: self.greeting(), wants: self.origin.wants },
        )?;
        let mut inbox = Inbox::new(ACKS_BYTES);
        let theirs = self.answered(&mut *stream, &mut inbox)?;
        if self.may_fetch(&theirs) {
            self.fetch(&mut *stream, &mut inbox, &theirs)?;
        }
        self.check(&mut *stream, theirs)?;
        let last = theirs.last.sequence;
        self.catch_up(Joined { stream, inbox, next: last + 1, received: last, durable: 0 })
    }

    fn greeting(&self) -> Greeting {
        let Origin { identity, epoch, node, .. } = self.origin;
        let last = Position { epoch, sequence: self.origin.told.appended.load(Acquire) };
        Greeting { identity, epoch, node, last }
    }

    fn say(&self, stream: &mut dyn Connection, frame: Frame<'_>) -> Result<()> {
        frame.send(stream).map_err(self.failed("write to"))
    }

    fn answered(&self, stream: &mut dyn Connection, inbox: &mut Inbox) -> Result<Greeting> {
        let (mine, peer) = (self.origin.epoch, self.peer.to_string());
        match inbox.wait(stream).map_err(self.failed("read from"))? {
            Frame::Join(theirs) => Ok(theirs),
            Frame::Refused { reason: Reason::Fenced | Reason::Primary, epoch } if epoch > mine => {
                Err(Error::Fenced { mine, theirs: epoch, peer })
            }
            Frame::Refused { reason, .. } => Err(Error::Refused { peer, reason }),
            _ => Err(Error::Unexpected { peer, expected: "join" }),
        }
    }

    fn check(&self, stream: &mut dyn Connection, theirs: Greeting) -> Result<()> {
        let Greeting { last, node, .. } = theirs;
        let appended = self.origin.told.appended.load(Acquire);
        let end = end_of(&self.origin.told.history(), appended, last.epoch);
        if end.is_some_and(|end| last.sequence <= end) {
            return Ok(());
        }
        let peer = self.peer.to_string();
        if last.epoch.node() == node {
            // Its own, from when it was primary: nobody else ever had them.
            let reason = Reason::Diverged;
            self.say(stream, Frame::Refused { reason, epoch: self.origin.epoch })?;
            return Err(Error::Refused { peer, reason });
        }
        let (epoch, theirs, ours) = (last.epoch, last.sequence, end.unwrap_or(0));
        Err(Error::Ahead { peer, epoch, theirs, ours })
    }

    /// Sends from the store what is missing there, until the outbox has what comes next.
    fn catch_up(&self, mut joined: Joined) -> Result<Joined> {
        self.wait_at_most(&mut joined, Some(self.origin.timeout))?;
        while joined.next < self.origin.told.oldest.load(Acquire) {
            let before = joined.next;
            self.send_stored(&mut joined)?;
            if self.origin.told.stop.load(Relaxed) {
                return Err(self.failed("catch up")(ErrorKind::Interrupted.into()));
            }
            if joined.next == before {
                thread::sleep(Duration::from_millis(1));
            }
        }
        Ok(joined)
    }

    fn send_stored(&self, joined: &mut Joined) -> Result<()> {
        let mut chunk = Vec::with_capacity(2 * CHUNK_BYTES);
        let mut failed = None;
        let Origin { store_dir, told, .. } = &self.origin;
        let read = store::read(store_dir, joined.next, |at, payload| {
            Frame::Entry { at, payload }.encode(&mut chunk);
            joined.next = at.sequence + 1;
            if chunk.len() < CHUNK_BYTES {
                return ControlFlow::Continue(());
            }
            failed = self.write_chunk(joined, &mut chunk).err();
            match failed.is_some() || told.stop.load(Relaxed) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })?;
        if let Read::Gone { .. } = read {
            let reason = Reason::Gone;
            self.say(&mut *joined.stream, Frame::Refused { reason, epoch: self.origin.epoch })?;
            return Err(Error::Refused { peer: self.peer.to_string(), reason });
        }
        failed.map_or(Ok(()), Err)?;
        self.write_chunk(joined, &mut chunk)
    }

    /// Writes, then takes the acknowledgements that are there, or they would fill the other side's buffer.
    fn write_chunk(&self, joined: &mut Joined, chunk: &mut Vec<u8>) -> Result<()> {
        joined.stream.write_all(chunk).map_err(self.failed("write to"))?;
        chunk.clear();
        self.wait_at_most(joined, None)?;
        while joined.hear(self.origin.epoch).map_err(self.failed("read from"))? {}
        self.wait_at_most(joined, Some(self.origin.timeout))
    }

    fn wait_at_most(&self, joined: &mut Joined, limit: Option<Duration>) -> Result<()> {
        joined.stream.wait_at_most(limit).map_err(self.failed("set up"))
    }
}

// What a primary lost and its secondary has: the last messages of its own earlier reign, fetched when it starts again.
//
// That happens when it died between sending and journalling, or lost its page cache with the host. Only messages of
// its own term are taken, before it has taken any new one, and only behind a message that both hold: two stores that
// hold the same message of the same epoch hold the same before it, as an epoch has one writer.

/// Bytes that are handed to the primary at a time.
const TAIL_BYTES: usize = 1 << 20;
const LOOK_EACH: Duration = Duration::from_millis(1);

/// In order; the primary may have the first of them already.
#[derive(Default)]
pub(crate) struct Tail {
    pub(crate) entries: Vec<(Position, Vec<u8>)>,
    bytes: usize,
}

impl Dialing {
    /// Whether what they have and we lack may be the end of our own earlier reign.
    fn may_fetch(&self, theirs: &Greeting) -> bool {
        let (mine, last) = (self.origin.epoch, theirs.last);
        let is_of_our_term = (last.epoch.term(), last.epoch.node()) == (mine.term(), mine.node());
        let appended = self.origin.told.appended.load(Acquire);
        let has_begun = appended > self.origin.told.inherited.load(Acquire);
        is_of_our_term && last.epoch < mine && last.sequence > appended && !has_begun
    }

    /// Asks for it, hands it to the primary, and returns when that has it in its store.
    fn fetch(
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
        let mut tail = Tail::default();
        while *next <= theirs.last.sequence && tail.bytes < TAIL_BYTES {
            match inbox.wait(stream).map_err(self.failed("fetch from"))? {
                Frame::Entry { at, payload } if at.sequence == *next => {
                    tail.bytes += payload.len();
                    tail.entries.push((at, payload.to_vec()));
                    *next += 1;
                }
                Frame::Ack { .. } => {}
                Frame::Refused { reason: Reason::Gone, .. } => return Err(self.ahead(theirs)),
                _ => {
                    let expected = "the message that was asked for";
                    return Err(Error::Unexpected { peer: self.peer.to_string(), expected });
                }
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
