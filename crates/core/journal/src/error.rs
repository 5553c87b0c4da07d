use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::evidence::LaterRecords;
use crate::refusal::Way;

pub type Result<T> = std::result::Result<T, Error>;

/// The first I/O error of a journal. After it nothing more is written.
#[derive(Debug, Clone)]
pub struct Latch {
    pub verb: &'static str,
    pub file: String,
    pub source: Arc<io::Error>,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{verb} {file}: {source}")]
    Io { verb: &'static str, file: String, source: io::Error },
    /// An earlier call failed, so nothing is written any more: what the file holds past the last
    /// sync is not known. Open the journal again; recovery finds the last whole record.
    #[error("journal is closed by an earlier error ({} {}: {}); open it again to recover", .0.verb, .0.file, .0.source)]
    Latched(Latch),
    #[error(
        "{way} is refused by this file system ({source}); choose another way or allow the fallback"
    )]
    Refused { way: Way, source: io::Error },
    #[error("{first} does not go with {second}: {reason}")]
    Incompatible { first: String, second: String, reason: &'static str },
    #[error("{field} is {value}; give a multiple of 4096 of at least 8192")]
    Size { field: &'static str, value: u64 },
    #[error(
        "record of {payload_bytes} bytes does not fit: at most {limit_bytes} with file_bytes and buffer_bytes as they are"
    )]
    TooLarge {
        payload_bytes: usize,
        /// Longest payload that these options allow.
        limit_bytes: usize,
    },
    /// The encoded records fill the buffer; write them first.
    #[error(
        "buffer holds {encoded_bytes} encoded bytes and takes no further record; call write_encoded first"
    )]
    BufferFull { encoded_bytes: usize },
    #[error(
        "{encoded_bytes} encoded bytes do not fit in the {free_bytes} left of this file; call roll first"
    )]
    NeedsRoll { encoded_bytes: usize, free_bytes: u64 },
    #[error("{dir} holds a journal already; open it, or choose an empty directory")]
    Exists { dir: String },
    #[error("{} is open for writing elsewhere; a journal has one writer", dir.display())]
    Busy { dir: PathBuf },
    #[error("{file} is not a file of this journal: {reason}; move it away")]
    Foreign { file: String, reason: String },
    #[error(transparent)]
    Damage(Box<Damage>),
    #[error(
        "{dir}: framing raw keeps no record borders, so there is no recovery and no replay; create a new journal"
    )]
    Raw { dir: String },
    #[error("background thread {name} ended: {reason}")]
    Thread { name: &'static str, reason: String },
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

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "damage in {file} at offset {offset_bytes}: {kind}, expected record {expected_sequence}{later}; \
     {}", self.way_out()
)]
pub struct Damage {
    pub file: String,
    /// Of the first byte that is wrong or missing.
    pub offset_bytes: u64,
    pub kind: DamageKind,
    pub expected_sequence: u64,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DamageKind {
    #[error("the file ends")]
    Missing,
    /// Zeros, or the bytes of a former life.
    #[error("nothing was written")]
    Blank,
    #[error("the length {0} cannot be")]
    Length(u32),
    #[error("the checksum is wrong")]
    Checksum,
    #[error("record {0} stands there")]
    Sequence(u64),
    #[error("the file header is wrong")]
    FileHeader,
    /// The next file starts with an earlier record than it should.
    #[error("the file starts again at record {0}")]
    Overlap(u64),
}
