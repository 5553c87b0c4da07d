//! Exit codes, in one table.

use std::process::ExitCode;

use pickfs_lab::{launch::LaunchError, preflight::PreflightError, rivals::NoAnswer};
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
    /// Nothing was measured, as there is nothing to compare: see what is missing.
    NoAnswer,
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
            Exit::NoAnswer => 4,
            Exit::Interrupted => 130,
            Exit::Command(code) => code,
        })
    }
}

impl Exit {
    /// How the program ends with an error: one that somebody asked for is an interruption.
    pub fn of_error(error: &anyhow::Error) -> Exit {
        if no_answer(error).is_some() {
            return Exit::NoAnswer;
        }
        match error.downcast_ref::<LaunchError>() {
            Some(LaunchError::Target(TargetError::Interrupted { .. })) => Exit::Interrupted,
            _ => Exit::Failed,
        }
    }
}

/// What an error says of a plan that would compare nothing.
pub fn no_answer(error: &anyhow::Error) -> Option<&NoAnswer> {
    let of_launch = match error.downcast_ref::<LaunchError>() {
        Some(LaunchError::Preflight(error)) => Some(error),
        _ => None,
    };
    match error.downcast_ref::<PreflightError>().or(of_launch) {
        Some(PreflightError::NoAnswer(why)) => Some(why),
        _ => None,
    }
}
