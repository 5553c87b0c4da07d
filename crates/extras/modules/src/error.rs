use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

#[derive(Debug, Error)]
pub enum ModuleError {
    #[error("{program} not found; install {package}, or leave out what needs a rebuilt module")]
    NoProgram { program: &'static str, package: &'static str },
    #[error(
        "apt offers no {package} of version {release}; run apt-get update, or add the archive \
         that has it"
    )]
    NoSource {
        /// `linux-source-6.1`
        package: String,
        release: String,
    },
    #[error("{} has no {what}; unpack linux-headers-{release} with what it needs there", .folder.display())]
    NoHeaders { folder: PathBuf, what: String, release: String },
    #[error(
        "{file} of this kernel has `{wanted}` {found} times instead of {expected}; the change was \
         made for another version"
    )]
    ChangeDoesNotFit {
        /// Within the module's folder.
        file: &'static str,
        wanted: &'static str,
        found: usize,
        expected: &'static str,
    },
    #[error("`{command}` failed with {status}: {output}")]
    Failed { command: String, status: String, output: String },
    #[error("cannot {what} {}: {cause}", .path.display())]
    Io {
        what: &'static str,
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
}

impl ModuleError {
    /// A reason to skip, not a failure.
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
