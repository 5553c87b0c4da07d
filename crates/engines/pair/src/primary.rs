//! The primary: takes messages, keeps them, sends them to the secondaries, and says when they are safe.
//!
//! It belongs to one thread and does nothing by itself: [`Primary::poll`] must be called at least four times in each
//! time-out. Beside it are a thread for each secondary that dials and catches up, and one that listens where that was
//! asked. `append` takes a message and makes no system call (a journal buffers it; a queue stores it); `poll` sends
//! to all secondaries, then writes and syncs the local store while the messages travel, then takes
//! acknowledgements. What was appended during one poll goes out together in the next.

use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering::Release;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::dialer::{Answer, Dialer, Told};
use crate::doorkeeper::Doorkeeper;
use crate::epoch::{Begin, Epoch, Position};
use crate::error::{Error, Result};
use crate::event::{Event, Events};
use crate::gate::{Gate, Seen, Turned};
use crate::link::{Joined, Link};
use crate::options::{Degree, PrimaryOptions, Waiting};
use crate::outbox::Outbox;
use crate::state::{NodeDir, State};
use crate::store::{Read, Store, read};
use crate::transport::LOOK_AGAIN;
use crate::wire::{ENTRY_HEAD_BYTES, FRAME_BYTES_MAX, Frame, HEAD_BYTES};

pub(crate) use birth::promote_node;
pub use birth::{new_identity, promote};

mod birth;
mod inheriting;

/// [`Primary::is_safe`] says whether it is safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket {
    /// From 1.
    pub sequence: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    pub epoch: Epoch,
    pub appended: u64,
    /// All up to this one are in the local store, synced if it syncs.
    pub local: u64,
    /// All up to this one are safe.
    pub safe: u64,
    pub live: usize,
    /// It goes on with the local store alone.
    pub is_degraded: bool,
}

const CHORES_EACH: Duration = Duration::from_millis(1);

struct Seat {
    peer: SocketAddr,
    dialer: Dialer,
    link: Option<Link>,
    left: Seen,
    absent: String,
}

pub struct Primary {
    options: PrimaryOptions,
    node: NodeDir,
    epoch: Epoch,
    store: Store,
    outbox: Outbox,
    frame: Vec<u8>,
    payload_bytes_max: usize,
    appended: u64,
    local: u64,
    /// The last message before this reign.
    inherited: u64,
    /// At which of the secondaries our last message was found, with more behind it.
    joined: Option<usize>,
    /// Epochs that began in what was taken back, and are not written down yet.
    begun: Vec<Begin>,
    seats: Vec<Seat>,
    gate: Gate,
    events: Events<Event>,
    told: Arc<Told>,
    doorkeeper: Option<Doorkeeper>,
    chores_at: Instant,
    fenced: Option<(Epoch, String)>,
    /// What connections share, kept between them.
    _shared: Box<dyn std::any::Any + Send>,
}

impl Seat {
    fn seen(&self) -> Seen {
        self.link.as_ref().map_or(self.left, Link::seen)
    }
}

impl Primary {
    /// Takes a message. It is not safe before [`Self::poll`] has said so.
    ///
    /// # Errors
    /// [`Error::TooFew`], [`Error::Behind`] and [`Error::TooLarge`]: nothing was taken. [`Error::Fenced`]: another
    /// node is primary. Any other: the local store has failed, and this node should stop.
    #[inline]
    pub fn append(&mut self, payload: &[u8]) -> Result<Ticket> {
        self.check_open()?;
        if payload.len() > self.payload_bytes_max {
            return Err(Error::TooLarge {
                payload_bytes: payload.len(),
                limit_bytes: self.payload_bytes_max,
            });
        }
        self.make_room(ENTRY_HEAD_BYTES + payload.len())?;
        let at = Position { epoch: self.epoch, sequence: self.appended + 1 };
        self.frame.clear();
        Frame::Entry { at, payload }.encode(&mut self.frame);
        self.store.add_record(at, &self.frame[HEAD_BYTES..])?;
        self.outbox.push(&self.frame);
        self.appended = at.sequence;
        self.told.appended.store(at.sequence, Release);
        self.told.oldest.store(self.outbox.oldest_sequence(), Release);
        Ok(Ticket { sequence: at.sequence })
    }

