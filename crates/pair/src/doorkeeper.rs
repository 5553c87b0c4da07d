//! Who listens at the address of a primary: it takes no messages, and answers each hello with the epoch that is
//! followed here. A hello of a later epoch means that this primary is over.

use std::{
    io::Write,
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{
            AtomicBool, AtomicU64,
            Ordering::{Acquire, Release},
        },
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use crate::epoch::Epoch;
use crate::error::{Error, Result};
use crate::inbox::Inbox;
use crate::wire::{Frame, Reason};

/// Between two looks whether somebody knocks.
const LOOK_EACH: Duration = Duration::from_millis(20);
/// How long somebody who knocks has to say hello.
const HELLO_WITHIN: Duration = Duration::from_millis(500);

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    epoch: AtomicU64,
    later: Mutex<Option<(Epoch, String)>>,
}

/// A listening thread.
#[derive(Debug)]
pub(crate) struct Doorkeeper {
    listener: Option<TcpListener>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Doorkeeper {
    pub(crate) fn bind(address: SocketAddr) -> Result<Doorkeeper> {
        let listener = TcpListener::bind(address).map_err(Error::io("listen on", address))?;
        Doorkeeper::at(listener)
    }

    /// Keeps the door of a listener that is there already.
    pub(crate) fn at(listener: TcpListener) -> Result<Doorkeeper> {
        listener.set_nonblocking(true).map_err(Error::io("listen on", "its address"))?;
        Ok(Doorkeeper { listener: Some(listener), shared: Arc::default(), thread: None })
    }

    /// Begins to answer, in the name of this epoch.
    pub(crate) fn reign(&mut self, epoch: Epoch) {
        self.shared.epoch.store(epoch.bits(), Release);
        let Some(listener) = self.listener.take() else { return };
        let shared = Arc::clone(&self.shared);
        let thread = thread::Builder::new().name("pair-door".into());
        self.thread = thread.spawn(move || keep(&listener, &shared)).ok();
    }

    /// A later epoch that somebody has said hello with, and who.
    pub(crate) fn heard(&self) -> Option<(Epoch, String)> {
        self.shared.later.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Doorkeeper {
    fn drop(&mut self) {
        self.shared.stop.store(true, Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn keep(listener: &TcpListener, shared: &Shared) {
    while !shared.stop.load(Acquire) {
        match listener.accept() {
            // Whoever does not speak our language is not answered.
            Ok((stream, peer)) => drop(answer(stream, peer, shared)),
            Err(_) => thread::sleep(LOOK_EACH),
        }
    }
}

fn answer(mut stream: TcpStream, peer: SocketAddr, shared: &Shared) -> Option<()> {
    stream.set_nonblocking(false).ok()?;
    stream.set_read_timeout(Some(HELLO_WITHIN)).ok()?;
    stream.set_write_timeout(Some(HELLO_WITHIN)).ok()?;
    let mut inbox = Inbox::new(256);
    let theirs = loop {
        match inbox.next().ok()? {
            Some(Frame::Hello { greeting, .. }) => break greeting.epoch,
            Some(_) => return None,
            None => (inbox.fill(&mut stream).ok()? > 0).then_some(())?,
        }
    };
    let mine = Epoch::from_bits(shared.epoch.load(Acquire));
    if theirs > mine {
        let mut later = shared.later.lock().unwrap_or_else(PoisonError::into_inner);
        *later = Some((theirs, peer.to_string()));
    }
    let mut bytes = Vec::new();
    Frame::Refused { reason: Reason::Primary, epoch: mine }.encode(&mut bytes);
    stream.write_all(&bytes).ok()
}
