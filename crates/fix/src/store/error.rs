//! What a store may fail with.

use std::{io, path::PathBuf};

/// Why a message could not be kept, or was not found again.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The journal failed.
    #[error("journal: {0}")]
    Journal(#[from] pickfs_journal::Error),
    /// The queue failed.
    #[error("queue: {0}")]
    Queue(#[from] pickfs_journal::queue::Error),
    /// The pair failed.
    #[error("pair: {0}")]
    Pair(#[from] pickfs_pair::Error),
    /// No pair could begin: its secondaries are not there.
    #[error("pair: {error}; the last that was heard: {heard}")]
    NotReady {
        /// What the pair says.
        error: pickfs_pair::Error,
        /// Why a secondary does not follow, where one said so.
        heard: String,
    },
    /// A file failed.
    #[error("{verb} {}: {source}", path.display())]
    Io {
        /// What was being done.
        verb: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// What is kept contradicts itself; nothing was changed.
    #[error(
        "record {record} of the store {what}; keep the files and start with an empty directory"
    )]
    Damaged {
        /// Number of the record, from 1.
        record: u64,
        /// What is wrong with it.
        what: String,
    },
    /// Another kind of log failed: a pair, a test.
    #[error("{0}")]
    Other(String),
}

impl StoreError {
    pub(crate) fn io(
        verb: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> StoreError {
        move |source| StoreError::Io { verb, path: path.into(), source }
    }
}