    fn check_open(&self) -> Result<()> {
        if let Some((theirs, peer)) = &self.fenced {
            let (mine, peer) = (self.epoch, peer.clone());
            return Err(Error::Fenced { mine, theirs: *theirs, peer });
        }
        let open = self.gate.is_open(self.seats.iter().map(Seat::seen));
        open.map_err(|live| Error::TooFew { live, needed: self.options.copies })
    }

    /// Makes sure that no secondary that follows loses a frame. One that is a whole buffer behind is a drag on the
    /// others: it is let go, and catches up from the store, if enough others are there.
    fn make_room(&mut self, frame_bytes: usize) -> Result<()> {
        let limit = self.outbox.forgets_below(frame_bytes);
        let is_behind = |seat: &Seat| seat.link.as_ref().is_some_and(|link| link.place() < limit);
        while let Some(slow) = self.seats.iter().position(is_behind) {
            let live = self.live();
            let needed = self.options.copies * usize::from(self.options.degree.needs_secondaries());
            let may_go = live > needed || self.options.on_loss == crate::OnLoss::Degrade;
            if !may_go {
                let buffered_bytes = self.outbox.capacity_bytes();
                return Err(Error::Behind { buffered_bytes });
            }
            let behind = format!("more than {} bytes behind", self.outbox.capacity_bytes());
            self.lose(slow, behind);
            self.look();
        }
        Ok(())
    }

    /// Sends what was appended, writes it to the local store, takes acknowledgements, and does what is due now
    /// and then. Gives the last message that is safe; all before it are safe too.
    pub fn poll(&mut self) -> Result<u64> {
        self.send();
        self.keep()?;
        self.hear()
    }

    /// The first part of a poll: hands what was appended to the network.
    #[inline]
    pub fn send(&mut self) {
        for at in 0..self.seats.len() {
            let Some(link) = &mut self.seats[at].link else { continue };
            if let Err(error) = link.send(&self.outbox) {
                self.lose(at, error.to_string());
            }
        }
    }

    /// The second part: writes what was appended to the local store, and syncs it if the store does.
    #[inline]
    pub fn keep(&mut self) -> Result<()> {
        if self.local < self.appended {
            self.store.commit()?;
            self.local = self.appended;
        }
        Ok(())
    }

    /// The third part: takes acknowledgements, and gives the last message that is safe.
    #[inline]
    pub fn hear(&mut self) -> Result<u64> {
        for at in 0..self.seats.len() {
            let Some(link) = &mut self.seats[at].link else { continue };
            if let Err(error) = link.hear() {
                self.lose(at, error.to_string());
            }
        }
        let now = Instant::now();
        if now >= self.chores_at {
            self.do_chores(now);
        }
        self.look();
        match &self.fenced {
            None => Ok(self.gate.safe()),
            Some(_) => self.check_open().map(|()| self.gate.safe()),
        }
    }

    fn look(&mut self) {
        let seats = self.seats.iter().map(Seat::seen);
        match self.gate.look(self.appended, self.local, seats) {
            None => {}
            Some(Turned::Degraded) => self.events.note(Event::Degraded { safe: self.gate.safe() }),
            Some(Turned::Restored) => self.events.note(Event::Restored { safe: self.gate.safe() }),
        }
    }

    /// Whether the message is safe, as far as the last poll saw.
    #[inline]
    pub fn is_safe(&self, ticket: Ticket) -> bool {
        ticket.sequence <= self.gate.safe()
    }

