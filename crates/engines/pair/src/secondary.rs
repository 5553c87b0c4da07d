//! A secondary: follows one primary at a time, keeps what it sends, and says how far it is.
//!
//! It listens; primaries dial. It never becomes a primary by itself: that takes [`Secondary::promote`], or
//! [`crate::request_promotion`] from another process of the same host. Whom it follows is a promise, and on the disk
//! before the first answer: a primary of an earlier epoch is refused from then on.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use following::{Following, Heard, Knocking};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::doorkeeper::Doorkeeper;
use crate::epoch::{Epoch, Position};
use crate::error::{Error, Result};
use crate::event::Events;
use crate::options::{OnDiverged, PrimaryOptions, SecondaryOptions, Waiting};
use crate::primary::{Primary, promote_node};
use crate::state::{self, NodeDir, State};
use crate::store::Store;
use crate::transport::{Door, LOOK_AGAIN};
use crate::wire::Reason;

mod following;

const CHORES_EACH: Duration = Duration::from_millis(5);
/// Polls between two looks at the clock while it spins.
const SPINS: u32 = 256;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Followed {
    Began {
        peer: SocketAddr,
        epoch: Epoch,
    },
    Ended {
        reason: String,
    },
    Refused {
        peer: SocketAddr,
        reason: Reason,
    },
    /// It held messages that the primary never had.
    SetAside {
        path: PathBuf,
        last: Position,
    },
}

