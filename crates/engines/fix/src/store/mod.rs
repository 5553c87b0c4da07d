//! Where messages and sequence numbers are kept, before anybody acts on them.
//!
//! The engine calls [`Store::keep`] for every message in and out, and waits at two gates: before business logic sees
//! a message, and before an answer leaves. What a store does at a gate is its promise. A log of byte records - a
//! queue, a journal, a replicated pair - becomes a store through [`LogStore`]: all sessions in one order, so that the
//! order book can be built again. [`FileStore`] keeps what QuickFIX keeps, and no more.

use std::io;
use std::ops::{ControlFlow, RangeInclusive};
use std::path::PathBuf;

pub use entry::{Entry, EntryKind};
pub use file_store::FileStore;
pub use log_store::{EachRecord, Log, LogStore};
pub use logs::{JournalLog, MemoryLog, QueueLog};
pub use pair_log::PairLog;
pub use profile::{FILE_BYTES, Profile};

mod entry;
mod file_store;
mod log_store;
mod logs;
mod pair_log;
mod profile;

pub type Result<T = ()> = std::result::Result<T, StoreError>;

/// Entries one after the other, until it breaks.
pub type Each<'a> = dyn FnMut(&Entry<'_>) -> ControlFlow<()> + 'a;

/// A session's number in a store: counted from 0, in the order in which sessions were first seen.
pub type SessionNumber = u32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    Business,
    /// Answers that were kept leave the process.
    Reply,
}

pub trait Store: Send {
    /// Entries are in one order, over all sessions.
    fn keep(&mut self, entry: &Entry<'_>) -> Result;

    /// Returns when everything that was kept is as safe as this store promises before that step.
    fn wait(&mut self, gate: Gate) -> Result;

    /// Hands over what a session sent, by sequence number, in order; what is not there is left out. `each` may
    /// break it off.
    fn resend(
        &mut self,
        session: SessionNumber,
        range: RangeInclusive<u64>,
        each: &mut Each<'_>,
    ) -> Result;

    /// Hands over everything that is kept, in order: once, before the first [`Store::keep`].
    fn replay(&mut self, each: &mut dyn FnMut(&Entry<'_>) -> Result) -> Result;

    /// Whether [`Store::replay`] gives messages that came in, so that business can be built again.
    fn keeps_incoming(&self) -> bool {
        true
    }

    /// Between two messages: whatever can be done ahead.
    fn idle(&mut self) -> Result {
        Ok(())
    }
}

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("journal: {0}")]
    Journal(#[from] pickfs_journal::Error),
    #[error("queue: {0}")]
    Queue(#[from] pickfs_queue::Error),
    #[error("pair: {0}")]
    Pair(#[from] pickfs_pair::Error),
    #[error("pair: {error}; the last that was heard: {heard}")]
    NotReady {
        error: pickfs_pair::Error,
        /// `heard`: why a secondary does not follow, where one said so.
        heard: String,
    },
    #[error("{verb} {}: {source}", path.display())]
    Io { verb: &'static str, path: PathBuf, source: io::Error },
    /// What is kept contradicts itself; nothing was changed.
    #[error(
        "record {record} of the store {what}; keep the files and start with an empty directory"
    )]
    Damaged {
        /// From 1.
        record: u64,
        what: String,
    },
    #[error("{0}")]
    Other(String),
}

impl StoreError {
    pub(crate) fn io(
        verb: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> StoreError {
        move |source| StoreError::Io { verb, path: path.into(), source }
    }
}
