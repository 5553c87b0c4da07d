//! A file seen as memory, with every access checked against its bounds. Bytes that another mapping
//! changes meanwhile may be seen half changed. Every mapping is known to `sigbus`, so that a full
//! disk ends the program with a message that names the file.
#![allow(unsafe_code)]

use crate::sigbus::{Registration, TooManyMappings};
use rustix::mm::{MapFlags, MsyncFlags, ProtFlags, mmap, msync, munmap};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug, thiserror::Error)]
pub enum MapError {
    #[error("{} has {size_bytes} bytes, too few to map {length_bytes}", .path.display())]
    FileTooShort { path: PathBuf, size_bytes: u64, length_bytes: usize },
    #[error("cannot {request} {}: {cause}", .path.display())]
    Request { request: &'static str, path: PathBuf, cause: io::Error },
    #[error("bytes {}..{} are outside a mapping of {length_bytes} bytes", .range.start, .range.end)]
    OutOfBounds { range: Range<usize>, length_bytes: usize },
    #[error(transparent)]
    TooMany(#[from] TooManyMappings),
}

/// The beginning of a file in memory, at least one byte.
#[derive(Debug)]
pub(crate) struct Mapping {
    pub(crate) address: NonNull<u8>,
    pub(crate) length_bytes: usize,
    _registration: Registration,
}

impl Mapping {
    /// Of so many bytes as `length_bytes` says of the file's size, which is asked once: a mapping may be measured. The
    /// path is for messages only.
    pub(crate) fn of(
        file: &File,
        path: &Path,
        length_bytes: impl FnOnce(u64) -> usize,
        (access, flags): (ProtFlags, MapFlags),
    ) -> Result<Self, MapError> {
        let refused = |request, cause| MapError::Request { request, path: path.to_owned(), cause };
        let size_bytes = file.metadata().map_err(|cause| refused("read the size of", cause))?.len();
        let length_bytes = length_bytes(size_bytes);
        if size_bytes < length_bytes as u64 {
            return Err(MapError::FileTooShort { path: path.to_owned(), size_bytes, length_bytes });
        }
        // SAFETY: a fresh mapping at a place of the kernel's choice.
        let mapped = unsafe { mmap(std::ptr::null_mut(), length_bytes, access, flags, file, 0) };
        let mapped = mapped.map_err(|error| refused("map", error.into()))?;
        let address = NonNull::new(mapped.cast()).expect("mmap does not map page zero unasked");
        match Registration::new(address.as_ptr() as usize, length_bytes, path) {
            Ok(_registration) => Ok(Self { address, length_bytes, _registration }),
            Err(error) => {
                // SAFETY: the mapping made above, which nobody else knows.
                let _ = unsafe { munmap(mapped, length_bytes) };
                Err(error.into())
            }
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: our own mapping, and nobody can use it after this.
        let _ = unsafe { munmap(self.address.as_ptr().cast(), self.length_bytes) };
    }
}

#[derive(Debug)]
pub struct MappedFile {
    mapping: Mapping,
    path: PathBuf,
}

// SAFETY: the mapping belongs to this value alone; it is not Sync, so one thread at a time uses it.
unsafe impl Send for MappedFile {}

impl MappedFile {
    /// Of a file that is open for reading and writing.
    pub fn map(file: &File, path: &Path, length_bytes: usize) -> Result<Self, MapError> {
        let how = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        Ok(Self { mapping: Mapping::of(file, path, |_| length_bytes, how)?, path: path.to_owned() })
    }

    pub fn length_bytes(&self) -> usize {
        self.mapping.length_bytes
    }

    pub fn write_at(&mut self, offset_bytes: usize, bytes: &[u8]) -> Result<(), MapError> {
        let target = self.at(offset_bytes, bytes.len())?;
        // SAFETY: `at` has checked that the range is inside the mapping; `bytes` cannot overlap it,
        // as no slice of the mapping is ever handed out.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), target, bytes.len()) };
        Ok(())
    }

    pub fn read_at(&self, offset_bytes: usize, bytes: &mut [u8]) -> Result<(), MapError> {
        let source = self.at(offset_bytes, bytes.len())?;
        // SAFETY: as in `write_at`.
        unsafe { std::ptr::copy_nonoverlapping(source, bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    /// Adds to the eight bytes there, which must be aligned, and gives what they were: one step for everybody who shares
    /// the memory.
    pub fn add_at(&self, offset_bytes: usize, count: u64) -> Result<u64, MapError> {
        let word = self.at(offset_bytes, 8)?.cast::<u64>();
        if !word.is_aligned() {
            let range = offset_bytes..offset_bytes + 8;
            return Err(MapError::OutOfBounds { range, length_bytes: self.mapping.length_bytes });
        }
        // SAFETY: `at` has checked that the eight bytes are inside the mapping, which is writable and lives as long as
        // `self`; they are aligned, and no reference to them is ever handed out.
        Ok(unsafe { AtomicU64::from_ptr(word) }.fetch_add(count, Ordering::AcqRel))
    }

    /// As fdatasync would. The start is rounded down to a page.
    pub fn sync(&self, range: Range<usize>) -> Result<(), MapError> {
        let start = range.start - range.start % rustix::param::page_size();
        let length = range.end.saturating_sub(start);
        let address = self.at(start, length)?.cast();
        // SAFETY: the range is inside the mapping.
        unsafe { msync(address, length, MsyncFlags::SYNC) }.map_err(|error| MapError::Request {
            request: "sync the mapping of",
            path: self.path.clone(),
            cause: error.into(),
        })
    }

    fn at(&self, offset_bytes: usize, count: usize) -> Result<*mut u8, MapError> {
        let end = offset_bytes.saturating_add(count);
        let length_bytes = self.mapping.length_bytes;
        if end > length_bytes {
            return Err(MapError::OutOfBounds { range: offset_bytes..end, length_bytes });
        }
        // SAFETY: the offset is at most the length of the mapping.
        Ok(unsafe { self.mapping.address.as_ptr().add(offset_bytes) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    fn mapped(length_bytes: usize) -> (File, MappedFile) {
        let file = tempfile::tempfile_in("/var/tmp").unwrap();
        file.set_len(length_bytes as u64).unwrap();
        let map = MappedFile::map(&file, "test".as_ref(), length_bytes).unwrap();
        (file, map)
    }

    #[test]
    fn what_is_written_by_memory_is_read_by_file() {
        let (file, mut map) = mapped(10_000);
        map.write_at(4090, b"across the page").unwrap();
        map.sync(4090..4105).unwrap();
        let mut read = [0; 15];
        file.read_exact_at(&mut read, 4090).unwrap();
        assert_eq!(&read, b"across the page");
        file.write_all_at(b"back", 0).unwrap();
        let mut back = [0; 4];
        map.read_at(0, &mut back).unwrap();
        assert_eq!(&back, b"back");
    }

    #[test]
    fn two_mappings_of_one_file_count_together() {
        let (file, map) = mapped(4096);
        let other = MappedFile::map(&file, "test".as_ref(), 4096).unwrap();
        assert_eq!((map.add_at(16, 3).unwrap(), other.add_at(16, 1).unwrap()), (0, 3));
        assert_eq!(map.add_at(16, 0).unwrap(), 4);
        assert!(map.add_at(12, 1).is_err() && map.add_at(4092, 1).is_err());
    }

    #[test]
    fn nothing_outside_the_mapping_is_touched() {
        let (_file, mut map) = mapped(4096);
        assert!(map.write_at(4096, b"").is_ok());
        let text = map.write_at(4090, b"1234567").unwrap_err().to_string();
        assert_eq!(text, "bytes 4090..4097 are outside a mapping of 4096 bytes");
        assert!(map.read_at(usize::MAX, &mut [0; 2]).is_err());
        assert!(map.sync(0..4097).is_err());
    }
}
