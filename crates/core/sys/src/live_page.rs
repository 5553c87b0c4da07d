//! One page of memory that a worker and the lab share: storing a number there costs the worker no
//! system call. Only the latest values are there, and nothing that a result depends on.

use crate::shared_memory::{Kind, Shared};
use std::sync::atomic::Ordering::Relaxed;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveCounter {
    OperationsDone = 0,
    LatencyNsMax = 1,
    /// Time of the last store, on CLOCK_MONOTONIC: tells a slow worker from a dead one.
    SeenAtNs = 2,
}

/// Its words are in the order of [`LiveCounter`].
pub type LivePage = Shared<Live>;

#[derive(Debug)]
pub enum Live {}

impl Kind for Live {
    const VARIABLE: &'static str = "PICKFS_LIVE_PAGE_FD";
    const WORDS: usize = 512;
}

impl Shared<Live> {
    pub fn get(&self, counter: LiveCounter) -> u64 {
        self.word(counter as usize).load(Relaxed)
    }

    pub fn set(&self, counter: LiveCounter, value: u64) {
        self.word(counter as usize).store(value, Relaxed);
    }
}
