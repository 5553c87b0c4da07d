//! Words of memory that two programs share: a channel for those who agree on what stands where. The `queue` workload
//! puts its noise floor there, a ring between a writer and a reader that are processes of their own.
//!
//! ```
//! use pickfs_sys::shared_words::SharedWords;
//! use std::sync::atomic::Ordering::Relaxed;
//! let words = SharedWords::create(1024)?;
//! let mut reader = std::process::Command::new("cat");
//! words.hand_to(&mut reader); // which calls `SharedWords::inherited(1024)`
//! words.word(7).store(42, Relaxed);
//! assert_eq!(words.word(7).load(Relaxed), 42);
//! # Ok::<(), std::io::Error>(())
//! ```

use crate::shared_memory::SharedMemory;
use std::io;
use std::process::Command;
use std::sync::atomic::AtomicU64;

const SHARED_WORDS_FD: &str = "PICKFS_SHARED_WORDS_FD";

/// The words, on either side.
#[derive(Debug)]
pub struct SharedWords(SharedMemory);

impl SharedWords {
    /// So many words of 64 bits, all zero.
    pub fn create(words: usize) -> io::Result<Self> {
        SharedMemory::create("pickfs-words", words * 8).map(Self)
    }

    /// What the parent handed to this program, if it did. Call it once: it takes over the descriptor.
    ///
    /// # Errors
    /// When the descriptor is not of this kind, or of another number of words.
    pub fn inherited(words: usize) -> io::Result<Option<Self>> {
        Ok(SharedMemory::inherited(SHARED_WORDS_FD, words * 8)?.map(Self))
    }

    /// Lets a child inherit them. They must live until the child is spawned.
    pub fn hand_to(&self, command: &mut Command) {
        self.0.hand_to(SHARED_WORDS_FD, command);
    }

    /// One of them.
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
