//! Exit codes, in one table.

use std::process::ExitCode;

use pickfs_lab::launch::LaunchError;
use pickfs_target::TargetError;

/// How the program ends. Usage errors end with 2 (clap's own).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// All was done.
    Done,
    /// It could not be done; the message says why.
    Failed,
    /// It was done, but a trial failed: see the rows of the table.
    TrialsFailed,
    /// Somebody asked it to stop; what was finished is kept.
    Interrupted,
    /// As a command of the user's ended: its code, or 128 and the signal.
    Command(u8),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(match exit {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::TrialsFailed => 3,
            Exit::Interrupted => 130,
            Exit::Command(code) => code,
        })
    }
}

impl Exit {
    /// How the program ends with an error: one that somebody asked for is an interruption.
    pub fn of_error(error: &anyhow::Error) -> Exit {
        match error.downcast_ref::<LaunchError>() {
            Some(LaunchError::Target(TargetError::Interrupted { .. })) => Exit::Interrupted,
            _ => Exit::Failed,
        }
    }
}
