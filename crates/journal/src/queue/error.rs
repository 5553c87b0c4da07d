//! What can go wrong with a queue, with the values inside.

use std::io;
use std::path::PathBuf;

use super::layout::HeaderFlaw;

/// Result of a queue.
pub type Result<T> = std::result::Result<T, Error>;

/// Everything that can go wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system failed a call.
    #[error("{verb} {}: {source}", path.display())]
    Io {
        /// What was being done.
        verb: &'static str,
        /// To what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file system has no room for the message. Nothing was stored; append again when there is room.
    #[error("{} is full: no room for {needed_bytes} more bytes; free some space, or let retention do it", path.display())]
    Full {
        /// The segment, or the one that could not be made.
        path: PathBuf,
        /// Bytes that were asked for.
        needed_bytes: u64,
    },
    /// A message does not fit in an empty segment.
    #[error(
        "message of {payload_bytes} bytes does not fit: at most {limit_bytes} with segment_bytes as it is"
    )]
    TooLarge {
        /// Length of the payload.
        payload_bytes: usize,
        /// Longest payload that the queue takes.
        limit_bytes: usize,
    },
    /// A queue is there already.
    #[error("{} holds a queue already; open it, or choose an empty directory", dir.display())]
    Exists {
        /// The directory.
        dir: PathBuf,
    },
    /// No queue is there.
    #[error("{} holds no queue; create one", dir.display())]
    Absent {
        /// The directory.
        dir: PathBuf,
    },
    /// A file is not of this queue.
    #[error("{} is not a file of this queue: {reason}; move it away", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// How it was told.
        reason: String,
    },
    /// Bytes are wrong.
    #[error(transparent)]
    Damage(Box<Damage>),
    /// An option is out of range.
    #[error("{field} is {value}; give {allowed}")]
    Option {
        /// Name of the option.
        field: &'static str,
        /// What was given.
        value: u64,
        /// What would have been taken.
        allowed: &'static str,
    },
    /// The file system does not have a way that was asked for.
    #[error("{way} is refused by the file system of {} ({source}); choose another", path.display())]
    Refused {
        /// The way, for instance `fallocate`.
        way: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// All seats are taken.
    #[error("{count} {role} have the queue open, and it has no more seats; close some")]
    Seats {
        /// `appenders` or `tailers`.
        role: &'static str,
        /// How many there may be.
        count: usize,
    },
    /// A named tailer is open elsewhere.
    #[error("tailer {name} is open elsewhere; a name has one reader at a time")]
    Busy {
        /// Its name.
        name: String,
    },
    /// A name that cannot be one.
    #[error("{name:?} cannot name a tailer; give 1 to 64 bytes")]
    Name {
        /// What was given.
        name: String,
    },
    /// The queue was opened for reading alone.
    #[error("{verb} needs a queue that is open for writing, and this one is read-only")]
    ReadOnly {
        /// What was asked.
        verb: &'static str,
    },
    /// The messages were let go by retention.
    #[error("message {sequence} was let go by retention; the oldest kept is {oldest}")]
    Retired {
        /// What was wanted.
        sequence: u64,
        /// Oldest sequence that is there.
        oldest: u64,
    },
    /// Our claim was taken over: our seat's lock was lost, which only a close of the file does.
    #[error("the claim at {offset_bytes} of {} was taken over; the message was not appended", path.display())]
    TakenOver {
        /// The segment.
        path: PathBuf,
        /// Where.
        offset_bytes: u64,
    },
}

impl Error {
    pub(crate) fn io(
        verb: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { verb, path: path.into(), source }
    }

    pub(crate) fn flaw(path: impl Into<PathBuf>) -> impl FnOnce(HeaderFlaw) -> Self {
        move |flaw| {
            let path = path.into();
            match flaw {
                HeaderFlaw::Checksum | HeaderFlaw::Size(_) | HeaderFlaw::Short => {
                    Self::Damage(Box::new(Damage { path, offset_bytes: 0, kind: flaw.into() }))
                }
                HeaderFlaw::Magic | HeaderFlaw::Format(_) => {
                    Self::Foreign { path, reason: flaw.to_string() }
                }
            }
        }
    }

    pub(crate) fn damage(path: impl Into<PathBuf>, offset_bytes: u64, kind: DamageKind) -> Self {
        Self::Damage(Box::new(Damage { path: path.into(), offset_bytes, kind }))
    }

    /// Whether the file system was full.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Full { .. })
    }
}

/// Where a queue is damaged, and how that is known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("damage in {} at offset {offset_bytes}: {kind}; restore the file from a copy", path.display())]
pub struct Damage {
    /// The file.
    pub path: PathBuf,
    /// Offset of the first byte that is wrong or missing.
    pub offset_bytes: u64,
    /// What was found.
    pub kind: DamageKind,
}

/// What was found in place of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DamageKind {
    /// The header is wrong.
    #[error("{0}")]
    Header(#[from] HeaderFlaw),
    /// The file ends before this offset.
    #[error("the file was cut at {length_bytes} bytes")]
    Cut {
        /// Length of the file.
        length_bytes: u64,
    },
    /// The word is of no kind.
    #[error("{0:#018x} is no commit word")]
    Word(u64),
    /// The length leads out of the segment.
    #[error("a length of {0} bytes leads out of the segment")]
    Length(usize),
    /// The checksum is wrong.
    #[error("the checksum of message {0} is wrong")]
    Checksum(u64),
    /// Nothing stands here, and later messages exist.
    #[error("nothing was written here, and the next segment is begun")]
    Blank,
    /// The segment says that it begins with another message than it should.
    #[error("the segment begins with message {found} instead of {expected}")]
    Begin {
        /// What should be.
        expected: u64,
        /// What the header says; 0 when its check is wrong.
        found: u64,
    },
    /// A segment is missing between others.
    #[error("the segment is missing")]
    Missing,
}
