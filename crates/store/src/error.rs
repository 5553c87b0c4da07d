//! What can be wrong with a run file, with the way out.

use std::path::PathBuf;

use thiserror::Error;

/// A run file that could not be made, read or written.
#[derive(Debug, Error)]
pub enum StoreError {
    /// SQLite refused.
    #[error("run file {path}: {cause}; if the disk is full, free space and use run --resume")]
    Sqlite {
        /// The run file.
        path: PathBuf,
        /// What SQLite said.
        cause: rusqlite::Error,
    },
    /// The file is there already.
    #[error("run file {path} exists; choose another name or continue it with run --resume {path}")]
    Exists {
        /// The run file.
        path: PathBuf,
    },
    /// There is no such file.
    #[error("run file {path} not found; pickfs list shows what there is")]
    Missing {
        /// The run file.
        path: PathBuf,
    },
    /// The file is not a run of ours.
    #[error("{path} is not a pickfs run ({what}); pickfs list shows what there is")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What stands there instead.
        what: String,
    },
    /// The file was written by a later version.
    #[error("run file {path} has format {found}, this pickfs reads up to {known}; use a newer one")]
    Newer {
        /// The run file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The highest format that is known here.
        known: u32,
    },
    /// A record that should be JSON of ours is not.
    #[error("run file {path}: {what} is damaged: {cause}; restore the file from a copy")]
    Damaged {
        /// The run file.
        path: PathBuf,
        /// Which record.
        what: String,
        /// What the parser said.
        cause: serde_json::Error,
    },
}
