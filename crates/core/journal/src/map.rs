//! A shared writable mapping of one whole journal file. Stores past the file's blocks raise SIGBUS when
//! the disk is full: with a sparse file that is the price of this write path.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::{self, NonNull};

use rustix::mm::{MapFlags, MsyncFlags, ProtFlags, mmap, msync, munmap};

use crate::layout::BLOCK_BYTES;

#[derive(Debug)]
pub(crate) struct Map {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping belongs to this value alone and is only written through `&mut self`, so it may
// move to another thread with it.
unsafe impl Send for Map {}

impl Map {
    /// The file is at least that long.
    pub(crate) fn new(file: BorrowedFd<'_>, length_bytes: u64) -> io::Result<Self> {
        let length = usize::try_from(length_bytes).map_err(|_| io::ErrorKind::OutOfMemory)?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address that the kernel chooses touches no memory of ours.
        let start = unsafe { mmap(ptr::null_mut(), length, access, MapFlags::SHARED, file, 0)? };
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, length })
    }

    /// Past the end it is an error, as a full file would be.
    pub(crate) fn store(&mut self, offset_bytes: u64, bytes: &[u8]) -> io::Result<usize> {
        let offset = offset_bytes as usize;
        let fits = offset.checked_add(bytes.len()).is_some_and(|end| end <= self.length);
        if !fits {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // SAFETY: the range was just checked to lie in the mapping, which lives as long as `self`, and
        // `bytes` cannot overlap it, because no reference into the mapping is ever handed out.
        unsafe {
            ptr::copy_nonoverlapping(bytes.as_ptr(), self.start.as_ptr().add(offset), bytes.len())
        };
        Ok(bytes.len())
    }

    /// msync(2) with MS_SYNC.
    pub(crate) fn sync(&self, start_bytes: u64, end_bytes: u64) -> io::Result<()> {
        let start = (start_bytes as usize).min(self.length) / BLOCK_BYTES * BLOCK_BYTES;
        let length = (end_bytes as usize).min(self.length).saturating_sub(start);
        // SAFETY: start and length were cut to the mapping; msync reads it and changes nothing.
        unsafe {
            let first = self.start.as_ptr().add(start).cast::<c_void>();
            Ok(msync(first, length, MsyncFlags::SYNC)?)
        }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new` with this length, and nothing refers to it any more.
        // An error cannot be acted on here, and leaves the mapping in place, which is harmless.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
    }
}
