use super::Journal;
use crate::error::Latch;
use crate::name;
use crate::options::Options;
use crate::recovery::Recovery;
use crate::storage::Storage;

impl<S: Storage> Journal<S> {
    /// 0 if none.
    pub fn written_sequence(&self) -> u64 {
        self.next_sequence - 1 - u64::from(self.buffer.pending_records())
    }

    /// Covered by a sync; for methods that outlive a power cut.
    pub fn durable_sequence(&self) -> u64 {
        self.durable_through
    }

    pub fn unsynced_records(&self) -> u32 {
        self.unsynced_records
    }

    pub fn file_name(&self) -> String {
        name::of_index(self.current.index)
    }

    pub fn position_bytes(&self) -> u64 {
        self.position_bytes
    }

    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The fallbacks that were taken, in words.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// `None` for a journal that was not opened but created.
    pub fn recovery(&self) -> Option<&Recovery> {
        self.recovery.as_ref()
    }

    /// Rolls that had to wait because the background thread had no file ready.
    pub fn roll_waits(&self) -> u64 {
        self.supply.waits()
    }

    /// The first I/O error; nothing was written after it.
    pub fn latch(&self) -> Option<&Latch> {
        self.latch.as_ref()
    }

    pub fn storage(&self) -> &S {
        &self.storage
    }
}
