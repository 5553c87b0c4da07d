use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{FallocateFlags, fallocate, fstat, fsync, ftruncate};
use rustix::io::{ReadWriteFlags, pread, pwrite, pwritev2};

use crate::map::Map;
use crate::storage::StorageFile;

#[derive(Debug)]
pub struct DiskFile {
    pub(crate) fd: OwnedFd,
    pub(crate) map: Option<Map>,
    wants_map: bool,
    write_flags: ReadWriteFlags,
}

impl DiskFile {
    pub(crate) fn new(fd: OwnedFd, wants_map: bool, write_flags: ReadWriteFlags) -> Self {
        Self { fd, map: None, wants_map, write_flags }
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl StorageFile for DiskFile {
    fn read_at(&self, offset_bytes: u64, bytes: &mut [u8]) -> io::Result<usize> {
        Ok(pread(&self.fd, bytes, offset_bytes)?)
    }

    fn write_at(&mut self, offset_bytes: u64, bytes: &[u8]) -> io::Result<usize> {
        if self.write_flags.is_empty() {
            return Ok(pwrite(&self.fd, bytes, offset_bytes)?);
        }
        Ok(pwritev2(&self.fd, &[io::IoSlice::new(bytes)], offset_bytes, self.write_flags)?)
    }

    fn length_bytes(&self) -> io::Result<u64> {
        Ok(fstat(&self.fd)?.st_size as u64)
    }

    fn set_length(&mut self, length_bytes: u64) -> io::Result<()> {
        Ok(ftruncate(&self.fd, length_bytes)?)
    }

    fn allocate(&mut self, length_bytes: u64, keep_length: bool) -> io::Result<()> {
        let mode = match keep_length {
            true => FallocateFlags::KEEP_SIZE,
            false => FallocateFlags::empty(),
        };
        Ok(fallocate(&self.fd, mode, 0, length_bytes)?)
    }

    fn map(&mut self, length_bytes: u64) -> io::Result<()> {
        if self.wants_map {
            self.map = Some(Map::new(self.fd.as_fd(), length_bytes)?);
        }
        Ok(())
    }

    fn sync_all(&mut self) -> io::Result<()> {
        Ok(fsync(&self.fd)?)
    }
}
