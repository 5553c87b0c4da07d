//! What a journal says about itself.

use super::Journal;
use crate::error::Latch;
use crate::name;
use crate::options::Options;
use crate::recovery::Recovery;
use crate::storage::Storage;

impl<S: Storage> Journal<S> {
    /// Sequence of the last record that was written, 0 if none.
    pub fn written_sequence(&self) -> u64 {
        self.next_sequence - 1 - u64::from(self.buffer.pending_records())
    }

    /// Sequence of the last record that a sync has covered, for methods that outlive a power cut.
    pub fn durable_sequence(&self) -> u64 {
        self.durable_through
    }

    /// Records that were written since the last sync.
    pub fn unsynced_records(&self) -> u32 {
        self.unsynced_records
    }

    /// Name of the file that is written now.
    pub fn file_name(&self) -> String {
        name::of_index(self.current.index)
    }

    /// Offset in the current file where the next write goes.
    pub fn position_bytes(&self) -> u64 {
        self.position_bytes
    }

    /// The options in force, after fallbacks.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// What is not as it was asked, in words: the fallbacks that were taken.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// What opening found, for a journal that was opened.
    pub fn recovery(&self) -> Option<&Recovery> {
        self.recovery.as_ref()
    }

    /// Rolls that had to wait because the background thread had no file ready.
    pub fn roll_waits(&self) -> u64 {
        self.supply.waits()
    }

    /// The first I/O error, after which nothing more is written.
    pub fn latch(&self) -> Option<&Latch> {
        self.latch.as_ref()
    }

    /// Where the files are.
    pub fn storage(&self) -> &S {
        &self.storage
    }
}
