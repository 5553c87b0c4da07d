//! The journal: one writer that appends to the current file, syncs by its policy and rolls to the next.
//!
//! [`Journal::append`] does all of it. A measuring loop, or a program with its own idea of when to sync,
//! uses the verbs it is made of: [`Journal::encode`], [`Journal::needs_roll`], [`Journal::roll`],
//! [`Journal::write_encoded`], [`Journal::sync_due`], [`Journal::sync`].

mod birth;
mod rolling;
mod state;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

pub(crate) use self::birth::lock;
use crate::aligned::Aligned;
use crate::axes::{Sync, SyncEvery, WritePath};
use crate::buffer::EncodeBuffer;
use crate::directory::Directory;
use crate::error::{Error, Latch, Result};
use crate::layout::{BLOCK_BYTES, RecordHeader};
use crate::name;
use crate::options::Options;
use crate::recovery::Recovery;
use crate::storage::{Storage, StorageFile, SyncRange, Writer};
use crate::supply::Supply;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    pub sequence: u64,
    pub records: u32,
    /// Of the first record of the write, in its file.
    pub offset_bytes: u64,
    pub file_index: u64,
    /// This call began a new file first.
    pub rolled: bool,
}

#[derive(Debug, Clone, Copy)]
struct Sealed {
    index: u64,
    last_sequence: u64,
}

struct Current<F> {
    file: F,
    index: u64,
    salt: u32,
}

#[derive(Debug, Clone, Copy)]
struct Facts {
    journal_id: u64,
    epoch: u32,
}

/// Dropping it neither syncs nor loses anything that was written.
pub struct Journal<S: Storage = Directory> {
    // The writer may have registered the buffer with the kernel, so it stands (and is dropped) first.
    writer: S::Writer,
    buffer: EncodeBuffer,
    current: Current<S::File>,
    position_bytes: u64,
    synced_bytes: u64,
    next_sequence: u64,
    durable_through: u64,
    unsynced_records: u32,
    latch: Option<Latch>,
    options: Options,
    facts: Facts,
    header: Aligned,
    supply: Supply<S>,
    sealed: VecDeque<Sealed>,
    notes: Vec<String>,
    recovery: Option<Recovery>,
    storage: S,
}

impl<S: Storage> Journal<S> {
    /// Appends one record: encodes it, rolls where the file is full, writes, and syncs where the policy
    /// says so. When it returns, the record has the durability that the policy promises.
    pub fn append(&mut self, payload: &[u8]) -> Result<Appended> {
        self.encode(payload)?;
        self.commit_encoded()
    }

    /// Writes what was encoded, with a roll before and a sync after it where they are due.
    pub fn commit_encoded(&mut self) -> Result<Appended> {
        let appended = self.write_with_roll()?;
        if self.sync_due() {
            self.sync()?;
        }
        Ok(appended)
    }

    pub(crate) fn write_with_roll(&mut self) -> Result<Appended> {
        let rolled = self.needs_roll();
        if rolled {
            self.roll()?;
        }
        let appended = self.write_encoded()?;
        Ok(Appended { rolled, ..appended })
    }

    /// Puts one record, with its sequence and checksum, into the buffer. Called again before
    /// [`Self::write_encoded`] it makes a batch. No system call, no allocation.
    #[inline]
    pub fn encode(&mut self, payload: &[u8]) -> Result<()> {
        self.check_latch()?;
        let record_bytes = self.options.record_bytes(payload.len());
        let file_room = self.options.file_bytes - self.options.header_bytes();
        let encoded_bytes = self.buffer.pending_bytes();
        let fits_file = (encoded_bytes + record_bytes) as u64 <= file_room;
        if !fits_file || !self.buffer.has_room(record_bytes) {
            return Err(self.no_room(payload.len()));
        }
        let header = RecordHeader {
            payload_bytes: payload.len() as u32,
            sequence: self.next_sequence,
            durable_through: self.durable_through,
        };
        self.buffer.push(payload, header, self.current.salt);
        self.next_sequence += 1;
        Ok(())
    }

    #[cold]
    fn no_room(&self, payload_bytes: usize) -> Error {
        let limit_bytes = self.payload_bytes_max();
        if payload_bytes > limit_bytes {
            return Error::TooLarge { payload_bytes, limit_bytes };
        }
        Error::BufferFull { encoded_bytes: self.buffer.pending_bytes() }
    }

    pub fn payload_bytes_max(&self) -> usize {
        let kept_block = if self.options.write_path == WritePath::Direct { BLOCK_BYTES } else { 0 };
        let buffer_room = self.options.buffer_bytes - kept_block;
        let file_room = (self.options.file_bytes - self.options.header_bytes()) as usize;
        buffer_room.min(file_room) - self.options.record_bytes(0)
    }

    #[inline]
    pub fn needs_roll(&self) -> bool {
        self.position_bytes + self.buffer.pending_bytes() as u64 > self.options.file_bytes
    }

