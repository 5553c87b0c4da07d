#![allow(unsafe_code)]

use rustix::fs::{CWD, FallocateFlags, Mode, OFlags};
use rustix::io::ReadWriteFlags;
use std::fs::File;
use std::io::{self, IoSlice};
use std::os::fd::AsRawFd;
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
    /// Made when it is not there, emptied when it is.
    OrEmpty,
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
            Create::OrEmpty => OFlags::CREATE | OFlags::TRUNC,
        };
        flags.set(OFlags::DIRECT, self.direct);
        flags.set(OFlags::DSYNC, self.data_sync);
        flags.set(OFlags::APPEND, self.append);
        flags
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocate {
    /// Reserve it; the file grows to hold it.
    Grow,
    KeepSize,
    /// Make it read as zeros, mostly by marking it unwritten; the file grows to hold it.
    Zero,
    /// Give it back to the file system; it reads as zeros.
    PunchHole,
}

/// `EOPNOTSUPP` where the file system cannot (ext2, ramfs): the kernel does not fall back to
/// writing.
pub fn allocate(
    file: &File,
    mode: Allocate,
    offset_bytes: u64,
    length_bytes: u64,
) -> Result<(), FileError> {
    let (flags, request) = match mode {
        Allocate::Grow => (FallocateFlags::empty(), "reserve space"),
        Allocate::KeepSize => (FallocateFlags::KEEP_SIZE, "reserve space"),
        Allocate::Zero => (FallocateFlags::ZERO_RANGE, "zero a range"),
        Allocate::PunchHole => {
            (FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, "punch a hole")
        }
    };
    rustix::fs::fallocate(file, flags, offset_bytes, length_bytes).map_err(failed(request))
}

/// Each write is durable when it returns (`RWF_DSYNC`).
pub fn write_all_data_sync(file: &File, bytes: &[u8], offset_bytes: u64) -> Result<(), FileError> {
    let refused = failed::<io::Error>("write with RWF_DSYNC");
    let mut done = 0;
    while done < bytes.len() {
        let rest = [IoSlice::new(&bytes[done..])];
        let offset = offset_bytes + done as u64;
        match rustix::io::pwritev2(file, &rest, offset, ReadWriteFlags::DSYNC) {
            Ok(0) => return Err(refused(io::ErrorKind::WriteZero.into())),
            Ok(count) => done += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(refused(error.into())),
        }
    }
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeSync {
    /// Start to write what is dirty; do not wait.
    Start,
    /// Wait for what was started, write the rest, and wait for that.
    StartAndWait,
}

/// Writes back a range. **Not durable**: no metadata, no flush of the device's cache.
pub fn sync_range(
    file: &File,
    offset_bytes: u64,
    length_bytes: u64,
    how: RangeSync,
) -> Result<(), FileError> {
    let start = libc::SYNC_FILE_RANGE_WRITE;
    let flags = match how {
        RangeSync::Start => start,
        RangeSync::StartAndWait => {
            libc::SYNC_FILE_RANGE_WAIT_BEFORE | start | libc::SYNC_FILE_RANGE_WAIT_AFTER
        }
    };
    let (offset, length) = (offset_bytes as i64, length_bytes as i64);
    // SAFETY: sync_file_range takes numbers only.
    let answer = unsafe { libc::sync_file_range(file.as_raw_fd(), offset, length, flags) };
    if answer == 0 { Ok(()) } else { Err(failed("sync a range")(io::Error::last_os_error())) }
}

pub fn sync_file_system(file: &File) -> Result<(), FileError> {
    rustix::fs::syncfs(file).map_err(failed("sync the file system"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::{FileExt, MetadataExt};

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
    fn appends_go_to_the_end_and_an_emptied_file_is_empty() {
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
        let empty = OpenHow { create: Create::OrEmpty, ..OpenHow::new(Access::Write) };
        assert_eq!(empty.open(&path).unwrap().metadata().unwrap().len(), 0);
    }

    #[test]
    fn an_unnamed_file_has_no_link() {
        let folder = tempfile::tempdir().unwrap();
        let file = OpenHow::new(Access::ReadWrite).open_unnamed(folder.path()).unwrap();
        assert_eq!(file.metadata().unwrap().nlink(), 0);
    }

    #[test]
    fn allocation_grows_keeps_and_punches() {
        let file = tempfile::tempfile_in("/var/tmp").unwrap();
        let blocks = || file.metadata().unwrap().blocks();
        allocate(&file, Allocate::KeepSize, 0, 1 << 20).unwrap();
        assert_eq!((file.metadata().unwrap().len(), blocks() >= 2048), (0, true));
        allocate(&file, Allocate::Grow, 0, 1 << 20).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 1 << 20);
        allocate(&file, Allocate::PunchHole, 0, 1 << 20).unwrap();
        assert_eq!((file.metadata().unwrap().len(), blocks() < 2048), (1 << 20, true));
    }

    #[test]
    fn a_synchronous_write_arrives_whole() {
        let file = tempfile::tempfile_in("/var/tmp").unwrap();
        write_all_data_sync(&file, &[5; 10_000], 123).unwrap();
        sync_range(&file, 0, 4096, RangeSync::StartAndWait).unwrap();
        sync_file_system(&file).unwrap();
        let mut read = vec![0; 10_000];
        file.read_exact_at(&mut read, 123).unwrap();
        assert_eq!(read, [5; 10_000]);
    }
}
