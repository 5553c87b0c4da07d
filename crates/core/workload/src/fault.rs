use std::{io, path::PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The trial cannot be run as asked here; nobody did anything wrong.
    #[error("{reason}")]
    Skipped { reason: String },
    #[error("{verb} {}: {source}", path.display())]
    Io {
        /// What was being done: `create`, `fsync`.
        verb: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("journal: {0}")]
    Journal(#[source] pickfs_journal::Error),
    #[error("verification failed: {what}")]
    Wrong { what: String },
    /// What was asked makes no sense, or a helper failed.
    #[error("{reason}")]
    Failed { reason: String },
}

impl Fault {
    pub fn is_skip(&self) -> bool {
        matches!(
            self,
            Fault::Skipped { .. } | Fault::Journal(pickfs_journal::Error::Refused { .. })
        )
    }

    pub fn io(verb: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        // Only a failure pays for the copy of the path: this stands in measured loops.
        move |source| Fault::Io { verb, path: path.into(), source }
    }
}

impl From<pickfs_journal::Error> for Fault {
    fn from(error: pickfs_journal::Error) -> Self {
        Fault::Journal(error)
    }
}
