//! The border between the journal and the place where its files are: a directory of the system
//! ([`crate::Directory`]) or a simulated disk that loses what was not synced ([`crate::crash`]). All
//! calls are static: a journal is compiled for its storage.

use std::io;

use crate::axes::{Sync, WritePath};
use crate::buffer::EncodeBuffer;
use crate::options::Options;

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Open {
    /// It must exist; for reading only.
    Read,
    /// It must exist; for reading and for cutting, by recovery.
    Repair,
    /// It must exist; for appending with these means.
    Existing(WriterSpec),
    /// It must not exist; for appending with these means.
    New(WriterSpec),
}

/// The means by which a file is written: what the storage must know of the options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriterSpec {
    /// How bytes are written.
    pub write_path: WritePath,
    /// How they are made durable.
    pub sync: Sync,
    /// Full length of a file.
    pub file_bytes: u64,
}

impl From<&Options> for WriterSpec {
    fn from(options: &Options) -> Self {
        Self { write_path: options.write_path, sync: options.sync, file_bytes: options.file_bytes }
    }
}

/// A place that holds journal files.
pub trait Storage: Clone + Send + 'static {
    /// An open file.
    type File: StorageFile;
    /// What writes records to the current file.
    type Writer: Writer<File = Self::File>;

    /// Opens a file.
    fn open(&self, name: &str, how: Open) -> io::Result<Self::File>;
    /// Gives a file another name, in one step.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Names of all files, in any order.
    fn list(&self) -> io::Result<Vec<String>>;
    /// Makes creations, renames and removals durable.
    fn sync_directory(&self) -> io::Result<()>;
    /// Makes the writer of a journal. `buffer` stays where it is for the writer's whole life.
    fn writer(&self, spec: WriterSpec, buffer: &EncodeBuffer) -> io::Result<Self::Writer>;
    /// Takes the right to be the only writer; `WouldBlock` if somebody has it.
    fn lock(&self) -> io::Result<()>;
    /// The place as prose, for messages.
    fn describe(&self) -> String;
}

/// An open journal file, away from the hot path.
pub trait StorageFile: Send + 'static {
    /// Reads at `offset_bytes`; 0 at the end of the file.
    fn read_at(&self, offset_bytes: u64, bytes: &mut [u8]) -> io::Result<usize>;
    /// Writes at `offset_bytes`; may write less than asked.
    fn write_at(&mut self, offset_bytes: u64, bytes: &[u8]) -> io::Result<usize>;
    /// Length of the file.
    fn length_bytes(&self) -> io::Result<u64>;
    /// Sets the length.
    fn set_length(&mut self, length_bytes: u64) -> io::Result<()>;
    /// Reserves blocks for the whole of `length_bytes`, and sets the length too unless told to keep it.
    fn allocate(&mut self, length_bytes: u64, keep_length: bool) -> io::Result<()>;
    /// Maps the whole of a file that is written through a mapping; nothing for the other write paths.
    fn map(&mut self, length_bytes: u64) -> io::Result<()>;
    /// Makes everything in the file durable.
    fn sync_all(&mut self) -> io::Result<()>;
}

/// The part of the file that was written and not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyncRange {
    /// First byte.
    pub start_bytes: u64,
    /// Byte behind the last.
    pub end_bytes: u64,
}

/// The hot path: one call a write, one call a sync.
pub trait Writer: Send + 'static {
    /// An open file.
    type File: StorageFile;

    /// Makes `file` the one that is written from now on.
    fn attach(&mut self, file: &mut Self::File) -> io::Result<()>;
    /// Writes what the buffer holds at `offset_bytes`; may write less than asked.
    fn write(
        &mut self,
        file: &mut Self::File,
        offset_bytes: u64,
        buffer: &EncodeBuffer,
    ) -> io::Result<usize>;
    /// Makes the writes in `range` durable, by the method of the journal.
    fn sync(&mut self, file: &mut Self::File, range: SyncRange) -> io::Result<()>;
}