    /// Polls. [`Error::NotSafe`] when it is not in time: the message stays in the store and may
    /// become safe later.
    pub fn wait(&mut self, ticket: Ticket, timeout: Duration) -> Result<()> {
        let began = Instant::now();
        loop {
            if self.poll()? >= ticket.sequence {
                return Ok(());
            }
            let waited = began.elapsed();
            if waited >= timeout {
                let waited_ms = waited.as_millis();
                return Err(Error::NotSafe { sequence: ticket.sequence, waited_ms });
            }
            self.pause()?;
        }
    }

    /// Polls until enough secondaries follow for the degree.
    ///
    /// Until the first append after a start, messages of the last reign may come back from a secondary
    /// ([`Event::Inherited`]): read the store behind this, not before.
    pub fn wait_ready(&mut self, timeout: Duration) -> Result<()> {
        let began = Instant::now();
        while let Err(error) = self.check_open() {
            if began.elapsed() >= timeout || matches!(error, Error::Fenced { .. }) {
                return Err(error);
            }
            self.poll()?;
            std::thread::sleep(CHORES_EACH);
        }
        Ok(())
    }

    /// Lets time pass until something may have come, in the way of the options; a millisecond at most.
    #[inline]
    pub fn pause(&self) -> Result<()> {
        match self.options.waiting {
            Waiting::Spin => {
                std::hint::spin_loop();
                Ok(())
            }
            Waiting::Block => self.sleep(),
        }
    }

