use std::path::{Path, PathBuf};

use pickfs_record::typed::program;
use rusqlite::ErrorCode;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum StoreError {
    #[error("run file {path}: {cause}{}", way_out(.cause))]
    Sqlite { path: PathBuf, cause: rusqlite::Error },
    #[error(
        "run file {path} exists; choose another name or go on with {} run --resume {path}",
        program()
    )]
    Exists { path: PathBuf },
    #[error("run file {path} cannot be written: {cause}; name another folder")]
    Unwritten { path: PathBuf, cause: std::io::Error },
    #[error("run file {path} not found; {} show shows what there is", program())]
    Missing { path: PathBuf },
    #[error("{path} is not a pickfs run ({what}); {} show shows what there is", program())]
    Foreign { path: PathBuf, what: String },
    #[error("run file {path} has format {found}, this pickfs reads up to {known}; use a newer one")]
    Newer { path: PathBuf, found: u32, known: u32 },
    #[error(
        "run file {path} was reduced by an older pickfs, which packed each trial by itself; make it again from the \
         whole run: {} report RUN --format run",
        program()
    )]
    Older { path: PathBuf },
    #[error(
        "run file {path} was reduced: it is read and no more; {} run --again {path} measures again, \
         but not what was on a --dir or --device, of which it lacks the name",
        program()
    )]
    Reduced { path: PathBuf },
    #[error("run file {path}: {what} is damaged: {cause}; restore the file from a copy")]
    Damaged { path: PathBuf, what: String, cause: serde_json::Error },
}

impl StoreError {
    pub(crate) fn of_sqlite(path: &Path, cause: rusqlite::Error) -> StoreError {
        match cause.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => {
                StoreError::Foreign { path: path.into(), what: "not an SQLite file".into() }
            }
            _ => StoreError::Sqlite { path: path.into(), cause },
        }
    }
}

fn way_out(cause: &rusqlite::Error) -> String {
    let program = program();
    let text = match cause.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => {
            return format!("; free space, then go on with {program} --resume");
        }
        Some(ErrorCode::SystemIoFailure) => {
            return format!(
                "; look at dmesg, the quota and ulimit -f, then go on with {program} --resume"
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
