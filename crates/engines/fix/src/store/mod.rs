//! Where messages and sequence numbers are kept, before anybody acts on them.
//!
//! The engine calls [`Store::keep`] for every message in and out, and waits at two gates: before business logic sees
//! a message, and before an answer leaves. What a store does at a gate is its promise. A log of byte records - a
//! queue, a journal, a replicated pair - becomes a store through [`LogStore`]: all sessions in one order, so that the
//! order book can be built again. [`FileStore`] keeps what QuickFIX keeps, and no more.

mod entry;
mod error;
mod file_store;
mod journal_log;
mod log_store;
mod marks;
mod memory_log;
mod pair_log;
mod profile;
mod queue_log;

pub use entry::{Entry, EntryKind};
pub use error::StoreError;
pub use file_store::FileStore;
pub use journal_log::JournalLog;
pub use log_store::{Log, LogStore};
pub use memory_log::MemoryLog;
pub use pair_log::PairLog;
pub use profile::{FILE_BYTES, Profile};
pub use queue_log::QueueLog;

use std::ops::{ControlFlow, RangeInclusive};

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
    fn keep(&mut self, entry: &Entry<'_>) -> Result<(), StoreError>;

    /// Returns when everything that was kept is as safe as this store promises before that step.
    fn wait(&mut self, gate: Gate) -> Result<(), StoreError>;

    /// Hands over what a session sent, by sequence number, in order; what is not there is left out. `each` may
    /// break it off.
    fn resend(
        &mut self,
        session: SessionNumber,
        range: RangeInclusive<u64>,
        each: &mut dyn FnMut(&Entry<'_>) -> ControlFlow<()>,
    ) -> Result<(), StoreError>;

    /// Hands over everything that is kept, in order: once, before the first [`Store::keep`].
    fn replay(
        &mut self,
        each: &mut dyn FnMut(&Entry<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>;

    /// Whether [`Store::replay`] gives messages that came in, so that business can be built again.
    fn keeps_incoming(&self) -> bool {
        true
    }

    /// Between two messages: whatever can be done ahead.
    fn idle(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
}
