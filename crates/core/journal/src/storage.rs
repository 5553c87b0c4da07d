//! The border between the journal and the place where its files are: a directory of the system
//! ([`crate::Directory`]) or a simulated disk that loses what was not synced ([`crate::crash`]). All
//! calls are static: a journal is compiled for its storage.

use std::io;

use crate::axes::{Sync, WritePath};
use crate::buffer::EncodeBuffer;
use crate::options::Options;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Open {
    /// For reading only.
    Read,
    /// For reading and for cutting, by recovery.
    Repair,
    /// It must exist; for appending.
    Existing(WriterSpec),
    /// It must not exist; for appending.
    New(WriterSpec),
}

/// What the storage must know of the options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriterSpec {
    pub write_path: WritePath,
    pub sync: Sync,
    /// Full length of a file.
    pub file_bytes: u64,
}

impl From<&Options> for WriterSpec {
    fn from(options: &Options) -> Self {
        Self { write_path: options.write_path, sync: options.sync, file_bytes: options.file_bytes }
    }
}

pub trait Storage: Clone + Send + 'static {
    type File: StorageFile;
    type Writer: Writer<File = Self::File>;

    fn open(&self, name: &str, how: Open) -> io::Result<Self::File>;
    /// In one step.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    fn remove(&self, name: &str) -> io::Result<()>;
    /// In any order.
    fn list(&self) -> io::Result<Vec<String>>;
    /// Makes creations, renames and removals durable.
    fn sync_directory(&self) -> io::Result<()>;
    /// `buffer` stays where it is for the writer's whole life.
    fn writer(&self, spec: WriterSpec, buffer: &EncodeBuffer) -> io::Result<Self::Writer>;
    /// Takes the right to be the only writer; `WouldBlock` if somebody has it.
    fn lock(&self) -> io::Result<()>;
    /// As prose, for messages.
    fn describe(&self) -> String;
}

/// Away from the hot path.
pub trait StorageFile: Send + 'static {
    /// 0 at the end of the file.
    fn read_at(&self, offset_bytes: u64, bytes: &mut [u8]) -> io::Result<usize>;
    /// May write less than asked.
    fn write_at(&mut self, offset_bytes: u64, bytes: &[u8]) -> io::Result<usize>;
    fn length_bytes(&self) -> io::Result<u64>;
    fn set_length(&mut self, length_bytes: u64) -> io::Result<()>;
    /// Reserves blocks for the whole of `length_bytes`, and sets the length too unless told to keep it.
    fn allocate(&mut self, length_bytes: u64, keep_length: bool) -> io::Result<()>;
    /// For a file that is written through a mapping; nothing for the other write paths.
    fn map(&mut self, length_bytes: u64) -> io::Result<()>;
    /// Makes everything in the file durable.
    fn sync_all(&mut self) -> io::Result<()>;
}

/// The part of the file that was written and not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyncRange {
    pub start_bytes: u64,
    /// Behind the last byte.
    pub end_bytes: u64,
}

/// The hot path: one call a write, one call a sync.
pub trait Writer: Send + 'static {
    type File: StorageFile;

    /// The file that is written from now on.
    fn attach(&mut self, file: &mut Self::File) -> io::Result<()>;
    /// May write less than asked.
    fn write(
        &mut self,
        file: &mut Self::File,
        offset_bytes: u64,
        buffer: &EncodeBuffer,
    ) -> io::Result<usize>;
    /// Makes the writes in `range` durable, by the method of the journal.
    fn sync(&mut self, file: &mut Self::File, range: SyncRange) -> io::Result<()>;
}
