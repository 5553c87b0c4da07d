//! The hot path of a real file system: one system call, or one copy, for each write. The write path is
//! a branch on an enum, which costs less than an indirect call and is predicted after the first append.

use std::io::{self, IoSlice};

use rustix::fs::{SeekFrom, fdatasync, fsync, seek};
use rustix::io::{ReadWriteFlags, pwrite, pwritev, pwritev2, write};

use crate::axes::{Sync, WritePath};
use crate::buffer::EncodeBuffer;
use crate::disk_file::DiskFile;
use crate::range_sync::sync_file_range;
use crate::ring::Ring;
use crate::storage::{SyncRange, Writer, WriterSpec};

/// Elements of a vectored write; a larger batch puts several records into the last.
const SLICES_MAX: usize = 64;

pub struct DiskWriter {
    path: Path,
    sync: Sync,
    write_flags: ReadWriteFlags,
}

enum Path {
    SeekWrite,
    Positioned,
    Append,
    Vectored,
    Mapped,
    Ring(Box<Ring>),
}

impl DiskWriter {
    pub(crate) fn new(spec: WriterSpec, buffer: &EncodeBuffer) -> io::Result<Self> {
        let path = match spec.write_path {
            WritePath::SeekWrite => Path::SeekWrite,
            WritePath::Pwrite | WritePath::Direct => Path::Positioned,
            WritePath::Append => Path::Append,
            WritePath::Pwritev => Path::Vectored,
            WritePath::Mmap => Path::Mapped,
            WritePath::IoUring => Path::Ring(Box::new(Ring::new(buffer.region())?)),
        };
        let write_flags = write_flags(spec.sync);
        Ok(Self { path, sync: spec.sync, write_flags })
    }

    #[inline]
    fn write_positioned(
        &self,
        file: &DiskFile,
        offset_bytes: u64,
        bytes: &[u8],
    ) -> io::Result<usize> {
        if self.write_flags.is_empty() {
            return Ok(pwrite(&file.fd, bytes, offset_bytes)?);
        }
        Ok(pwritev2(&file.fd, &[IoSlice::new(bytes)], offset_bytes, self.write_flags)?)
    }

    fn write_vectored(
        &self,
        file: &DiskFile,
        offset_bytes: u64,
        buffer: &EncodeBuffer,
    ) -> io::Result<usize> {
        let mut slices = [IoSlice::new(&[]); SLICES_MAX];
        let mut used = 0;
        let mut covered = 0;
        for piece in buffer.pieces().take(SLICES_MAX - 1) {
            slices[used] = IoSlice::new(piece);
            covered += piece.len();
            used += 1;
        }
        let rest = &buffer.bytes()[covered..];
        if !rest.is_empty() {
            slices[used] = IoSlice::new(rest);
            used += 1;
        }
        let slices = &slices[..used];
        if self.write_flags.is_empty() {
            return Ok(pwritev(&file.fd, slices, offset_bytes)?);
        }
        Ok(pwritev2(&file.fd, slices, offset_bytes, self.write_flags)?)
    }
}

pub(crate) fn write_flags(sync: Sync) -> ReadWriteFlags {
    match sync {
        Sync::RwfDsync => ReadWriteFlags::DSYNC,
        _ => ReadWriteFlags::empty(),
    }
}

impl Writer for DiskWriter {
    type File = DiskFile;

    fn attach(&mut self, file: &mut DiskFile) -> io::Result<()> {
        match &mut self.path {
            Path::Ring(ring) => ring.register(file.fd()),
            _ => Ok(()),
        }
    }

    #[inline(always)]
    fn write(
        &mut self,
        file: &mut DiskFile,
        offset_bytes: u64,
        buffer: &EncodeBuffer,
    ) -> io::Result<usize> {
        let bytes = buffer.bytes();
        match &mut self.path {
            Path::Positioned => self.write_positioned(file, offset_bytes, bytes),
            Path::SeekWrite => {
                seek(&file.fd, SeekFrom::Start(offset_bytes))?;
                Ok(write(&file.fd, bytes)?)
            }
            Path::Append => Ok(write(&file.fd, bytes)?),
            Path::Vectored => self.write_vectored(file, offset_bytes, buffer),
            Path::Mapped => {
                file.map.as_mut().ok_or(io::ErrorKind::NotConnected)?.store(offset_bytes, bytes)
            }
            Path::Ring(ring) => ring.write(offset_bytes, bytes, self.write_flags.bits() as i32),
        }
    }

    #[inline]
    fn sync(&mut self, file: &mut DiskFile, range: SyncRange) -> io::Result<()> {
        match (self.sync, &mut self.path) {
            (Sync::None | Sync::ODsync | Sync::RwfDsync, _) => Ok(()),
            (Sync::Fdatasync, Path::Ring(ring)) => ring.sync(true),
            (Sync::Fsync, Path::Ring(ring)) => ring.sync(false),
            (Sync::Fdatasync, _) => Ok(fdatasync(&file.fd)?),
            (Sync::Fsync, _) => Ok(fsync(&file.fd)?),
            (Sync::SyncFileRange, _) => {
                sync_file_range(file.fd(), range.start_bytes, range.end_bytes)
            }
            (Sync::Msync, _) => {
                let map = file.map.as_ref().ok_or(io::ErrorKind::NotConnected)?;
                map.sync(range.start_bytes, range.end_bytes)
            }
        }
    }
}
