//! Why a module is not there. What this machine lacks is told from what went wrong.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why a module could not be had.
#[derive(Debug, Error)]
pub enum ModuleError {
    /// A program that the build needs.
    #[error("{program} not found; install {package}, or leave out what needs a rebuilt module")]
    NoProgram {
        /// The program.
        program: &'static str,
        /// The Debian package that holds it.
        package: &'static str,
    },
    /// apt offers no source of this version.
    #[error(
        "apt offers no {package} of version {release}; run apt-get update, or add the archive \
         that has it"
    )]
    NoSource {
        /// The source package: `linux-source-6.1`.
        package: String,
        /// The version of the kernel.
        release: String,
    },
    /// Headers of a stock kernel lack something.
    #[error("{} has no {what}; unpack linux-headers-{release} with what it needs there", .folder.display())]
    NoHeaders {
        /// The folder that was looked at.
        folder: PathBuf,
        /// What is missing.
        what: String,
        /// The kernel.
        release: String,
    },
    /// The source says something else than the change expects.
    #[error(
        "{file} of this kernel has `{wanted}` {found} times instead of {expected}; the change was \
         made for another version"
    )]
    ChangeDoesNotFit {
        /// File within the module's folder.
        file: &'static str,
        /// Text that was looked for.
        wanted: &'static str,
        /// How often it is there.
        found: usize,
        /// How often it must be there.
        expected: &'static str,
    },
    /// A step of the build failed.
    #[error("`{command}` failed with {status}: {output}")]
    Failed {
        /// The command.
        command: String,
        /// How it ended.
        status: String,
        /// Its last words.
        output: String,
    },
    /// The machine refused a file.
    #[error("cannot {what} {}: {cause}", .path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// The answer.
        #[source]
        cause: io::Error,
    },
}

impl ModuleError {
    /// This machine cannot build it: a reason to skip, not a failure.
    pub fn is_skip(&self) -> bool {
        matches!(
            self,
            ModuleError::NoProgram { .. }
                | ModuleError::NoSource { .. }
                | ModuleError::NoHeaders { .. }
        )
    }

    pub(crate) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |cause| ModuleError::Io { what, path, cause }
    }
}
