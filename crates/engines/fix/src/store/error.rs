use std::{io, path::PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("journal: {0}")]
    Journal(#[from] pickfs_journal::Error),
    #[error("queue: {0}")]
    Queue(#[from] pickfs_queue::Error),
    #[error("pair: {0}")]
    Pair(#[from] pickfs_pair::Error),
    #[error("pair: {error}; the last that was heard: {heard}")]
    NotReady {
        error: pickfs_pair::Error,
        /// `heard`: why a secondary does not follow, where one said so.
        heard: String,
    },
    #[error("{verb} {}: {source}", path.display())]
    Io { verb: &'static str, path: PathBuf, source: io::Error },
    /// What is kept contradicts itself; nothing was changed.
    #[error(
        "record {record} of the store {what}; keep the files and start with an empty directory"
    )]
    Damaged {
        /// From 1.
        record: u64,
        what: String,
    },
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
