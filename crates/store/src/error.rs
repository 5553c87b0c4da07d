//! What can be wrong with a run file, with the way out.

use std::path::{Path, PathBuf};

use pickfs_model::typed::program;
use rusqlite::ErrorCode;
use thiserror::Error;

/// A run file that could not be made, read or written.
#[derive(Debug, Error)]
pub enum StoreError {
    /// SQLite refused.
    #[error("run file {path}: {cause}{}", way_out(.cause))]
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
    #[error("run file {path} not found; {} list shows what there is", program())]
    Missing {
        /// The run file.
        path: PathBuf,
    },
    /// The file is not a run of ours.
    #[error("{path} is not a pickfs run ({what}); {} list shows what there is", program())]
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

impl StoreError {
    /// What SQLite said of a file.
    pub(crate) fn of_sqlite(path: &Path, cause: rusqlite::Error) -> StoreError {
        match cause.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => {
                StoreError::Foreign { path: path.into(), what: "not an SQLite file".into() }
            }
            _ => StoreError::Sqlite { path: path.into(), cause },
        }
    }
}

/// What to do about it, by its cause.
fn way_out(cause: &rusqlite::Error) -> String {
    let program = program();
    let text = match cause.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => {
            return format!("; free space, then go on with {program} run --resume");
        }
        Some(ErrorCode::SystemIoFailure) => {
            return format!(
                "; look at dmesg, the quota and ulimit -f, then go on with {program} run --resume"
            );
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "; another program writes it, try again when that has ended"
        }
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
            "; may this user read and write it, and its folder?"
        }
        Some(ErrorCode::OperationInterrupted) => {
            ": a statement read for more than 10 s; the file is damaged, or no run of ours"
        }
        Some(ErrorCode::DatabaseCorrupt) => "; restore the file from a copy",
        _ => "",
    };
    text.into()
}
