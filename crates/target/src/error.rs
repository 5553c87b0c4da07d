//! What can go wrong with a target. Three kinds are told apart by
//! [`TargetError::skip`]: what this machine cannot try is a skipped row, all
//! else is a failed one.

use std::{io, path::PathBuf};

use pickfs_model::quantity::bytes_text;
use pickfs_sys::{extents::ExtentError, loop_device::LoopError, mount::MountError};
use thiserror::Error;

use crate::availability::Unavailable;
use crate::interlock::Refusal;
use crate::undo::UndoError;

/// Why a scratch could not be had, or a candidate not be made, mounted or unmounted.
#[derive(Debug, Error)]
pub enum TargetError {
    /// Our own formatter refused, or the kernel did while it wrote.
    #[error(transparent)]
    Format(#[from] pickfs_mkfs::MakeError),
    /// A word for mkfs that our own formatter does not know.
    #[error("our formatter of {fs} knows no option `{word}`; leave it out")]
    FormatWord {
        /// The file system.
        fs: String,
        /// The word among the candidate's mkfs options.
        word: String,
    },
    /// An option could reach outside the scratch.
    #[error("candidate `{candidate}`: `{word}` {why}")]
    Option {
        /// The candidate's text.
        candidate: String,
        /// The word that is refused.
        word: String,
        /// What it would do, and the way out.
        why: &'static str,
    },
    /// No row of the table has this name.
    #[error("file system `{name}` not known; {remedy}")]
    UnknownFileSystem {
        /// The name in the candidate.
        name: String,
        /// The name that was meant, or all that are known.
        remedy: String,
    },
    /// This machine cannot try the file system.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// A guest cannot stand on this.
    #[error("a guest's candidates are made on an image: leave --device and --dir out, or --engine")]
    NoGuestBacking,
    /// The scratch is too small for the file system.
    #[error(
        "{fs} needs at least {}, the scratch has {}; ask for a larger one",
        bytes_text(*.minimum_bytes), bytes_text(*.have_bytes)
    )]
    TooSmall {
        /// The file system.
        fs: &'static str,
        /// Smallest size that it can be made in.
        minimum_bytes: u64,
        /// Size of the scratch.
        have_bytes: u64,
    },
    /// The formatter knows only the whole device, and less was asked for.
    #[error("{fs} can only be made on the whole of {device}; leave the size out or {fs} out")]
    WholeDeviceOnly {
        /// The file system.
        fs: &'static str,
        /// The device.
        device: String,
    },
    /// The image would leave too little free space for others.
    #[error(
        "an image of {size_bytes} bytes is too much for the file system of {}, which has \
         {free_bytes} of {total_bytes} bytes free, {available_bytes} of them for us: one tenth of \
         it stays free, and 1 GiB for other programs; ask for a smaller image or name another \
         folder",
        .directory.display()
    )]
    HostTooFull {
        /// The folder that was to hold the image.
        directory: PathBuf,
        /// Size of the image.
        size_bytes: u64,
        /// Free now, what is reserved for others included.
        free_bytes: u64,
        /// Free for us now.
        available_bytes: u64,
        /// Size of that file system.
        total_bytes: u64,
    },
    /// More memory was asked for than may be taken.
    #[error(
        "{what} of {asked_bytes} bytes is more than half of the {available_bytes} bytes of \
         memory that are available; ask for less"
    )]
    TooMuchMemory {
        /// What asks: `a RAM image`, `tmpfs`.
        what: &'static str,
        /// What was asked for.
        asked_bytes: u64,
        /// MemAvailable.
        available_bytes: u64,
    },
    /// The host file system copies on write and will not be told otherwise.
    #[error(
        "{} is on {fs_type}, which copies on write and keeps doing so; name a folder on ext4 or \
         xfs for the image",
        .directory.display()
    )]
    CopyOnWriteHost {
        /// The folder that was to hold the image.
        directory: PathBuf,
        /// Type of its file system.
        fs_type: String,
    },
    /// A size that is no whole number of 4 KiB blocks, or none.
    #[error("size of {size_bytes} bytes is not a positive multiple of 4096; round it")]
    UnevenSize {
        /// The size that was asked for.
        size_bytes: u64,
    },
    /// An existing directory cannot be another file system.
    #[error("{} is {found}, not {asked}; name the candidate `dir` or `{found}`", .path.display())]
    DirectoryIsAnother {
        /// The directory.
        path: PathBuf,
        /// What the candidate asked for.
        asked: String,
        /// What the kernel says it is.
        found: String,
    },
    /// An existing directory is neither made nor mounted, so options have nowhere to go.
    #[error("options of `{candidate}` cannot be given to an existing directory; leave them out")]
    DirectoryTakesNoOptions {
        /// The candidate.
        candidate: String,
    },
    /// Somebody asked for an end.
    #[error("interrupted while {what}")]
    Interrupted {
        /// What was being done.
        what: &'static str,
    },
    /// A setting of the kernel could not be written.
    #[error(transparent)]
    Tunable(#[from] pickfs_sys::tunables::TunableError),
    /// The interlock said no.
    #[error(transparent)]
    Refused(#[from] Box<Refusal>),
    /// An undo record could not be read or written.
    #[error(transparent)]
    Undo(#[from] UndoError),
    /// A file or folder could not be used.
    #[error("cannot {what} {}: {cause}", .path.display())]
    Io {
        /// What was being done: `create the image in`, `fill`.
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the kernel said.
        cause: io::Error,
    },
    /// A loop device could not be used.
    #[error(transparent)]
    Loop(#[from] LoopError),
    /// Extents of an image could not be read or mended.
    #[error(transparent)]
    Extents(#[from] ExtentError),
    /// A mount or unmount failed.
    #[error(transparent)]
    Mount(#[from] MountError),
    /// A program is not installed.
    #[error("{program} not found; install {package} or leave what needs it out")]
    NoProgram {
        /// The program.
        program: String,
        /// The package that has it.
        package: String,
    },
    /// A program ended with an error.
    #[error("`{command}` failed with {status}: {output}")]
    Program {
        /// The whole command.
        command: String,
        /// Its exit status.
        status: String,
        /// What it printed, shortened.
        output: String,
    },
    /// A daemon did not come up or did not go.
    #[error("{program} {what} within {seconds} s; {output}")]
    Daemon {
        /// The program.
        program: String,
        /// What it failed to do: `did not answer`, `did not end`.
        what: &'static str,
        /// How long it was waited for.
        seconds: u64,
        /// What it printed.
        output: String,
    },
    /// A step names a call that does not exist, or gives it the wrong arguments.
    #[error("step `{name} {args}` is none that this lab knows; this is a bug")]
    UnknownCall {
        /// Name of the call.
        name: String,
        /// Its arguments.
        args: String,
    },
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

    /// Adapter for `map_err`: what was being done to which file.
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
