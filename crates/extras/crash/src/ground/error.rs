use std::{io, path::PathBuf, time::Duration};

use pickfs_candidate::{TargetError, Unavailable};
use pickfs_guest::GuestError;
use pickfs_sys::refused::Refused;

#[derive(Debug, thiserror::Error)]
pub enum GroundError {
    #[error("the recorder or a checker was not started: {0}")]
    Start(io::Error),
    #[error("the recorder has ended and its disk is gone, see dmesg for who killed it: {0}")]
    Gone(io::Error),
    #[error("the recorder refused: {0}")]
    Recorder(String),
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error(transparent)]
    Guest(#[from] GuestError),
    #[error("in the guest: {0}")]
    Inside(String),
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    #[error("cannot {what} {}: {cause}", .path.display())]
    Io { what: &'static str, path: PathBuf, cause: io::Error },
    #[error("{fs} cannot be made on a recorded disk: {why}")]
    NotHere { fs: String, why: String },
    /// What was asked for, and not what this machine lacks.
    #[error("{fs}: {why}")]
    Unfit { fs: String, why: String },
    #[error("the file system on {} outlives its mount; the states behind it would not be seen", .0.display())]
    Held(PathBuf),
    #[error("nothing came of a state within {} s, and its disk was taken away", .0.as_secs())]
    Stuck(Duration),
}
