use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use pickfs_queue as queue;
use pickfs_queue::{Appender, Queue, ReadBy, Tailer};
use pickfs_sys::shared_memory::{Kind, Shared};
use pickfs_workload::fault::Fault;
use pickfs_workload::param::Resolved;

use crate::queue::params;

pub(super) enum Sink {
    Queue(Box<Appender>),
    Memory(MemoryWriter),
}

pub(super) enum Source {
    Queue(Box<Tailer>),
    Memory(MemoryReader),
}

pub(super) fn fault(error: queue::Error) -> Fault {
    let reason = format!("queue: {error}");
    match error {
        queue::Error::Refused { .. } => Fault::Skipped { reason },
        queue::Error::Damage(_) => Fault::Wrong { what: reason },
        _ => Fault::Failed { reason },
    }
}

pub(super) enum Channel {
    Queue(Queue),
    Memory(Arc<Ring>),
}

impl Channel {
    pub(super) fn make(directory: &Path, params: &Resolved) -> Result<Channel, Fault> {
        if params::is_memory(params) {
            return Ok(Channel::Memory(Ring::create()?));
        }
        let queue = Queue::create(directory, params::options(params)).map_err(fault)?;
        Ok(Channel::Queue(queue))
    }

    pub(super) fn open(directory: &Path, params: &Resolved) -> Result<Channel, Fault> {
        if params::is_memory(params) {
            return Ok(Channel::Memory(Ring::inherited()?));
        }
        let queue = Queue::open(directory, params::options(params)).map_err(fault)?;
        Ok(Channel::Queue(queue))
    }

    /// Lets the tailer's process inherit what it cannot open by itself.
    pub(super) fn hand_to(&self, command: &mut Command) {
        if let Channel::Memory(ring) = self {
            ring.hand_to(command);
        }
    }

    pub(super) fn queue(&self) -> Option<&Queue> {
        match self {
            Channel::Queue(queue) => Some(queue),
            Channel::Memory(_) => None,
        }
    }

    pub(super) fn sink(&self) -> Result<Sink, Fault> {
        Ok(match self {
            Channel::Queue(queue) => Sink::Queue(Box::new(queue.appender().map_err(fault)?)),
            Channel::Memory(ring) => Sink::Memory(MemoryWriter::new(Arc::clone(ring))),
        })
    }

    pub(super) fn source(&self, by: ReadBy) -> Result<Source, Fault> {
        Ok(match self {
            Channel::Queue(queue) => Source::Queue(Box::new(queue.tailer().map_err(fault)?.by(by))),
            Channel::Memory(ring) => Source::Memory(MemoryReader::new(Arc::clone(ring))),
        })
    }
}

impl Sink {
    #[inline]
    pub(super) fn append(&mut self, payload: &[u8]) -> Result<u64, Fault> {
        match self {
            Sink::Queue(appender) => Ok(appender.append(payload).map_err(fault)?.offset_bytes),
            Sink::Memory(writer) => Ok(writer.append(payload)),
        }
    }

    #[inline]
    pub(super) fn idle(&mut self) -> Result<(), Fault> {
        match self {
            Sink::Queue(appender) => appender.idle().map(drop).map_err(fault),
            Sink::Memory(_) => Ok(()),
        }
    }

    pub(super) fn rolls(&self) -> u64 {
        match self {
            Sink::Queue(appender) => appender.rolls(),
            Sink::Memory(_) => 0,
        }
    }
}

impl Source {
    #[inline]
    pub(super) fn poll(&mut self) -> Result<Option<&[u8]>, Fault> {
        match self {
            Source::Queue(tailer) => {
                Ok(tailer.poll().map_err(fault)?.map(|message| message.payload))
            }
            Source::Memory(reader) => Ok(reader.poll().then_some(&reader.payload[..])),
        }
    }
}

// A ring of words that one side writes and one reads. Both touch its bytes before the measurement,
// so that what is left of an operation are the clock, the copy, the cache lines that travel, and the
// machine.

/// Bytes of the ring: more than the caches hold, as in a queue.
const RING_WORDS: usize = 8 << 20;

/// Words before the ring: the first is what the reader is done with, in lines of the cache of its own.
const HEAD_WORDS: usize = 16;

/// One message in the ring: its length in bytes plus one, then its words.
pub(super) struct Ring(Shared<RingWords>);

struct RingWords;

impl Kind for RingWords {
    const VARIABLE: &'static str = "PICKFS_RING_FD";
    const WORDS: usize = HEAD_WORDS + RING_WORDS;
}

pub(super) struct MemoryWriter {
    ring: Arc<Ring>,
    at: u64,
    /// How far the reader was when it was last asked.
    read: u64,
}

pub(super) struct MemoryReader {
    ring: Arc<Ring>,
    at: u64,
    pub(super) payload: Vec<u8>,
}

impl Ring {
    pub(super) fn create() -> Result<Arc<Ring>, Fault> {
        let words = Shared::zeros();
        let ring = Ring(words.map_err(Fault::io("make", "memory for two processes"))?);
        // New memory is not there before it is written.
        (0..RING_WORDS as u64).for_each(|at| ring.word(at).store(0, Relaxed));
        Ok(Arc::new(ring))
    }

    /// In the reader's process: the one that it was handed.
    pub(super) fn inherited() -> Result<Arc<Ring>, Fault> {
        let words = Shared::inherited();
        let words = words.map_err(Fault::io("map", "memory of two processes"))?;
        let missing = || Fault::Failed { reason: "no ring was handed to the reader".into() };
        let ring = Ring(words.ok_or_else(missing)?);
        // The pages are there; that this process knows them is what a first look is for.
        let seen = (0..RING_WORDS as u64).map(|at| ring.word(at).load(Relaxed)).max();
        std::hint::black_box(seen);
        Ok(Arc::new(ring))
    }

    pub(super) fn hand_to(&self, command: &mut Command) {
        self.0.hand_to(command);
    }

    #[inline]
    fn word(&self, at: u64) -> &AtomicU64 {
        self.0.word(HEAD_WORDS + at as usize % RING_WORDS)
    }

    #[inline]
    fn read(&self) -> &AtomicU64 {
        self.0.word(0)
    }
}

impl MemoryReader {
    pub(super) fn new(ring: Arc<Ring>) -> MemoryReader {
        MemoryReader { ring, at: 0, payload: Vec::with_capacity(1 << 20) }
    }
}

impl MemoryWriter {
    pub(super) fn new(ring: Arc<Ring>) -> MemoryWriter {
        MemoryWriter { ring, at: 0, read: 0 }
    }

    #[inline]
    pub(super) fn append(&mut self, payload: &[u8]) -> u64 {
        let length = 1 + payload.len().div_ceil(8) as u64;
        while self.at + length + 1 - self.read > RING_WORDS as u64 {
            std::hint::spin_loop();
            self.read = self.ring.read().load(Acquire);
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
        self.ring.read().store(self.at, Release);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_out_as_they_went_in_also_around_the_end() {
        let ring = Ring::create().unwrap();
        let mut writer = MemoryWriter::new(Arc::clone(&ring));
        let mut reader = MemoryReader::new(ring);
        let message = |number: u64| vec![number as u8; (number % 1000) as usize * 16];
        for number in 0..20_000 {
            assert!(!reader.poll());
            writer.append(&message(number));
            assert!(reader.poll());
            assert_eq!(reader.payload, message(number));
        }
    }
}
