use rustix::fs::{CWD, FallocateFlags, Mode, OFlags};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("cannot open {} with {how:?}: {cause}{}", .path.display(), direct_io_hint(.how, .cause))]
    Open { path: PathBuf, how: Box<OpenHow>, cause: io::Error },
    #[error("cannot {request}: {cause}")]
    Request { request: &'static str, cause: io::Error },
}

fn direct_io_hint(how: &OpenHow, cause: &io::Error) -> &'static str {
    let refused = how.direct && cause.raw_os_error() == Some(libc::EINVAL);
    if refused { "; this file system has no direct I/O" } else { "" }
}

fn failed<E: Into<io::Error>>(request: &'static str) -> impl Fn(E) -> FileError {
    move |error| FileError::Request { request, cause: error.into() }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
    ReadWrite,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Create {
    Never,
    /// It must not be there.
    New,
    IfMissing,
}

/// All flags that are not named here are off, but close-on-exec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenHow {
    pub access: Access,
    pub create: Create,
    /// `O_DIRECT`: past the page cache; offset, length and memory must be aligned.
    pub direct: bool,
    /// `O_DSYNC`: a write returns when it is durable.
    pub data_sync: bool,
    /// `O_APPEND`: every write goes to the end.
    pub append: bool,
}

impl OpenHow {
    pub fn new(access: Access) -> Self {
        Self { access, create: Create::Never, direct: false, data_sync: false, append: false }
    }

    /// A new file gets mode 0644 less the umask.
    pub fn open(&self, path: &Path) -> Result<File, FileError> {
        let opened = rustix::fs::openat(CWD, path, self.flags(), Mode::from_raw_mode(0o644));
        opened.map(File::from).map_err(|error| FileError::Open {
            path: path.to_owned(),
            how: Box::new(*self),
            cause: error.into(),
        })
    }

    /// Without a name; it goes when it is closed.
    pub fn open_unnamed(&self, folder: &Path) -> Result<File, FileError> {
        let named = OFlags::CREATE | OFlags::EXCL | OFlags::TRUNC;
        let flags = self.flags().difference(named) | OFlags::TMPFILE;
        let opened = rustix::fs::openat(CWD, folder, flags, Mode::from_raw_mode(0o600));
        opened.map(File::from).map_err(|error| FileError::Open {
            path: folder.to_owned(),
            how: Box::new(*self),
            cause: error.into(),
        })
    }

    fn flags(&self) -> OFlags {
        let mut flags = OFlags::CLOEXEC;
        flags |= match self.access {
            Access::Read => OFlags::RDONLY,
            Access::Write => OFlags::WRONLY,
            Access::ReadWrite => OFlags::RDWR,
        };
        flags |= match self.create {
            Create::Never => OFlags::empty(),
            Create::New => OFlags::CREATE | OFlags::EXCL,
            Create::IfMissing => OFlags::CREATE,
        };
        flags.set(OFlags::DIRECT, self.direct);
        flags.set(OFlags::DSYNC, self.data_sync);
        flags.set(OFlags::APPEND, self.append);
        flags
    }
}

/// The size stays. `EOPNOTSUPP` where the file system cannot (ext2, ramfs): the kernel does not fall
/// back to writing.
pub fn reserve(file: &File, length_bytes: u64) -> Result<(), FileError> {
    rustix::fs::fallocate(file, FallocateFlags::KEEP_SIZE, 0, length_bytes)
        .map_err(failed("reserve space"))
}

pub fn sync_file_system(file: &File) -> Result<(), FileError> {
    rustix::fs::syncfs(file).map_err(failed("sync the file system"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn a_new_file_must_not_be_there_and_the_error_says_how_it_was_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let how = OpenHow { create: Create::New, ..OpenHow::new(Access::Write) };
        how.open(&path).unwrap();
        let text = how.open(&path).unwrap_err().to_string();
        assert!(text.contains("create: New"), "{text}");
    }

    #[test]
    fn appends_go_to_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let how = OpenHow {
            create: Create::IfMissing,
            append: true,
            data_sync: true,
            ..OpenHow::new(Access::ReadWrite)
        };
        how.open(&path).unwrap().write_all(b"one").unwrap();
        how.open(&path).unwrap().write_all(b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"onetwo");
    }

    #[test]
    fn an_unnamed_file_has_no_link() {
        let folder = tempfile::tempdir().unwrap();
        let file = OpenHow::new(Access::ReadWrite).open_unnamed(folder.path()).unwrap();
        assert_eq!(file.metadata().unwrap().nlink(), 0);
    }

    #[test]
    fn reserved_space_leaves_the_size() {
        let file = tempfile::tempfile_in("/var/tmp").unwrap();
        reserve(&file, 1 << 20).unwrap();
        let metadata = file.metadata().unwrap();
        assert_eq!((metadata.len(), metadata.blocks() >= 2048), (0, true));
        sync_file_system(&file).unwrap();
    }
}
