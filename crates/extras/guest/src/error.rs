use std::{io, path::PathBuf};

use thiserror::Error;

use crate::{deadline::GuestPhase, packages::PackageError, program_files::ProgramError};

/// `console` is the end of what its kernel printed.
#[derive(Debug, Error)]
pub enum GuestError {
    #[error("guest not started by {program}: {cause}; the worker is built beside pickfs")]
    NotStarted { program: PathBuf, cause: io::Error },
    #[error("guest ended in its {phase} phase by {how}{}", told(.console))]
    Died { phase: GuestPhase, how: String, console: String },
    #[error("guest still in its {phase} phase after {limit_s:.0} s; ended{}", told(.console))]
    Missed { phase: GuestPhase, limit_s: f64, console: String },
    #[error("guest failed in its {phase} phase: {reason}{}", told(.console))]
    Told { phase: GuestPhase, reason: String, console: String },
    #[error("interrupted")]
    Interrupted,
    #[error(transparent)]
    Package(#[from] PackageError),
    #[error(transparent)]
    FirstFiles(#[from] ProgramError),
}

fn told(console: &str) -> String {
    if console.is_empty() { String::new() } else { format!("; console: {console}") }
}
