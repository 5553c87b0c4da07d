//! Words of memory that two programs share, who agree on what stands where.

use crate::shared_memory::SharedMemory;
use std::io;
use std::process::Command;
use std::sync::atomic::AtomicU64;

const SHARED_WORDS_FD: &str = "PICKFS_SHARED_WORDS_FD";

#[derive(Debug)]
pub struct SharedWords(SharedMemory);

impl SharedWords {
    /// Of 64 bits, all zero.
    pub fn create(words: usize) -> io::Result<Self> {
        SharedMemory::create("pickfs-words", words * 8).map(Self)
    }

    /// Call it once: it takes over the descriptor.
    pub fn inherited(words: usize) -> io::Result<Option<Self>> {
        Ok(SharedMemory::inherited(SHARED_WORDS_FD, words * 8)?.map(Self))
    }

    /// They must live until the child is spawned.
    pub fn hand_to(&self, command: &mut Command) {
        self.0.hand_to(SHARED_WORDS_FD, command);
    }

    #[inline]
    pub fn word(&self, index: usize) -> &AtomicU64 {
        self.0.word(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn words_are_zero_and_then_what_was_stored() {
        let words = SharedWords::create(512).unwrap();
        assert_eq!(words.word(511).load(Relaxed), 0);
        words.word(511).store(9, Relaxed);
        assert_eq!(words.word(511).load(Relaxed), 9);
        assert!(SharedWords::inherited(512).unwrap().is_none());
    }
}
