use std::io;
use std::path::PathBuf;

use crate::epoch::Epoch;
use crate::wire::Reason;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{verb} {what}: {source}")]
    Io { verb: &'static str, what: String, source: io::Error },
    #[error("journal: {0}")]
    Journal(#[from] pickfs_journal::Error),
    #[error("queue: {0}")]
    Queue(#[from] pickfs_queue::Error),
    #[error("{peer} sent another frame where {expected} was due")]
    Unexpected { peer: String, expected: &'static str },
    #[error("{}: {reason}; restore it from a copy, or begin with an empty directory", path.display())]
    State { path: PathBuf, reason: String },
    #[error("record {sequence} of {} is not of a pair: {reason}", path.display())]
    Foreign { path: PathBuf, sequence: u64, reason: &'static str },
    #[error("{} is open elsewhere; a node has one process", dir.display())]
    Busy { dir: PathBuf },
    /// Another node reigns: this one may not write any more.
    #[error("epoch {mine} is over: {peer} follows epoch {theirs}; start this node as a secondary")]
    Fenced { mine: Epoch, theirs: Epoch, peer: String },
    #[error("{peer}: {}", reason.text())]
    Refused { peer: String, reason: Reason },
    /// A secondary holds messages of our own past that we do not have.
    #[error(
        "{peer} holds messages up to {theirs} of epoch {epoch}, and here they end with {ours}; promote that node, and start this one as its secondary"
    )]
    Ahead { peer: String, epoch: Epoch, theirs: u64, ours: u64 },
    /// Nothing was taken.
    #[error(
        "{live} of {needed} secondaries are there; try again when they are back, or let it degrade"
    )]
    TooFew { live: usize, needed: usize },
    /// The buffer for what secondaries have not taken is full; nothing was taken.
    #[error(
        "{buffered_bytes} bytes wait for a slow secondary; wait, give it more buffer, or let it degrade"
    )]
    Behind { buffered_bytes: usize },
    /// It may still become safe.
    #[error(
        "message {sequence} is not safe after {waited_ms} ms: too few secondaries have it; it may become so, or be lost with this node"
    )]
    NotSafe { sequence: u64, waited_ms: u128 },
    #[error(
        "message of {payload_bytes} bytes does not fit: at most {limit_bytes} with this store and buffer"
    )]
    TooLarge { payload_bytes: usize, limit_bytes: usize },
    #[error("{}", crate::Transport::MISSING)]
    NotBuilt,
    #[error("{option} is {value}; give {allowed}")]
    Option { option: &'static str, value: u64, allowed: &'static str },
}

impl Error {
    pub(crate) fn io(verb: &'static str, what: impl ToString) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::Io { verb, what: what.to_string(), source }
    }
}

impl Reason {
    pub fn text(self) -> &'static str {
        match self {
            Reason::Fenced => "it follows a later epoch; start this node as a secondary",
            Reason::Identity => "it belongs to another pair; check directory and address",
            Reason::Diverged => {
                "it holds messages that the primary never had; set its store aside and let it catch up"
            }
            Reason::NoSync => {
                "durable messages are wanted, and its store does not sync; give its store a sync"
            }
            Reason::Gone => {
                "the messages it needs are not kept any more; begin it with a copy of the primary's directory"
            }
            Reason::Primary => "it is a primary itself; one of the two must become a secondary",
        }
    }

    pub(crate) fn text_of_primary(self) -> &'static str {
        match self {
            Reason::Fenced => "its epoch is over",
            Reason::Identity => "it belongs to another pair, or has our number",
            Reason::NoSync => "it wants durable messages, and this store does not sync",
            other => other.text(),
        }
    }
}
