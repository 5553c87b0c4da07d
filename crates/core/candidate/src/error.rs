//! What can go wrong with a target. [`TargetError::skip`] tells what this machine cannot try (a
//! skipped row) from all else (a failed one).

use std::{io, path::PathBuf};

use pickfs_record::quantity::bytes_text;
use pickfs_sys::refused::Refused;
use thiserror::Error;

use crate::availability::Unavailable;
use crate::interlock::Refusal;
use crate::undo::UndoError;

#[derive(Debug, Error)]
pub enum TargetError {
    #[error(transparent)]
    Format(#[from] pickfs_mkfs::MakeError),
    #[error("our formatter of {fs} knows no option `{word}`; leave it out")]
    FormatWord { fs: String, word: String },
    #[error("candidate `{candidate}`: `{word}` {why}")]
    Option { candidate: String, word: String, why: &'static str },
    #[error("file system `{name}` not known; {remedy}")]
    UnknownFileSystem { name: String, remedy: String },
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    #[error("a guest's candidates are made on an image: leave --device and --dir out, or --engine")]
    NoGuestBacking,
    #[error(
        "{fs} needs at least {}, the scratch has {}; ask for a larger one",
        bytes_text(*.minimum_bytes), bytes_text(*.have_bytes)
    )]
    TooSmall { fs: &'static str, minimum_bytes: u64, have_bytes: u64 },
    #[error("{fs} can only be made on the whole of {device}; leave the size out or {fs} out")]
    WholeDeviceOnly { fs: &'static str, device: String },
    #[error(
        "an image of {size_bytes} bytes is too much for the file system of {}, which has \
         {free_bytes} of {total_bytes} bytes free, {available_bytes} of them for us: one tenth of \
         it stays free, and 1 GiB for other programs; ask for a smaller image or name another \
         folder",
        .directory.display()
    )]
    HostTooFull {
        directory: PathBuf,
        size_bytes: u64,
        /// What is reserved for others included.
        free_bytes: u64,
        available_bytes: u64,
        total_bytes: u64,
    },
    #[error(
        "{what} of {asked_bytes} bytes is more than half of the {available_bytes} bytes of \
         memory that are available; ask for less"
    )]
    TooMuchMemory {
        what: &'static str,
        asked_bytes: u64,
        /// MemAvailable.
        available_bytes: u64,
    },
    #[error(
        "{} is on {fs_type}, which copies on write and keeps doing so; name a folder on ext4 or \
         xfs for the image",
        .directory.display()
    )]
    CopyOnWriteHost { directory: PathBuf, fs_type: String },
    #[error("size of {size_bytes} bytes is not a positive multiple of 4096; round it")]
    UnevenSize { size_bytes: u64 },
    #[error("{} is {found}, not {asked}; name the candidate `dir` or `{found}`", .path.display())]
    DirectoryIsAnother { path: PathBuf, asked: String, found: String },
    #[error("options of `{candidate}` cannot be given to an existing directory; leave them out")]
    DirectoryTakesNoOptions { candidate: String },
    #[error("interrupted while {what}")]
    Interrupted { what: &'static str },
    #[error(transparent)]
    System(#[from] Refused),
    #[error(transparent)]
    Refused(#[from] Box<Refusal>),
    #[error(transparent)]
    Undo(#[from] UndoError),
    #[error("cannot {what} {}: {cause}", .path.display())]
    Io { what: &'static str, path: PathBuf, cause: io::Error },
    #[error("{program} not found; install {package} or leave what needs it out")]
    NoProgram { program: String, package: String },
    #[error("`{command}` failed with {status}: {output}")]
    Program { command: String, status: String, output: String },
    #[error("{program} {what} within {seconds} s; {output}")]
    Daemon { program: String, what: &'static str, seconds: u64, output: String },
    #[error("step `{name} {args}` is none that this lab knows; this is a bug")]
    UnknownCall { name: String, args: String },
}

impl TargetError {
    /// Reason and remedy, where the machine (not the attempt) is the cause: the cell is skipped.
    pub fn skip(&self) -> Option<(String, String)> {
        match self {
            TargetError::Unavailable(why) => Some((why.reason.clone(), why.remedy.clone())),
            TargetError::TooSmall { .. }
            | TargetError::WholeDeviceOnly { .. }
            | TargetError::TooMuchMemory { .. } => {
                let text = self.to_string();
                let (reason, remedy) = text.rsplit_once("; ").unwrap_or((&text, ""));
                Some((reason.into(), remedy.into()))
            }
            _ => None,
        }
    }

    pub(crate) fn io(
        what: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |cause| TargetError::Io { what, path, cause }
    }
}

impl From<Refusal> for TargetError {
    fn from(refusal: Refusal) -> Self {
        TargetError::Refused(Box::new(refusal))
    }
}
