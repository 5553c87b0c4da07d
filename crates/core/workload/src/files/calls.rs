//! They go straight to the kernel: no buffer, no allocation, nothing but the call.

use std::{
    ffi::CStr,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
};

use pickfs_sys::closing;
use rustix::{
    fs::{AtFlags, CWD, Mode, OFlags, SeekFrom, Stat},
    io::Errno,
};

use crate::fault::Fault;

#[inline]
pub(super) fn fault(verb: &'static str, path: &Path) -> impl Fn(Errno) -> Fault {
    move |error| Fault::Io { verb, path: path.to_owned(), source: error.into() }
}

pub(super) fn fault_of(fault: Fault, name: &CStr) -> Fault {
    match fault {
        Fault::Io { verb, path, source } => {
            let path = path.join(String::from_utf8_lossy(name.to_bytes()).as_ref());
            Fault::Io { verb, path, source }
        }
        other => other,
    }
}

/// Opens a file by its path, mode 0600 where it is made.
pub(super) fn open(path: &Path, flags: OFlags) -> Result<OwnedFd, Fault> {
    let verb = if flags.contains(OFlags::CREATE) { "create" } else { "open" };
    let opened = rustix::fs::openat(CWD, path, flags | OFlags::CLOEXEC, PRIVATE);
    opened.map_err(fault(verb, path))
}

pub(super) const PRIVATE: Mode = Mode::RUSR.union(Mode::WUSR);
pub(super) const PRIVATE_DIRECTORY: Mode = Mode::RWXU;

#[inline]
pub(super) fn write_all(file: BorrowedFd<'_>, mut bytes: &[u8], path: &Path) -> Result<(), Fault> {
    while !bytes.is_empty() {
        match rustix::io::write(file, bytes) {
            Ok(0) => return Err(fault("write", path)(Errno::NOSPC)),
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(fault("write", path)(error)),
        }
    }
    Ok(())
}

#[inline]
pub(super) fn read_full(file: BorrowedFd<'_>, buffer: &mut [u8], path: &Path) -> Result<(), Fault> {
    let mut done = 0;
    while done < buffer.len() {
        match rustix::io::read(file, &mut buffer[done..]) {
            Ok(0) => {
                let (path, missing) = (path.display(), buffer.len() - done);
                return Err(Fault::Wrong {
                    what: format!("{path} ends {missing} bytes too early"),
                });
            }
            Ok(count) => done += count,
            Err(Errno::INTR) => {}
            Err(error) => return Err(fault("read", path)(error)),
        }
    }
    Ok(())
}

#[inline]
pub(super) fn seek(file: BorrowedFd<'_>, to: SeekFrom, path: &Path) -> Result<(), Fault> {
    rustix::fs::seek(file, to).map(drop).map_err(fault("seek", path))
}

#[inline]
pub(super) fn fsync(file: BorrowedFd<'_>, path: &Path) -> Result<(), Fault> {
    rustix::fs::fsync(file).map_err(fault("fsync", path))
}

pub(super) fn fsync_and_close(file: OwnedFd, path: &Path) -> Result<(), Fault> {
    fsync(file.as_fd(), path)?;
    close(file, path)
}

#[inline]
pub(super) fn close(file: OwnedFd, path: &Path) -> Result<(), Fault> {
    closing::close(file).map_err(|source| Fault::Io { verb: "close", path: path.into(), source })
}

/// Errors name the whole path.
pub(super) struct Folder {
    pub(super) fd: OwnedFd,
    pub(super) path: PathBuf,
}

impl Folder {
    pub(super) fn open(path: &Path) -> Result<Folder, Fault> {
        let fd = open(path, OFlags::RDONLY | OFlags::DIRECTORY)?;
        Ok(Folder { fd, path: path.to_owned() })
    }

    pub(super) fn listing(&self) -> Result<OwnedFd, Fault> {
        open(&self.path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK)
    }

    pub(super) fn path_of(&self, name: &CStr) -> PathBuf {
        self.path.join(String::from_utf8_lossy(name.to_bytes()).as_ref())
    }

    #[inline]
    pub(super) fn fault(&self, verb: &'static str, name: &CStr) -> impl Fn(Errno) -> Fault {
        move |error| Fault::Io { verb, path: self.path_of(name), source: error.into() }
    }

    /// Makes a file that must not be there, for writing.
    #[inline]
    pub(super) fn create(&self, name: &CStr) -> Result<OwnedFd, Fault> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        rustix::fs::openat(&self.fd, name, flags, PRIVATE).map_err(self.fault("create", name))
    }

    #[inline]
    pub(super) fn read(&self, name: &CStr) -> Result<OwnedFd, Fault> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        rustix::fs::openat(&self.fd, name, flags, Mode::empty()).map_err(self.fault("open", name))
    }

    #[inline]
    pub(super) fn stat(&self, name: &CStr) -> Result<Stat, Fault> {
        rustix::fs::statat(&self.fd, name, AtFlags::empty()).map_err(self.fault("stat", name))
    }

    #[inline]
    pub(super) fn unlink(&self, name: &CStr) -> Result<(), Fault> {
        rustix::fs::unlinkat(&self.fd, name, AtFlags::empty()).map_err(self.fault("unlink", name))
    }

    #[inline]
    pub(super) fn link(&self, old: &CStr, new: &CStr) -> Result<(), Fault> {
        let linked = rustix::fs::linkat(&self.fd, old, &self.fd, new, AtFlags::empty());
        linked.map_err(self.fault("link", new))
    }

    #[inline]
    pub(super) fn symlink(&self, text: &CStr, new: &CStr) -> Result<(), Fault> {
        rustix::fs::symlinkat(text, &self.fd, new).map_err(self.fault("symlink", new))
    }

    #[inline]
    pub(super) fn rename(&self, old: &CStr, new: &CStr) -> Result<(), Fault> {
        let renamed = rustix::fs::renameat(&self.fd, old, &self.fd, new);
        renamed.map_err(self.fault("rename", old))
    }

    #[inline]
    pub(super) fn make_directory(&self, name: &CStr) -> Result<(), Fault> {
        let made = rustix::fs::mkdirat(&self.fd, name, PRIVATE_DIRECTORY);
        made.map_err(self.fault("mkdir", name))
    }

    pub(super) fn remove_directory(&self, name: &CStr) -> Result<(), Errno> {
        rustix::fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR)
    }

    #[inline]
    pub(super) fn fsync(&self) -> Result<(), Fault> {
        fsync(self.fd.as_fd(), &self.path)
    }

    /// Makes the whole file system durable.
    pub(super) fn syncfs(&self) -> Result<(), Fault> {
        rustix::fs::syncfs(&self.fd).map_err(fault("syncfs", &self.path))
    }
}
