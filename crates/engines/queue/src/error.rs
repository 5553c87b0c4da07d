use std::io;
use std::path::PathBuf;

use super::layout::HeaderFlaw;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{verb} {}: {source}", path.display())]
    Io { verb: &'static str, path: PathBuf, source: io::Error },
    /// The file system has no room for the message. Nothing was stored; append again when there is room.
    #[error("{} is full: no room for {needed_bytes} more bytes; free some space, or let retention do it", path.display())]
    Full { path: PathBuf, needed_bytes: u64 },
    #[error(
        "message of {payload_bytes} bytes does not fit: at most {limit_bytes} with segment_bytes as it is"
    )]
    TooLarge {
        payload_bytes: usize,
        /// Longest payload that the queue takes.
        limit_bytes: usize,
    },
    #[error("{} holds a queue already; open it, or choose an empty directory", dir.display())]
    Exists { dir: PathBuf },
    #[error("{} holds no queue; create one", dir.display())]
    Absent { dir: PathBuf },
    #[error("{} is not a file of this queue: {reason}; move it away", path.display())]
    Foreign { path: PathBuf, reason: String },
    #[error(transparent)]
    Damage(Box<Damage>),
    #[error("{field} is {value}; give {allowed}")]
    Option { field: &'static str, value: u64, allowed: &'static str },
    #[error("{way} is refused by the file system of {} ({source}); choose another", path.display())]
    Refused { way: &'static str, path: PathBuf, source: io::Error },
    #[error("{count} {role} have the queue open, and it has no more seats; close some")]
    Seats { role: &'static str, count: usize },
    #[error("tailer {name} is open elsewhere; a name has one reader at a time")]
    Busy { name: String },
    #[error("{name:?} cannot name a tailer; give 1 to 64 bytes")]
    Name { name: String },
    #[error("{verb} needs a queue that is open for writing, and this one is read-only")]
    ReadOnly { verb: &'static str },
    #[error("message {sequence} was let go by retention; the oldest kept is {oldest}")]
    Retired { sequence: u64, oldest: u64 },
    /// Our claim was taken over: our seat's lock was lost, which only a close of the file does.
    #[error("the claim at {offset_bytes} of {} was taken over; the message was not appended", path.display())]
    TakenOver { path: PathBuf, offset_bytes: u64 },
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

    pub fn is_full(&self) -> bool {
        matches!(self, Self::Full { .. })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("damage in {} at offset {offset_bytes}: {kind}; restore the file from a copy", path.display())]
pub struct Damage {
    pub path: PathBuf,
    /// Of the first byte that is wrong or missing.
    pub offset_bytes: u64,
    pub kind: DamageKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DamageKind {
    #[error("{0}")]
    Header(#[from] HeaderFlaw),
    #[error("the file was cut at {length_bytes} bytes")]
    Cut { length_bytes: u64 },
    #[error("{0:#018x} is no commit word")]
    Word(u64),
    #[error("a length of {0} bytes leads out of the segment")]
    Length(usize),
    #[error("the checksum of message {0} is wrong")]
    Checksum(u64),
    /// Nothing stands here, and later messages exist.
    #[error("nothing was written here, and the next segment is begun")]
    Blank,
    #[error("the segment begins with message {found} instead of {expected}")]
    Begin {
        expected: u64,
        /// 0 when the header's check is wrong.
        found: u64,
    },
    #[error("the segment is missing")]
    Missing,
}
