use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{
    AtFlags, CWD, Dir, FlockOperation, Mode, OFlags, flock, fsync, openat, renameat, unlinkat,
};
use rustix::io::ReadWriteFlags;

use crate::axes::{Sync, WritePath};
use crate::buffer::EncodeBuffer;
use crate::disk_file::DiskFile;
use crate::disk_writer::{DiskWriter, write_flags};
use crate::storage::{Open, Storage, WriterSpec};

/// Its clones share the open file, and with it the lock.
#[derive(Debug, Clone)]
pub struct Directory {
    fd: Arc<OwnedFd>,
    path: Arc<PathBuf>,
}

impl Directory {
    pub fn open(path: &Path) -> io::Result<Self> {
        let fd =
            openat(CWD, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self { fd: Arc::new(fd), path: Arc::new(path.to_owned()) })
    }

    /// With its parents, where it is missing.
    pub fn open_or_create(path: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(path)?;
        Self::open(path)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn open_flags(spec: WriterSpec) -> OFlags {
    let mut flags = OFlags::RDWR | OFlags::CLOEXEC;
    match spec.write_path {
        WritePath::Append => flags |= OFlags::APPEND,
        WritePath::Direct => flags |= OFlags::DIRECT,
        _ => {}
    }
    if spec.sync == Sync::ODsync {
        flags |= OFlags::DSYNC;
    }
    flags
}

impl Storage for Directory {
    type File = DiskFile;
    type Writer = DiskWriter;

    fn open(&self, name: &str, how: Open) -> io::Result<DiskFile> {
        let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP;
        let (flags, spec) = match how {
            Open::Read => (OFlags::RDONLY | OFlags::CLOEXEC, None),
            Open::Repair => (OFlags::RDWR | OFlags::CLOEXEC, None),
            Open::Existing(spec) => (open_flags(spec), Some(spec)),
            Open::New(spec) => (open_flags(spec) | OFlags::CREATE | OFlags::EXCL, Some(spec)),
        };
        let fd = openat(&*self.fd, name, flags | OFlags::NOFOLLOW, mode)?;
        let wants_map = spec.is_some_and(|spec| spec.write_path == WritePath::Mmap);
        let flags = spec.map_or(ReadWriteFlags::empty(), |spec| write_flags(spec.sync));
        Ok(DiskFile::new(fd, wants_map, flags))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(renameat(&*self.fd, from, &*self.fd, to)?)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        Ok(unlinkat(&*self.fd, name, AtFlags::empty())?)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&*self.fd)? {
            if let Ok(name) = entry?.file_name().to_str() {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(fsync(&*self.fd)?)
    }

    fn writer(&self, spec: WriterSpec, buffer: &EncodeBuffer) -> io::Result<DiskWriter> {
        DiskWriter::new(spec, buffer)
    }

    fn lock(&self) -> io::Result<()> {
        Ok(flock(&*self.fd, FlockOperation::NonBlockingLockExclusive)?)
    }

    fn describe(&self) -> String {
        self.path.display().to_string()
    }
}
