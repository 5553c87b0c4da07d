//! What ends a trial before its time: a way that is not there (skipped), or a failure.

use std::{io, path::PathBuf};

/// Why a trial was not finished.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The trial cannot be run as asked here; nobody did anything wrong.
    #[error("{reason}")]
    Skipped {
        /// What is refused, by whom, and what to choose instead.
        reason: String,
    },
    /// The system failed a call.
    #[error("{verb} {}: {source}", path.display())]
    Io {
        /// What was being done: `create`, `fsync`.
        verb: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The journal under test failed.
    #[error("journal: {0}")]
    Journal(#[source] pickfs_journal::Error),
    /// What was read back is not what was written.
    #[error("verification failed: {what}")]
    Wrong {
        /// What differs, where.
        what: String,
    },
    /// What was asked makes no sense, or a helper failed.
    #[error("{reason}")]
    Failed {
        /// In words, with the way out.
        reason: String,
    },
}

impl Fault {
    /// Whether the trial is skipped, rather than failed.
    pub fn is_skip(&self) -> bool {
        matches!(
            self,
            Fault::Skipped { .. } | Fault::Journal(pickfs_journal::Error::Refused { .. })
        )
    }

    /// Wraps an I/O error with what was done to what.
    pub(crate) fn io(
        verb: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        // Only a failure pays for the copy of the path: this stands in measured loops.
        move |source| Fault::Io { verb, path: path.into(), source }
    }
}

impl From<pickfs_journal::Error> for Fault {
    fn from(error: pickfs_journal::Error) -> Self {
        Fault::Journal(error)
    }
}
