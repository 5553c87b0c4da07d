//! The noise floor: the same messages between the same two threads over plain memory, without a file.
//!
//! A ring of words that one thread writes and one reads. Its bytes are touched before the measurement, so that
//! what is left of a lap are the clock, the copy, the cache lines that travel, and the machine.

use std::sync::{
    Arc,
    atomic::{
        AtomicU64,
        Ordering::{Acquire, Relaxed, Release},
    },
};

/// Bytes of the ring: more than the caches hold, as in a queue.
const RING_WORDS: usize = 8 << 20;

/// One message in the ring: its length in bytes plus one, then its words.
struct Ring {
    words: Vec<AtomicU64>,
    read: Read,
}

/// What the reader is done with, in words; in a line of the cache of its own.
#[repr(align(128))]
struct Read(AtomicU64);

/// The writer's end.
pub(super) struct MemoryWriter {
    ring: Arc<Ring>,
    at: u64,
    /// How far the reader was when it was last asked.
    read: u64,
}

/// The reader's end.
pub(super) struct MemoryReader {
    ring: Arc<Ring>,
    at: u64,
    pub(super) payload: Vec<u8>,
}

/// Both ends of a new ring.
pub(super) fn ring() -> (MemoryWriter, MemoryReader) {
    let words = (0..RING_WORDS).map(|_| AtomicU64::new(0)).collect();
    let ring = Arc::new(Ring { words, read: Read(AtomicU64::new(0)) });
    // A new vector of zeros is not in memory before it is written.
    ring.words.iter().for_each(|word| word.store(0, Relaxed));
    let writer = MemoryWriter { ring: Arc::clone(&ring), at: 0, read: 0 };
    (writer, MemoryReader { ring, at: 0, payload: Vec::with_capacity(1 << 20) })
}

impl Ring {
    #[inline]
    fn word(&self, at: u64) -> &AtomicU64 {
        &self.words[at as usize % RING_WORDS]
    }
}

impl MemoryWriter {
    /// Waits while the ring is full; gives where the message went.
    #[inline]
    pub(super) fn append(&mut self, payload: &[u8]) -> u64 {
        let length = 1 + payload.len().div_ceil(8) as u64;
        while self.at + length + 1 - self.read > RING_WORDS as u64 {
            std::hint::spin_loop();
            self.read = self.ring.read.0.load(Acquire);
        }
        for (at, chunk) in (self.at + 1..).zip(payload.chunks(8)) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.ring.word(at).store(u64::from_le_bytes(word), Relaxed);
        }
        let at = self.at;
        self.at += length;
        self.ring.word(self.at).store(0, Relaxed);
        self.ring.word(at).store(payload.len() as u64 + 1, Release);
        at * 8
    }
}

impl MemoryReader {
    /// Copies the next message to `payload`; `false` when there is none.
    #[inline]
    pub(super) fn poll(&mut self) -> bool {
        let word = self.ring.word(self.at).load(Acquire);
        let Some(bytes) = word.checked_sub(1) else { return false };
        let words = bytes.div_ceil(8);
        self.payload.clear();
        for at in self.at + 1..self.at + 1 + words {
            self.payload.extend_from_slice(&self.ring.word(at).load(Relaxed).to_le_bytes());
        }
        self.payload.truncate(bytes as usize);
        self.at += 1 + words;
        self.ring.read.0.store(self.at, Release);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_out_as_they_went_in_also_around_the_end() {
        let (mut writer, mut reader) = ring();
        let message = |number: u64| vec![number as u8; (number % 1000) as usize * 16];
        for number in 0..20_000 {
            assert!(!reader.poll());
            writer.append(&message(number));
            assert!(reader.poll());
            assert_eq!(reader.payload, message(number));
        }
    }
}
