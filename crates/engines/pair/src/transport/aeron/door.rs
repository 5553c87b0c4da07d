//! Where knocks come in: a thread that opens a way to each who knocks, so that the one that accepts never waits.

use std::{
    io::{self, ErrorKind},
    net::SocketAddr,
    os::fd::BorrowedFd,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
        mpsc::{Receiver, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rusteron_client::AeronSubscription;

use super::{
    super::{Connection, Door},
    KNOCKS, Place,
    driver::{self, Media},
    stream::Stream,
    wait,
};

const LOOK_EACH: Duration = Duration::from_millis(1);
/// A way that is not open by then is given up: whoever knocked is gone.
const OPEN_WITHIN: Duration = Duration::from_secs(2);

type Guest = (Box<dyn Connection>, SocketAddr);

pub(in super::super) fn listen(address: SocketAddr) -> io::Result<Box<dyn Door>> {
    let media = driver::media()?;
    let (knocks, address) = media.subscribe(address, KNOCKS)?;
    let (guest, guests) = channel();
    let stop = Arc::new(AtomicBool::new(false));
    let hall = Hall { media, knocks, guest, stop: Arc::clone(&stop) };
    let thread =
        thread::Builder::new().name("pair-aeron-door".into()).spawn(move || hall.keep())?;
    Ok(Box::new(AeronDoor { address, guests, stop, thread: Some(thread) }))
}

struct AeronDoor {
    address: SocketAddr,
    guests: Receiver<Guest>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Door for AeronDoor {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn accept(&mut self) -> Option<Guest> {
        self.guests.try_recv().ok()
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

impl Drop for AeronDoor {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What is behind the door.
struct Hall {
    knocks: AeronSubscription,
    guest: Sender<Guest>,
    stop: Arc<AtomicBool>,
    media: Arc<Media>,
}

impl Hall {
    fn keep(&self) {
        while !self.stop.load(Relaxed) {
            match Place::heard("knock", &self.knocks) {
                // Who is gone again knocks again if it must.
                Some(place) => drop(self.open(&place)),
                None => thread::sleep(LOOK_EACH),
            }
        }
    }

    fn open(&self, there: &Place) -> io::Result<()> {
        let until = Instant::now() + OPEN_WITHIN;
        let (ears, here) = self.media.subscribe_near(there.address)?;
        let voice = self.media.publish(there.address, there.stream)?;
        let is_over = || self.stop.load(Relaxed).then_some(());
        wait(until, || is_over().or(voice.is_connected().then_some(())))?;
        wait(until, || voice.offer(here.told("welcome").as_bytes()).ok())?;
        let stream = Stream::new(Arc::clone(&self.media), voice, ears);
        let guest = (Box::new(stream) as Box<dyn Connection>, there.address);
        self.guest.send(guest).map_err(|_| ErrorKind::Interrupted.into())
    }
}
