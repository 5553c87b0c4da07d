//! Slow operations as they happen: memory that all threads and lanes of a trial write into and the lab
//! reads, so that the lab can join each of them with what the kernel did while it still knows it.
//! Not a record of all operations, and nothing that a figure of the trial depends on.
//!
//! ```text
//! word 0        threshold in ns      word 1   operations written      word 2   names claimed
//! 16 ..         128 names of 8 words
//! then          16,384 slots of 6 words: turn, op and thread, start, end, offset, -
//! ```
//!
//! A slot's `turn` is the operation's number plus one once all of it is written, so a reader sees whole operations
//! and can tell those that were written over before it came.

use std::io;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::shared_memory::{Kind, Shared};

const THRESHOLD: usize = 0;
const WRITTEN: usize = 1;
const NAMED: usize = 2;
const NAMES_AT: usize = 16;
const NAMES_MAX: usize = 128;
const NAME_WORDS: usize = 8;
const SLOTS_AT: usize = NAMES_AT + NAMES_MAX * NAME_WORDS;
const SLOT_WORDS: usize = 6;
const SLOTS: usize = 16_384;

/// Times are on the CLOCK_MONOTONIC line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SlowOperation {
    /// A number from [`SlowOperations::name`].
    pub op: u32,
    /// As it itself knows it: that of its pid namespace.
    pub thread_id: u32,
    pub start_ns: u64,
    pub end_ns: u64,
    /// In the file, or 0.
    pub offset_bytes: u64,
}

pub type SlowOperations = Shared<Slow>;

#[derive(Debug)]
pub enum Slow {}

impl Kind for Slow {
    const VARIABLE: &'static str = "PICKFS_SLOW_OPERATIONS_FD";
    const WORDS: usize = SLOTS_AT + SLOTS * SLOT_WORDS;
}

impl Shared<Slow> {
    pub fn create(above_ns: u64) -> io::Result<Self> {
        let operations = Self::zeros()?;
        operations.word(THRESHOLD).store(above_ns, Relaxed);
        Ok(operations)
    }

    pub fn above_ns(&self) -> u64 {
        self.word(THRESHOLD).load(Relaxed)
    }

    /// The number of an operation's name; the first 63 bytes count. Several numbers may stand for
    /// one name. The last number stands for all names beyond the 127th.
    pub fn name(&self, name: &str) -> u32 {
        let known = (0..NAMES_MAX as u32).find(|op| self.op_name(*op).as_deref() == Some(name));
        if let Some(op) = known {
            return op;
        }
        let op = self.word(NAMED).fetch_add(1, Relaxed).min(NAMES_MAX as u64 - 1) as usize;
        let name = if op + 1 == NAMES_MAX { "others" } else { name };
        let mut bytes = [0; NAME_WORDS * 8];
        let length = name.len().min(bytes.len() - 1);
        bytes[..length].copy_from_slice(&name.as_bytes()[..length]);
        for (index, word) in bytes.chunks_exact(8).enumerate() {
            let word = u64::from_ne_bytes(word.try_into().expect("eight bytes"));
            self.word(NAMES_AT + op * NAME_WORDS + index).store(word, Release);
        }
        op as u32
    }

    pub fn op_name(&self, op: u32) -> Option<String> {
        if op as usize >= NAMES_MAX {
            return None;
        }
        let at = NAMES_AT + op as usize * NAME_WORDS;
        let words = (at..at + NAME_WORDS).map(|index| self.word(index).load(Acquire));
        let bytes: Vec<u8> =
            words.flat_map(u64::to_ne_bytes).take_while(|byte| *byte != 0).collect();
        (!bytes.is_empty()).then(|| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// No system call, no lock.
    pub fn push(&self, operation: &SlowOperation) {
        let number = self.word(WRITTEN).fetch_add(1, Relaxed);
        let at = slot(number);
        self.word(at).store(0, Release);
        self.word(at + 1)
            .store(u64::from(operation.op) << 32 | u64::from(operation.thread_id), Relaxed);
        self.word(at + 2).store(operation.start_ns, Relaxed);
        self.word(at + 3).store(operation.end_ns, Relaxed);
        self.word(at + 4).store(operation.offset_bytes, Relaxed);
        self.word(at).store(number + 1, Release);
    }

    /// The operation after the first `read` ones, and how many before it were written over unread. `read`
    /// moves on.
    pub fn take(&self, read: &mut u64) -> (Option<SlowOperation>, u64) {
        let written = self.word(WRITTEN).load(Acquire);
        let missed = written.saturating_sub(*read + SLOTS as u64);
        *read += missed;
        if *read >= written {
            return (None, missed);
        }
        let at = slot(*read);
        if self.word(at).load(Acquire) != *read + 1 {
            // It is being written, or has just been written over: the next look tells.
            return (None, missed);
        }
        let both = self.word(at + 1).load(Relaxed);
        let operation = SlowOperation {
            op: (both >> 32) as u32,
            thread_id: both as u32,
            start_ns: self.word(at + 2).load(Relaxed),
            end_ns: self.word(at + 3).load(Relaxed),
            offset_bytes: self.word(at + 4).load(Relaxed),
        };
        *read += 1;
        match self.word(at).load(Acquire) == *read {
            true => (Some(operation), missed),
            false => (None, missed + 1),
        }
    }
}

fn slot(number: u64) -> usize {
    SLOTS_AT + (number as usize % SLOTS) * SLOT_WORDS
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn operation(number: u64) -> SlowOperation {
        SlowOperation {
            op: 1,
            thread_id: 9,
            start_ns: number,
            end_ns: number * 2,
            offset_bytes: number,
        }
    }

    #[test]
    fn names_are_numbered_once_and_read_back() {
        let operations = SlowOperations::create(100_000).unwrap();
        let (append, sync) = (operations.name("append"), operations.name("sync"));
        assert_eq!((operations.name("append"), operations.above_ns()), (append, 100_000));
        assert_eq!(operations.op_name(sync).as_deref(), Some("sync"));
        assert_eq!((operations.op_name(77), operations.op_name(7_777)), (None, None));
        (0..200).for_each(|number| assert!(operations.name(&format!("op {number}")) < 128));
        assert_eq!(operations.op_name(operations.name("one more")).as_deref(), Some("others"));
    }

    #[test]
    fn what_was_written_over_is_counted() {
        let operations = SlowOperations::create(1).unwrap();
        (0..SLOTS as u64 + 10).for_each(|number| operations.push(&operation(number)));
        let mut read = 0;
        assert_eq!(operations.take(&mut read), (Some(operation(10)), 10));
        let rest = std::iter::from_fn(|| operations.take(&mut read).0).count();
        assert_eq!((rest, operations.take(&mut read)), (SLOTS - 1, (None, 0)));
    }

    #[test]
    fn operations_of_many_threads_arrive_whole() {
        let operations = Arc::new(SlowOperations::create(1).unwrap());
        let threads: Vec<_> = (0..4u64)
            .map(|thread| {
                let operations = Arc::clone(&operations);
                std::thread::spawn(move || {
                    (0..2_000).for_each(|n| operations.push(&operation(thread + n * 4)))
                })
            })
            .collect();
        let (mut read, mut seen) = (0, Vec::new());
        while seen.len() < 8_000 {
            if let (Some(operation), _) = operations.take(&mut read) {
                assert_eq!(
                    (operation.end_ns, operation.offset_bytes),
                    (operation.start_ns * 2, operation.start_ns)
                );
                seen.push(operation.start_ns);
            }
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        seen.sort_unstable();
        assert_eq!(seen, (0..8_000).collect::<Vec<_>>());
    }
}
