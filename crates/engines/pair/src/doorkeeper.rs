//! Who listens at the address of a primary: it takes no messages, and answers each hello with the epoch that is
//! followed here. A hello of a later epoch means that this primary is over.

use std::net::SocketAddr;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::epoch::Epoch;
use crate::error::Result;
use crate::transport::{Connection, Door, Transport};
use crate::wire::{Frame, Inbox, Reason};

const LOOK_EACH: Duration = Duration::from_millis(20);
const HELLO_WITHIN: Duration = Duration::from_millis(500);

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    epoch: AtomicU64,
    later: Mutex<Option<(Epoch, String)>>,
}

pub(crate) struct Doorkeeper {
    door: Option<Box<dyn Door>>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Doorkeeper {
    pub(crate) fn bind(transport: Transport, address: SocketAddr) -> Result<Doorkeeper> {
        Ok(Doorkeeper::at(transport.listen(address)?))
    }

    pub(crate) fn at(door: Box<dyn Door>) -> Doorkeeper {
        Doorkeeper { door: Some(door), shared: Arc::default(), thread: None }
    }

    pub(crate) fn reign(&mut self, epoch: Epoch) {
        self.shared.epoch.store(epoch.bits(), Release);
        let Some(mut door) = self.door.take() else { return };
        let shared = Arc::clone(&self.shared);
        let thread = thread::Builder::new().name("pair-door".into());
        self.thread = thread.spawn(move || keep(&mut *door, &shared)).ok();
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

fn keep(door: &mut dyn Door, shared: &Shared) {
    while !shared.stop.load(Acquire) {
        match door.accept() {
            // Whoever does not speak our language is not answered.
            Some((stream, peer)) => drop(answer(stream, peer, shared)),
            None => thread::sleep(LOOK_EACH),
        }
    }
}

fn answer(mut stream: Box<dyn Connection>, peer: SocketAddr, shared: &Shared) -> Option<()> {
    stream.wait_at_most(Some(HELLO_WITHIN)).ok()?;
    let mut inbox = Inbox::new(256);
    let Frame::Hello { greeting, .. } = inbox.wait(&mut stream).ok()? else { return None };
    let theirs = greeting.epoch;
    let mine = Epoch::from_bits(shared.epoch.load(Acquire));
    if theirs > mine {
        let mut later = shared.later.lock().unwrap_or_else(PoisonError::into_inner);
        *later = Some((theirs, peer.to_string()));
    }
    Frame::Refused { reason: Reason::Primary, epoch: mine }.send(&mut stream).ok()
}
