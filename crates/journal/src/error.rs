//! What can go wrong, with the values inside.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::evidence::LaterRecords;
use crate::refusal::Way;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// The first I/O error of a journal. After it nothing more is written.
#[derive(Debug, Clone)]
pub struct Latch {
    /// What was being done.
    pub verb: &'static str,
    /// Name of the file.
    pub file: String,
    /// What the system said.
    pub source: Arc<io::Error>,
}

/// Everything that can go wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused or failed a call. The journal writes nothing more.
    #[error("{verb} {file}: {source}")]
    Io {
        /// What was being done.
        verb: &'static str,
        /// Name of the file or directory.
        file: String,
        /// What the system said.
        source: io::Error,
    },
    /// An earlier call failed, so nothing is written any more: what the file holds past the last
    /// sync is not known. Open the journal again; recovery finds the last whole record.
    #[error("journal is closed by an earlier error ({} {}: {}); open it again to recover", .0.verb, .0.file, .0.source)]
    Latched(Latch),
    /// The file system does not have a way that was asked for.
    #[error(
        "{way} is refused by this file system ({source}); choose another way or allow the fallback"
    )]
    Refused {
        /// The way.
        way: Way,
        /// What the system said.
        source: io::Error,
    },
    /// Two options do not go together.
    #[error("{first} does not go with {second}: {reason}")]
    Incompatible {
        /// One option, for instance `sync msync`.
        first: String,
        /// The other.
        second: String,
        /// Why not, and what to take.
        reason: &'static str,
    },
    /// A size is out of range.
    #[error("{field} is {value}; give a multiple of 4096 of at least 8192")]
    Size {
        /// Name of the option.
        field: &'static str,
        /// What was given.
        value: u64,
    },
    /// A record does not fit in the buffer or in an empty file.
    #[error(
        "record of {payload_bytes} bytes does not fit: at most {limit_bytes} with file_bytes and buffer_bytes as they are"
    )]
    TooLarge {
        /// Length of the payload.
        payload_bytes: usize,
        /// Longest payload that these options allow.
        limit_bytes: usize,
    },
    /// The encoded records fill the buffer; write them first.
    #[error(
        "buffer holds {encoded_bytes} encoded bytes and takes no further record; call write_encoded first"
    )]
    BufferFull {
        /// Bytes that wait.
        encoded_bytes: usize,
    },
    /// The encoded records do not fit in the rest of the file.
    #[error(
        "{encoded_bytes} encoded bytes do not fit in the {free_bytes} left of this file; call roll first"
    )]
    NeedsRoll {
        /// Bytes that wait.
        encoded_bytes: usize,
        /// Bytes left.
        free_bytes: u64,
    },
    /// A journal is there already.
    #[error("{dir} holds a journal already; open it, or choose an empty directory")]
    Exists {
        /// The directory.
        dir: String,
    },
    /// Another writer has the journal.
    #[error("{} is open for writing elsewhere; a journal has one writer", dir.display())]
    Busy {
        /// The directory.
        dir: PathBuf,
    },
    /// A file in the directory is not of this journal.
    #[error("{file} is not a file of this journal: {reason}; move it away")]
    Foreign {
        /// Name of the file.
        file: String,
        /// How it was told.
        reason: String,
    },
    /// Bytes in the middle of the journal are wrong.
    #[error(transparent)]
    Damage(Box<Damage>),
    /// Raw framing has no records to find again.
    #[error(
        "{dir}: framing raw keeps no record borders, so there is no recovery and no replay; create a new journal"
    )]
    Raw {
        /// The directory.
        dir: String,
    },
    /// A background thread ended before its time.
    #[error("background thread {name} ended: {reason}")]
    Thread {
        /// Its name.
        name: &'static str,
        /// Why.
        reason: String,
    },
}

impl Error {
    pub(crate) fn io(
        verb: &'static str,
        file: impl Into<String>,
    ) -> impl FnOnce(io::Error) -> Self {
        let file = file.into();
        move |source| Self::Io { verb, file, source }
    }
}

/// Where the journal is damaged, and how that is known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "damage in {file} at offset {offset_bytes}: {kind}, expected record {expected_sequence}{later}; \
     {}", self.way_out()
)]
pub struct Damage {
    /// Name of the file.
    pub file: String,
    /// Offset of the first byte that is wrong or missing.
    pub offset_bytes: u64,
    /// What was found there.
    pub kind: DamageKind,
    /// The sequence that should have been found.
    pub expected_sequence: u64,
    /// What stands behind.
    pub later: LaterRecords,
}

impl Damage {
    fn way_out(&self) -> &'static str {
        if self.later.prove_durable(self.expected_sequence) {
            "it had been synced, so this is no trace of a crash: restore the file from a copy"
        } else {
            "restore the file from a copy, or, if the power failed, recover with Holes::CutUnsynced"
        }
    }
}

/// What was found in place of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DamageKind {
    /// The file ends.
    #[error("the file ends")]
    Missing,
    /// Zeros, or the bytes of a former life.
    #[error("nothing was written")]
    Blank,
    /// A header with a length that cannot be.
    #[error("the length {0} cannot be")]
    Length(u32),
    /// The checksum is wrong.
    #[error("the checksum is wrong")]
    Checksum,
    /// A whole record with another sequence.
    #[error("record {0} stands there")]
    Sequence(u64),
    /// The header of the file is wrong.
    #[error("the file header is wrong")]
    FileHeader,
    /// The next file starts with an earlier record than it should.
    #[error("the file starts again at record {0}")]
    Overlap(u64),
}
