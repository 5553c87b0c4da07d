//! What stands between a primary and its secondary in a test: it passes frames on, and keeps back what it is told to.

#![allow(clippy::unwrap_used)]

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
};
use std::thread;
use std::time::{Duration, Instant};

use pickfs_fix::store::{Entry, EntryKind};
use pickfs_pair::wire::{Frame, parse};

const LOOK_EACH: Duration = Duration::from_micros(200);

#[derive(Default)]
struct Told {
    /// From the next report on, nothing of the primary's passes but signs of life.
    holds_reports: AtomicBool,
    /// Each once.
    came: AtomicU64,
    held: AtomicU64,
    is_over: AtomicBool,
}

pub struct Relay {
    pub address: SocketAddr,
    told: Arc<Told>,
}

impl Relay {
    /// To a secondary that listens at this address, or will.
    pub fn start(secondary: String) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, told) = (listener.local_addr().unwrap(), Arc::<Told>::default());
        listener.set_nonblocking(true).unwrap();
        let shared = Arc::clone(&told);
        thread::spawn(move || {
            while !shared.is_over.load(SeqCst) {
                if let Ok((primary, _)) = listener.accept() {
                    if let Ok(secondary) = TcpStream::connect(&secondary) {
                        pass(primary, secondary, &shared);
                    }
                }
                // SLEEP: between two looks.
                thread::sleep(LOOK_EACH);
            }
        });
        Relay { address, told }
    }

    /// Nor anything behind one.
    pub fn hold_reports(&self) {
        self.told.holds_reports.store(true, SeqCst);
    }

    pub fn release(&self) {
        self.told.holds_reports.store(false, SeqCst);
    }

    pub fn held(&self) -> u64 {
        self.told.held.load(SeqCst)
    }

    pub fn wait_held(&self, count: u64) {
        wait_for(&self.told.held, count);
    }

    /// So many reports have come; while none is held, so many were passed on.
    pub fn wait_came(&self, count: u64) {
        wait_for(&self.told.came, count);
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.told.is_over.store(true, SeqCst);
    }
}

fn wait_for(reports: &AtomicU64, count: u64) {
    let began = Instant::now();
    while reports.load(SeqCst) < count {
        let waited = began.elapsed();
        assert!(waited < pickfs_testkit::PATIENCE, "{reports:?} of {count} reports");
        // SLEEP: between two looks.
        thread::sleep(LOOK_EACH);
    }
}

/// Until one side ends.
fn pass(mut primary: TcpStream, mut secondary: TcpStream, told: &Told) {
    for stream in [&primary, &secondary] {
        stream.set_nodelay(true).unwrap();
        stream.set_nonblocking(true).unwrap();
    }
    let (mut there, mut back, mut seen) = (Vec::new(), Vec::new(), 0);
    while !told.is_over.load(SeqCst) {
        let is_alive = take(&mut primary, &mut there) && take(&mut secondary, &mut back);
        let ready = passable(&there, &mut seen, told);
        if !is_alive || !give(&mut secondary, &mut there, ready) {
            return;
        }
        seen -= ready;
        let all = back.len();
        if !give(&mut primary, &mut back, all) {
            return;
        }
        // SLEEP: between two looks.
        thread::sleep(LOOK_EACH);
    }
}

/// How many bytes may pass; `seen` is up to where reports were counted.
fn passable(bytes: &[u8], seen: &mut usize, told: &Told) -> usize {
    let holds = told.holds_reports.load(SeqCst);
    let (mut at, mut ready) = (0, None);
    while let Some((frame, length)) = parse(&bytes[at..]).unwrap() {
        if is_report(&frame) {
            let new = u64::from(at >= *seen);
            told.came.fetch_add(new, SeqCst);
            if holds {
                ready.get_or_insert(at);
                told.held.fetch_add(new, SeqCst);
            }
        }
        at += length;
    }
    *seen = (*seen).max(at);
    ready.unwrap_or(at)
}

fn is_report(frame: &Frame<'_>) -> bool {
    let Frame::Entry { payload, .. } = frame else { return false };
    Entry::decode(payload).is_some_and(|entry| entry.kind == EntryKind::OutBusiness)
}

/// `false` at the end.
fn take(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> bool {
    let mut some = [0; 4096];
    match stream.read(&mut some) {
        Ok(0) => false,
        Ok(count) => {
            bytes.extend_from_slice(&some[..count]);
            true
        }
        Err(error) => error.kind() == ErrorKind::WouldBlock,
    }
}

/// Waits for whoever is slow.
fn give(stream: &mut TcpStream, bytes: &mut Vec<u8>, count: usize) -> bool {
    let mut given = 0;
    while given < count {
        match stream.write(&bytes[given..count]) {
            Ok(more) => given += more,
            // SLEEP: between two looks.
            Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(LOOK_EACH),
            Err(_) => return false,
        }
    }
    bytes.drain(..count);
    true
}
