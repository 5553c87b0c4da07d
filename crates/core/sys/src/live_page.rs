//! One page of memory that a worker and the lab share: storing a number there costs the worker no
//! system call. Only the latest values are there, and nothing that a result depends on.
//! Layout: 64-bit numbers of the machine's byte order, in the order of [`LiveCounter`].

use crate::shared_memory::{PAGE_BYTES, SharedMemory};
use std::io;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

const LIVE_PAGE_FD: &str = "PICKFS_LIVE_PAGE_FD";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveCounter {
    LapsDone = 0,
    LatencyNsMax = 1,
    /// Time of the last store, on CLOCK_MONOTONIC: tells a slow worker from a dead one.
    SeenAtNs = 2,
}

#[derive(Debug)]
pub struct LivePage(SharedMemory);

impl LivePage {
    pub fn create() -> io::Result<Self> {
        SharedMemory::create("pickfs-live", PAGE_BYTES).map(Self)
    }

    /// Call it once: it takes over the descriptor. Fails when that is not a page of this kind.
    pub fn inherited() -> io::Result<Option<Self>> {
        Ok(SharedMemory::inherited(LIVE_PAGE_FD, PAGE_BYTES)?.map(Self))
    }

    /// The page must live until the child is spawned.
    pub fn hand_to(&self, command: &mut Command) {
        self.0.hand_to(LIVE_PAGE_FD, command);
    }

    pub fn get(&self, counter: LiveCounter) -> u64 {
        self.cell(counter).load(Ordering::Relaxed)
    }

    pub fn set(&self, counter: LiveCounter, value: u64) {
        self.cell(counter).store(value, Ordering::Relaxed);
    }

    fn cell(&self, counter: LiveCounter) -> &AtomicU64 {
        self.0.word(counter as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_stored_and_the_others_stay() {
        let page = LivePage::create().unwrap();
        page.set(LiveCounter::LatencyNsMax, 70);
        assert_eq!(page.get(LiveCounter::LatencyNsMax), 70);
        assert_eq!(page.get(LiveCounter::LapsDone), 0);
    }

    #[test]
    fn a_program_without_a_page_gets_none() {
        assert!(LivePage::inherited().unwrap().is_none());
    }
}