impl fmt::Display for Followed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Followed::Began { peer, epoch } => write!(f, "follows {peer} in epoch {epoch}"),
            Followed::Ended { reason } => write!(f, "the primary is gone: {reason}"),
            Followed::Refused { peer, reason } => {
                write!(f, "{peer} is refused as primary: {}", reason.text_of_primary())
            }
            Followed::SetAside { path, last } => {
                let Position { epoch, sequence } = last;
                write!(
                    f,
                    "messages up to {sequence} of epoch {epoch} are set aside in {}",
                    path.display()
                )
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SecondaryStatus {
    pub epoch: Epoch,
    pub last: Position,
    pub is_live: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Stopped,
    /// Call [`Secondary::promote`].
    PromotionAsked,
}

pub struct Secondary {
    options: SecondaryOptions,
    node: NodeDir,
    store: Store,
    door: Box<dyn Door>,
    knocking: Option<Knocking>,
    following: Option<Following>,
    durable: u64,
    chores_at: Instant,
    events: Events<Followed>,
}

impl Secondary {
    /// Made where it is not there; it listens.
    pub fn open(options: SecondaryOptions) -> Result<Secondary> {
        let mut node = NodeDir::open(&options.dir, options.node)?;
        let mut store = Store::open(&node.store_dir(), &options.store)?;
        let last = store.last().sequence;
        // What was promised to begin and was then lost with the power has not begun.
        let mut history = node.state.history.clone();
        history.retain(|begin| begin.first_sequence <= last);
        let identity = match node.state.identity {
            0 => options.identity,
            known => known,
        };
        node.keep(State { identity, history, ..node.state.clone() })?;
        store.sync_past()?;
        let durable = if options.store.is_durable() { last } else { 0 };
        Ok(Secondary {
            door: options.transport.listen(options.listen)?,
            options,
            node,
            store,
            knocking: None,
            following: None,
            durable,
            chores_at: Instant::now(),
            events: Events::new(),
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.door.address()
    }

    /// Until `stop` is set or a promotion is asked for. On each return all that came is in the
    /// store. Fails when the store has failed, or the primary says that this node cannot follow.
    pub fn run(&mut self, stop: &AtomicBool) -> Result<Ended> {
        self.run_while(|_| !stop.load(Relaxed))
    }

    /// The same while `goes_on` says so; it is asked some hundred times a second, also while messages come.
    pub fn run_while(&mut self, mut goes_on: impl FnMut(&mut Secondary) -> bool) -> Result<Ended> {
        let mut look_at = Instant::now();
        loop {
            for _ in 0..SPINS {
                if !self.poll()? {
                    self.pause()?;
                    if self.options.waiting == Waiting::Block {
                        break;
                    }
                }
            }
            let now = Instant::now();
            if now < look_at {
                continue;
            }
            look_at = now + CHORES_EACH;
            if !goes_on(self) {
                self.drain()?;
                return Ok(Ended::Stopped);
            }
            if state::is_asked(self.node.dir()) {
                return Ok(Ended::PromotionAsked);
            }
        }
    }

    /// [`Self::run`] on a thread of its own.
    pub fn follow(mut self) -> Result<Follower> {
        let (address, stop) = (self.address(), Arc::<AtomicBool>::default());
        let told = Arc::clone(&stop);
        let thread = thread::Builder::new().name("pair-secondary".into()).spawn(move || {
            let ended = self.run(&told);
            (self, ended)
        });
        let thread = thread.map_err(Error::io("start a thread for", address))?;
        Ok(Follower { address, stop, thread: Some(thread) })
    }

    /// Takes what has come, keeps it, and answers; `true` if anything came. Never waits for a primary.
    pub fn poll(&mut self) -> Result<bool> {
        let has_come = self.hear()?;
        let now = Instant::now();
        if now >= self.chores_at {
            self.chores_at = now + CHORES_EACH;
            self.do_chores(now)?;
        }
        Ok(has_come)
    }

    fn pause(&self) -> Result<()> {
        if self.options.waiting == Waiting::Spin {
            std::hint::spin_loop();
            return Ok(());
        }
        let Some(door) = self.door.fd() else {
            std::thread::sleep(LOOK_AGAIN);
            return Ok(());
        };
        let knocking = self.knocking.as_ref().and_then(|knocking| knocking.stream.fd());
        let following = self.following.as_ref().and_then(Following::fd);
        let mut fds = [Some(door), knocking, following]
            .map(|fd| PollFd::from_borrowed_fd(fd.unwrap_or(door), PollFlags::IN));
        let limit = Timespec { tv_sec: 0, tv_nsec: CHORES_EACH.as_nanos() as i64 };
        match poll(&mut fds, Some(&limit)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(Error::io("poll", self.address())(error.into())),
        }
    }

    fn hear(&mut self) -> Result<bool> {
        let Some(following) = &mut self.following else { return Ok(false) };
        match following.hear(&mut self.node, &mut self.store, &mut self.durable)? {
            Heard::Nothing => Ok(false),
            Heard::Something => Ok(true),
            Heard::End(reason) => {
                self.lose(reason);
                Ok(true)
            }
            Heard::Refusal(reason) => self.refused(reason).map(|()| true),
        }
    }

    fn lose(&mut self, reason: String) {
        self.following = None;
        self.events.note(Followed::Ended { reason });
    }

    fn refused(&mut self, reason: Reason) -> Result<()> {
        let peer = self.following.take().map_or(String::new(), |one| one.peer.to_string());
        if reason == Reason::Diverged && self.options.on_diverged == OnDiverged::SetAside {
            return self.set_aside();
        }
        Err(Error::Refused { peer, reason })
    }

    fn set_aside(&mut self) -> Result<()> {
        let last = self.store.last();
        let from = self.node.store_dir();
        let path = free_name(&from, last.epoch);
        let failed = || Error::io("rename", from.display());
        std::fs::rename(&from, &path).map_err(failed())?;
        self.store = Store::open(&from, &self.options.store)?;
        self.durable = 0;
        self.node.keep(State { history: Vec::new(), ..self.node.state.clone() })?;
        self.events.note(Followed::SetAside { path, last });
        Ok(())
    }

    fn do_chores(&mut self, now: Instant) -> Result<()> {
        let timeout = self.options.timeout;
        if self.following.as_ref().is_some_and(|following| following.is_silent(now, timeout)) {
            self.lose(format!("silent for {} ms", timeout.as_millis()));
        }
        self.open_door(now)?;
        self.store.idle()
    }

    pub fn next_event(&mut self) -> Option<Followed> {
        self.events.next()
    }

    pub fn status(&self) -> SecondaryStatus {
        SecondaryStatus {
            epoch: self.node.state.epoch,
            last: self.store.last(),
            is_live: self.following.is_some(),
        }
    }

    /// Takes what is in the socket, so that nothing that was sent is dropped without need.
    fn drain(&mut self) -> Result<()> {
        while self.hear()? {}
        self.store.commit()
    }

    /// Becomes the primary: a new epoch over all that this node knows of, written down before anything is done
    /// in its name. Directory, number, store, transport and address stay; the
    /// rest is from `options`. It goes on listening, and
    /// answers its old primary that its epoch is over.
    pub fn promote(mut self, options: PrimaryOptions) -> Result<Primary> {
        options.validate()?;
        self.drain()?;
        promote_node(&mut self.node)?;
        state::promotion_is_done(self.node.dir());
        let options = PrimaryOptions {
            dir: self.options.dir.clone(),
            node: self.options.node,
            store: self.options.store.clone(),
            transport: self.options.transport,
            ..options
        };
        let Secondary { node, store, door, .. } = self;
        // The store has one writer: ours goes before the primary opens its own.
        drop(store);
        Primary::reign(options, node, Some(Doorkeeper::at(door)))
    }
}

/// A secondary on a thread of its own, which ends when this is dropped.
pub struct Follower {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<(Secondary, Result<Ended>)>>,
}

impl Follower {
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops it; all that came is in its store.
    pub fn end(self) -> Result<Secondary> {
        self.stop.store(true, Relaxed);
        let (secondary, ended) = self.wait();
        ended.map(|_| secondary)
    }

    /// Waits until it ends by itself.
    pub fn wait(mut self) -> (Secondary, Result<Ended>) {
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(ended)) => ended,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => unreachable!("it is waited for once"),
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn free_name(store: &std::path::Path, epoch: Epoch) -> PathBuf {
    let name = |number: u32| store.with_file_name(format!("store.{epoch}.aside-{number}"));
    let mut number = 1;
    while name(number).exists() {
        number += 1;
    }
    name(number)
}
