//! What goes wrong with a guest, in the words of the row that it fails.

use std::{io, path::PathBuf};

use thiserror::Error;

use crate::{deadline::GuestPhase, first_files::FirstFilesError, packages::PackageError};

/// A guest that did not do what it was to do. `console` is the end of what its kernel printed.
#[derive(Debug, Error)]
pub enum GuestError {
    /// The keeper could not be started.
    #[error("guest not started by {program}: {cause}; the worker is built beside pickfs")]
    NotStarted {
        /// The worker.
        program: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// It ended.
    #[error("guest ended in its {phase} phase by {how}{}", told(.console))]
    Died {
        /// In which phase.
        phase: GuestPhase,
        /// Signal or exit code.
        how: String,
        /// Its last words.
        console: String,
    },
    /// It took longer than it may.
    #[error("guest still in its {phase} phase after {limit_s:.0} s; ended{}", told(.console))]
    Missed {
        /// In which phase.
        phase: GuestPhase,
        /// The limit.
        limit_s: f64,
        /// Its last words.
        console: String,
    },
    /// It said itself what went wrong.
    #[error("guest failed in its {phase} phase: {reason}{}", told(.console))]
    Told {
        /// In which phase.
        phase: GuestPhase,
        /// What it said.
        reason: String,
        /// Its last words.
        console: String,
    },
    /// Somebody asked the run to end.
    #[error("interrupted")]
    Interrupted,
    /// Its kernel could not be had.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// Its first file system could not be made.
    #[error(transparent)]
    FirstFiles(#[from] FirstFilesError),
}

fn told(console: &str) -> String {
    if console.is_empty() { String::new() } else { format!("; console: {console}") }
}
