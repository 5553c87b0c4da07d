use crate::axes::{Framing, Preallocation, Roll, Sync, SyncEvery, WritePath};
use crate::error::{Error, Result};
use crate::layout::{BLOCK_BYTES, FILE_HEADER_BYTES};
use crate::{compatibility, layout};

/// When the file system has no fallocate, no O_DIRECT, ...
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fallback {
    /// The next best way is taken, and [`crate::Journal::notes`] says so.
    Allow,
    /// The call fails with [`Error::Refused`].
    Refuse,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeepFiles {
    /// Until [`crate::Journal::retire_through`] lets some go.
    All,
    /// This many full files (at least one) beside the current one. Older ones are recycled or removed at each roll,
    /// **and their records are gone**.
    Last(u32),
}

/// [`Options::default`] suits an application that wants every acknowledged record to outlive a
/// power cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    pub preallocation: Preallocation,
    pub write_path: WritePath,
    pub sync: Sync,
    pub sync_every: SyncEvery,
    pub roll: Roll,
    pub framing: Framing,
    /// A multiple of 4096 and at least 8192.
    pub file_bytes: u64,
    /// Largest write: one record or one batch, with headers. A multiple of 4096, at least 8192.
    pub buffer_bytes: usize,
    /// Files prepared when the journal is made or opened, beside the current one. `None`: 8 for
    /// precreated, 2 for zero-filled-hot, else 0 (the background thread of [`Roll::Ahead`] keeps its own
    /// one or two ready all the time).
    pub prepare_files: Option<u32>,
    pub keep_files: KeepFiles,
    pub fallback: Fallback,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            preallocation: Preallocation::Fallocate,
            write_path: WritePath::Pwrite,
            sync: Sync::Fdatasync,
            sync_every: SyncEvery::Record,
            roll: Roll::Inline,
            framing: Framing::Record,
            file_bytes: 64 << 20,
            buffer_bytes: 256 << 10,
            prepare_files: None,
            keep_files: KeepFiles::All,
            fallback: Fallback::Allow,
        }
    }
}

impl Options {
    pub fn prepared_at_start(&self) -> u32 {
        self.prepare_files.unwrap_or(match self.preallocation {
            Preallocation::Precreated => 8,
            Preallocation::ZeroFilledHot => 2,
            _ => 0,
        })
    }

    #[inline]
    pub fn header_bytes(&self) -> u64 {
        match self.framing {
            Framing::Record => FILE_HEADER_BYTES,
            Framing::Raw => 0,
        }
    }

    #[inline]
    pub fn record_bytes(&self, payload_bytes: usize) -> usize {
        match self.framing {
            Framing::Record => layout::record_bytes(payload_bytes),
            Framing::Raw => payload_bytes,
        }
    }

    pub fn validate(&self) -> Result<()> {
        compatibility::check(self)?;
        let block_bytes = BLOCK_BYTES as u64;
        let sizes = [("file_bytes", self.file_bytes), ("buffer_bytes", self.buffer_bytes as u64)];
        for (field, value) in sizes {
            if value % block_bytes != 0 || value < 2 * block_bytes {
                return Err(Error::Size { field, value });
            }
        }
        if self.buffer_bytes > 1 << 30 {
            return Err(Error::Size { field: "buffer_bytes", value: self.buffer_bytes as u64 });
        }
        Ok(())
    }
}