    fn sleep(&self) -> Result<()> {
        let mut links = self.seats.iter().filter_map(|seat| seat.link.as_ref());
        let count = links.clone().count();
        let Some(first) = links.clone().next() else {
            std::thread::sleep(CHORES_EACH);
            return Ok(());
        };
        // All links are of one transport.
        let Some(first_fd) = first.fd() else {
            std::thread::sleep(LOOK_AGAIN);
            return Ok(());
        };
        // On the stack: this may stand in a loop that must not allocate.
        let mut fds: [PollFd<'_>; PrimaryOptions::SECONDARIES_MAX] = std::array::from_fn(|_| {
            let link = links.next().unwrap_or(first);
            let has_more = link.place() < self.outbox.end();
            let out = if has_more { PollFlags::OUT } else { PollFlags::empty() };
            PollFd::from_borrowed_fd(link.fd().unwrap_or(first_fd), PollFlags::IN | out)
        });
        let limit = Timespec { tv_sec: 0, tv_nsec: CHORES_EACH.as_nanos() as i64 };
        match poll(&mut fds[..count], Some(&limit)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(Error::io("poll", "the secondaries")(error.into())),
        }
    }

    #[cold]
    fn do_chores(&mut self, now: Instant) {
        self.chores_at = now + CHORES_EACH;
        for at in 0..self.seats.len() {
            let timeout = self.options.timeout;
            if let Some(link) = &mut self.seats[at].link {
                if let Err(error) = link.keep_alive(now, timeout, &self.outbox, self.appended) {
                    self.lose(at, error.to_string());
                }
            }
            match self.seats[at].dialer.answer() {
                Some(Answer::Joined(joined)) => self.welcome(at, joined),
                Some(Answer::Tail(tail)) => {
                    if let Err(error) = self.inherit(at, tail) {
                        self.miss(at, error);
                    }
                }
                Some(Answer::Failed(error)) => self.miss(at, error),
                None => {}
            }
        }
        if let Some((epoch, peer)) = self.doorkeeper.as_ref().and_then(Doorkeeper::heard) {
            self.fence(epoch, peer);
        }
        // A failure shows at the next append, with its message.
        let _ = self.store.idle();
    }

    fn welcome(&mut self, at: usize, joined: Joined) {
        let Some(place) = self.outbox.place_of(joined.next) else {
            self.seats[at].dialer.again(joined);
            return;
        };
        let (peer, next) = (self.seats[at].peer, joined.next);
        match Link::new(joined, self.epoch, place) {
            Ok(link) => {
                let seat = &mut self.seats[at];
                seat.link = Some(link);
                seat.absent.clear();
                self.events.note(Event::Joined { peer, next });
            }
            Err(error) => self.lose(at, error.to_string()),
        }
    }

    fn lose(&mut self, at: usize, reason: String) {
        let seat = &mut self.seats[at];
        if let Some(link) = seat.link.take() {
            seat.left = Seen { is_live: false, ..link.seen() };
        }
        seat.dialer.dial();
        let peer = seat.peer;
        self.events.note(Event::Lost { peer, reason });
    }

    fn miss(&mut self, at: usize, error: Error) {
        let seat = &mut self.seats[at];
        let (peer, reason) = (seat.peer, error.to_string());
        if seat.absent != reason {
            seat.absent.clone_from(&reason);
            self.events.note(Event::Absent { peer, reason });
        }
        if let Error::Fenced { theirs, peer, .. } = error {
            self.fence(theirs, peer);
        }
    }

    /// Somebody else reigns. That is written down, so that this node does not begin as a primary again.
    fn fence(&mut self, theirs: Epoch, peer: String) {
        if self.fenced.is_some() {
            return;
        }
        self.fenced = Some((theirs, peer.clone()));
        let state = State { epoch: self.node.state.epoch.max(theirs), ..self.node.state.clone() };
        if let Err(error) = self.node.keep(state) {
            // It stays fenced while it lives, and would be told again.
            let address = self.seats.first().map(|seat| seat.peer);
            if let Some(peer) = address {
                self.events.note(Event::Absent { peer, reason: error.to_string() });
            }
        }
    }

    pub fn next_event(&mut self) -> Option<Event> {
        self.events.next()
    }

    pub fn status(&self) -> Status {
        Status {
            epoch: self.epoch,
            appended: self.appended,
            local: self.local,
            safe: self.gate.safe(),
            live: self.live(),
            is_degraded: self.gate.is_degraded(),
        }
    }

    fn live(&self) -> usize {
        self.seats.iter().filter(|seat| seat.link.is_some()).count()
    }

    pub fn degree(&self) -> Degree {
        self.options.degree
    }

    /// Up to which message `copies` secondaries are, as the degree counts: what the gate holds against the local
    /// store. For figures.
    pub fn copied(&self) -> u64 {
        self.gate.copied(self.seats.iter().map(Seat::seen))
    }

    pub fn payload_bytes_max(&self) -> usize {
        self.payload_bytes_max
    }

    /// Hands every message from number `from` on to the callback, up to the last that was appended, until it breaks.
    /// What was appended is written before; whether it is safe is another question.
    pub fn read(
        &mut self,
        from: u64,
        mut callback: impl FnMut(u64, &[u8]) -> ControlFlow<()>,
    ) -> Result<Read> {
        self.keep()?;
        let last = self.appended;
        if from > last {
            return Ok(Read::Done);
        }
        read(&self.node.store_dir(), from, |at, payload| match callback(at.sequence, payload) {
            // To look for more behind the last one would read all of the file's reserve.
            ControlFlow::Continue(()) if at.sequence < last => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        })
    }

    /// Lets go of whole files of the journal whose messages are all numbered `sequence` or lower. A secondary that
    /// lacks one of them can then not catch up from this node. A queue goes by its own retention.
    pub fn retire_through(&mut self, sequence: u64) -> Result<u32> {
        self.store.retire_through(sequence)
    }
}

impl Drop for Primary {
    fn drop(&mut self) {
        self.told.stop.store(true, Release);
        self.seats.iter_mut().for_each(|seat| seat.dialer.end());
    }
}

fn payload_bytes_max(store: &Store, buffer_bytes: usize) -> usize {
    let frame = (FRAME_BYTES_MAX).min(buffer_bytes / 4);
    store.payload_bytes_max().min(frame - ENTRY_HEAD_BYTES)
}
