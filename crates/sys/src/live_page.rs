//! One page of memory that a worker and the lab share, so that the lab can show how it goes while
//! the worker measures: storing a number there costs the worker no system call. Not a channel: only
//! the latest values are there, and nothing that a result depends on.
//!
//! ```no_run
//! use pickfs_sys::live_page::{LiveCounter, LivePage};
//! // the lab
//! let page = LivePage::create()?;
//! let mut worker = std::process::Command::new("pickfs");
//! page.hand_to(&mut worker);
//! println!("{} laps", page.get(LiveCounter::LapsDone));
//! // the worker
//! let page = LivePage::inherited()?.expect("the lab hands one to every worker");
//! page.set(LiveCounter::LapsDone, 1000);
//! page.raise(LiveCounter::LatencyNsMax, 250_000);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Layout: 64-bit numbers of the machine's byte order, in the order of [`LiveCounter`].
//! Source: memfd_create(2).

use crate::shared_memory::{PAGE_BYTES, SharedMemory};
use std::io;
use std::os::fd::AsFd;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

const LIVE_PAGE_FD: &str = "PICKFS_LIVE_PAGE_FD";

/// The numbers on the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveCounter {
    /// Laps finished in this phase.
    LapsDone = 0,
    /// The worst latency since somebody took it.
    LatencyNsMax = 1,
    /// Where the worker is; the worker's own numbering.
    Phase = 2,
    /// Turns that began late because the machine was not there.
    LateTurns = 3,
    /// Bytes written.
    BytesDone = 4,
    /// Operations that failed.
    Errors = 5,
    /// Time of the last store, on CLOCK_MONOTONIC: tells a slow worker from a dead one.
    SeenAtNs = 6,
}

/// The page, on either side.
#[derive(Debug)]
pub struct LivePage(SharedMemory);

impl LivePage {
    /// A new page of zeros.
    pub fn create() -> io::Result<Self> {
        SharedMemory::create("pickfs-live", PAGE_BYTES).map(Self)
    }

    /// The page that the parent handed to this program, if it did. Call it once: it takes over the
    /// descriptor.
    ///
    /// # Errors
    /// When the descriptor is not a page of this kind.
    pub fn inherited() -> io::Result<Option<Self>> {
        Ok(SharedMemory::inherited(LIVE_PAGE_FD, PAGE_BYTES)?.map(Self))
    }

    /// Lets a child inherit the page. The page must live until the child is spawned.
    pub fn hand_to(&self, command: &mut Command) {
        self.0.hand_to(LIVE_PAGE_FD, command);
    }

    /// The latest value.
    pub fn get(&self, counter: LiveCounter) -> u64 {
        self.cell(counter).load(Ordering::Relaxed)
    }

    /// Stores a value.
    pub fn set(&self, counter: LiveCounter, value: u64) {
        self.cell(counter).store(value, Ordering::Relaxed);
    }

    /// Stores a value if it is greater than the one there.
    pub fn raise(&self, counter: LiveCounter, value: u64) {
        self.cell(counter).fetch_max(value, Ordering::Relaxed);
    }

    /// The latest value, leaving zero: for a maximum since the last look.
    pub fn take(&self, counter: LiveCounter) -> u64 {
        self.cell(counter).swap(0, Ordering::Relaxed)
    }

    fn cell(&self, counter: LiveCounter) -> &AtomicU64 {
        self.0.word(counter as usize)
    }
}

impl AsFd for LivePage {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_maximum_is_raised_and_taken() {
        let page = LivePage::create().unwrap();
        page.raise(LiveCounter::LatencyNsMax, 70);
        page.raise(LiveCounter::LatencyNsMax, 50);
        assert_eq!(page.take(LiveCounter::LatencyNsMax), 70);
        assert_eq!(page.get(LiveCounter::LatencyNsMax), 0);
        page.set(LiveCounter::Phase, 3);
        assert_eq!((page.get(LiveCounter::Phase), page.get(LiveCounter::LapsDone)), (3, 0));
    }

    #[test]
    fn a_program_without_a_page_gets_none() {
        assert!(LivePage::inherited().unwrap().is_none());
    }
}