    /// Writes what was encoded: one system call (two for seek-write), or one copy for mmap, and nothing
    /// else. Does nothing if nothing was encoded.
    #[inline(always)]
    pub fn write_encoded(&mut self) -> Result<Appended> {
        self.check_latch()?;
        if self.needs_roll() {
            return Err(self.no_free_room());
        }
        let written_bytes = self.buffer.pending_bytes() as u64;
        let records = self.buffer.pending_records();
        if records > 0 {
            let offset_bytes = self.position_bytes - self.buffer.tail_bytes() as u64;
            let written = self.writer.write(&mut self.current.file, offset_bytes, &self.buffer);
            if !matches!(written, Ok(count) if count == self.buffer.bytes().len()) {
                self.finish_write(written, offset_bytes)?;
            }
        }
        Ok(self.note_written(written_bytes, records))
    }

    #[inline]
    fn note_written(&mut self, written_bytes: u64, records: u32) -> Appended {
        let appended = Appended {
            sequence: self.next_sequence - 1,
            records,
            offset_bytes: self.position_bytes,
            file_index: self.current.index,
            rolled: false,
        };
        self.buffer.mark_written();
        self.position_bytes += written_bytes;
        self.unsynced_records = self.unsynced_records.saturating_add(records);
        if self.options.sync.is_write_through() {
            self.note_synced();
        }
        appended
    }

    #[inline]
    fn note_synced(&mut self) {
        self.unsynced_records = 0;
        self.synced_bytes = self.position_bytes;
        if self.options.sync.outlives_power_loss() {
            self.durable_through =
                self.next_sequence - 1 - u64::from(self.buffer.pending_records());
        }
    }

    #[cold]
    fn no_free_room(&self) -> Error {
        Error::NeedsRoll {
            encoded_bytes: self.buffer.pending_bytes(),
            free_bytes: self.options.file_bytes - self.position_bytes,
        }
    }

    /// The rest of a write that was interrupted or came out short.
    #[cold]
    fn finish_write(&mut self, first: io::Result<usize>, offset_bytes: u64) -> Result<()> {
        let finished = write_rest(&mut self.current.file, first, offset_bytes, &self.buffer);
        let name = name::of_index(self.current.index);
        let finished = finished.map_err(Error::io("write", name));
        self.latch_if_failed(finished)
    }

    /// Whether the policy wants a sync now. Never for group commit: there the caller decides.
    #[inline]
    pub fn sync_due(&self) -> bool {
        if self.options.sync == Sync::None {
            return false;
        }
        match self.options.sync_every {
            SyncEvery::Record => self.unsynced_records > 0,
            SyncEvery::Records(count) => self.unsynced_records >= count.get(),
            SyncEvery::GroupCommit => false,
        }
    }

    /// Makes everything that was written durable, by the method of the options: one system call where
    /// something is unsynced. Nothing happens for sync none and for write-through methods.
    #[inline]
    pub fn sync(&mut self) -> Result<()> {
        self.check_latch()?;
        if self.synced_bytes == self.position_bytes || self.options.sync == Sync::None {
            return Ok(());
        }
        let range = SyncRange { start_bytes: self.synced_bytes, end_bytes: self.position_bytes };
        match self.writer.sync(&mut self.current.file, range) {
            Ok(()) => {
                self.note_synced();
                Ok(())
            }
            Err(source) => self.sync_failed(source),
        }
    }

    #[cold]
    fn sync_failed(&mut self, source: io::Error) -> Result<()> {
        // After a failed sync the kernel may have dropped the dirty pages and marked them clean, so
        // another try would lie (fsync(2), "EIO").
        let error = Error::io("sync", name::of_index(self.current.index))(source);
        self.latch_if_failed(Err(error))
    }

    #[inline]
    fn check_latch(&self) -> Result<()> {
        match &self.latch {
            None => Ok(()),
            Some(latch) => Err(Error::Latched(latch.clone())),
        }
    }

    fn latch_if_failed<T>(&mut self, result: Result<T>) -> Result<T> {
        let Err(error) = result else {
            return result;
        };
        let (latch, error) = latch_of(error, &self.file_name());
        self.latch = Some(latch);
        Err(error)
    }
}

/// Writes what is left until all is there, the system reports an error, or nothing moves any more.
fn write_rest<F: StorageFile>(
    file: &mut F,
    first: io::Result<usize>,
    offset_bytes: u64,
    buffer: &EncodeBuffer,
) -> io::Result<()> {
    let bytes = buffer.bytes();
    let unit = if buffer.writes_whole_blocks() { BLOCK_BYTES } else { 1 };
    let mut done = 0;
    let mut step = first;
    loop {
        done += match step {
            Ok(count) if count / unit > 0 => count / unit * unit,
            Ok(_) => return Err(io::ErrorKind::WriteZero.into()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            Err(error) => return Err(error),
        };
        if done >= bytes.len() {
            return Ok(());
        }
        step = file.write_at(offset_bytes + done as u64, &bytes[done..]);
    }
}

/// Splits an error into what stays in the journal and what goes to the caller.
fn latch_of(error: Error, current: &str) -> (Latch, Error) {
    let shared = match &error {
        Error::Io { source, .. } | Error::Refused { source, .. } => match source.raw_os_error() {
            Some(errno) => io::Error::from_raw_os_error(errno),
            None => io::Error::new(source.kind(), source.to_string()),
        },
        other => io::Error::other(other.to_string()),
    };
    let (verb, file) = match &error {
        Error::Io { verb, file, .. } => (*verb, file.clone()),
        _ => ("roll", current.to_owned()),
    };
    (Latch { verb, file, source: Arc::new(shared) }, error)
}
