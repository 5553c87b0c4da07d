use std::{io, path::PathBuf};

use pickfs_sys::refused::Refused;
use thiserror::Error;

use crate::availability::Unavailable;
use crate::interlock::Refusal;
use crate::undo::UndoError;

#[derive(Debug, Error)]
pub enum TargetError {
    /// The machine, not the attempt, is the cause: the cell is skipped.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    #[error("interrupted while {what}")]
    Interrupted { what: &'static str },
    #[error("{program} not found; install {package} or leave what needs it out")]
    NoProgram { program: String, package: String },
    #[error("{0}")]
    Other(String),
    #[error("cannot {what} {}: {cause}", .path.display())]
    Io { what: &'static str, path: PathBuf, cause: io::Error },
    #[error(transparent)]
    Format(#[from] pickfs_mkfs::MakeError),
    #[error(transparent)]
    System(#[from] Refused),
    #[error(transparent)]
    Refused(#[from] Box<Refusal>),
    #[error(transparent)]
    Undo(#[from] UndoError),
}

impl TargetError {
    pub(crate) fn io(
        what: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |cause| TargetError::Io { what, path, cause }
    }

    pub(crate) fn unknown_call(name: &str, args: &[String]) -> Self {
        let args = args.join(" ");
        TargetError::Other(format!(
            "step `{name} {args}` is none that this lab knows; this is a bug"
        ))
    }
}

impl From<Refusal> for TargetError {
    fn from(refusal: Refusal) -> Self {
        TargetError::Refused(Box::new(refusal))
    }
}
