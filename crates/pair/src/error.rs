//! What can go wrong, with the values inside.

use std::{io, path::PathBuf};

use crate::epoch::Epoch;
use crate::wire::{Flaw, Reason};

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Everything that can go wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system failed a call.
    #[error("{verb} {what}: {source}")]
    Io {
        /// What was being done.
        verb: &'static str,
        /// To what: a path or an address.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// The store is a journal, and it failed.
    #[error("journal: {0}")]
    Journal(#[from] pickfs_journal::Error),
    /// The store is a queue, and it failed.
    #[error("queue: {0}")]
    Queue(#[from] pickfs_journal::queue::Error),
    /// What came over the wire is no frame.
    #[error("{peer}: {flaw}")]
    Wire {
        /// Who sent it.
        peer: String,
        /// What is wrong.
        flaw: Flaw,
    },
    /// The other side answers with another frame than it should.
    #[error("{peer} sent {found} where {expected} was due")]
    Unexpected {
        /// Who.
        peer: String,
        /// What it should have sent.
        expected: &'static str,
        /// What came.
        found: &'static str,
    },
    /// The state of a node cannot be read.
    #[error("{}: {reason}; restore it from a copy, or begin with an empty directory", path.display())]
    State {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A store has a record that no node wrote.
    #[error("record {sequence} of {} is not of a pair: {reason}", path.display())]
    Foreign {
        /// The store.
        path: PathBuf,
        /// Number of the record in the store.
        sequence: u64,
        /// How it was told.
        reason: &'static str,
    },
    /// Somebody else has the node open.
    #[error("{} is open elsewhere; a node has one process", dir.display())]
    Busy {
        /// Its directory.
        dir: PathBuf,
    },
    /// Another node reigns: this one may not write any more.
    #[error("epoch {mine} is over: {peer} follows epoch {theirs}; start this node as a secondary")]
    Fenced {
        /// Our epoch.
        mine: Epoch,
        /// Theirs.
        theirs: Epoch,
        /// Who told.
        peer: String,
    },
    /// A peer does not talk to us, or we not to it.
    #[error("{peer}: {}", reason.text())]
    Refused {
        /// Who.
        peer: String,
        /// Why.
        reason: Reason,
    },
    /// A secondary holds messages of our own past that we do not have.
    #[error(
        "{peer} holds messages up to {theirs} of epoch {epoch}, and here they end with {ours}; promote that node, and start this one as its secondary"
    )]
    Ahead {
        /// Who.
        peer: String,
        /// The epoch of its last message.
        epoch: Epoch,
        /// Its last message.
        theirs: u64,
        /// Our last message of that epoch.
        ours: u64,
    },
    /// Too few secondaries are there for the degree; nothing was taken.
    #[error(
        "{live} of {needed} secondaries are there; try again when they are back, or let it degrade"
    )]
    TooFew {
        /// How many follow now.
        live: usize,
        /// How many the degree needs.
        needed: usize,
    },
    /// The buffer for what secondaries have not taken is full; nothing was taken.
    #[error(
        "{buffered_bytes} bytes wait for a slow secondary; wait, give it more buffer, or let it degrade"
    )]
    Behind {
        /// Bytes that wait.
        buffered_bytes: usize,
    },
    /// A message did not become safe in time; it may still do so.
    #[error(
        "message {sequence} is not safe after {waited_ms} ms; it may become so, or be lost with this node"
    )]
    NotSafe {
        /// Its number.
        sequence: u64,
        /// How long was waited.
        waited_ms: u128,
    },
    /// A message is longer than it may be.
    #[error(
        "message of {payload_bytes} bytes does not fit: at most {limit_bytes} with this store and buffer"
    )]
    TooLarge {
        /// Its length.
        payload_bytes: usize,
        /// The longest that goes.
        limit_bytes: usize,
    },
    /// What was asked for is not in this build.
    #[error("{}", crate::Transport::MISSING)]
    NotBuilt,
    /// An option is out of range.
    #[error("{option} is {value}; give {allowed}")]
    Option {
        /// Its name.
        option: &'static str,
        /// Its value.
        value: u64,
        /// What goes.
        allowed: &'static str,
    },
}

impl Error {
    pub(crate) fn io(verb: &'static str, what: impl ToString) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::Io { verb, what: what.to_string(), source }
    }
}

impl Reason {
    /// In words, with the way out.
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

    /// The same, as the secondary says it that does not follow.
    pub(crate) fn text_of_primary(self) -> &'static str {
        match self {
            Reason::Fenced => "its epoch is over",
            Reason::Identity => "it belongs to another pair, or has our number",
            Reason::NoSync => "it wants durable messages, and this store does not sync",
            other => other.text(),
        }
    }
}
