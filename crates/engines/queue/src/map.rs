//! A shared mapping of a whole segment or control file, and the only unsafe code of the queue beside
//! the seat locks and the checksum.
//!
//! No reference to mapped bytes is ever handed out, but for words, which are atomic: bytes go in and out by
//! copies. So another process that writes where it should not changes what is read and nothing else.
//!
//! A store to a page that the file system cannot give space to raises SIGBUS. [`Map::populate`] asks for the
//! page by a system call instead, which fails with an error (madvise(2), MADV_POPULATE_WRITE, Linux 5.14).
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

use rustix::mm::{Advice as Hint, MapFlags, MsyncFlags, ProtFlags, madvise, mmap, msync, munmap};

use super::layout::PAGE_BYTES;

#[cfg(target_endian = "big")]
compile_error!("the queue's words are little-endian, in the file and in memory");

#[cfg(target_arch = "x86_64")]
const LINE_BYTES: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Loads only; a store would end the process, so the words of such a map refuse to be had.
    Read,
    Write,
}

#[derive(Debug)]
pub(crate) struct Map {
    start: NonNull<u8>,
    length: usize,
    access: Access,
}

// SAFETY: the mapping belongs to this value; what is shared in it are bytes that only raw copies touch and
// words that only atomic instructions touch, from any thread.
unsafe impl Send for Map {}
// SAFETY: as above; no method hands out a plain reference to mapped bytes.
unsafe impl Sync for Map {}

impl Map {
    /// Maps `length_bytes` of a file. What lies past the file's end must not be touched before it has grown.
    pub(crate) fn new(file: BorrowedFd<'_>, length_bytes: u64, access: Access) -> io::Result<Self> {
        let length = usize::try_from(length_bytes).map_err(|_| io::ErrorKind::OutOfMemory)?;
        let protection = match access {
            Access::Read => ProtFlags::READ,
            Access::Write => ProtFlags::READ | ProtFlags::WRITE,
        };
        // SAFETY: a new mapping at an address that the kernel chooses touches no memory of ours.
        let start =
            unsafe { mmap(ptr::null_mut(), length, protection, MapFlags::SHARED, file, 0)? };
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, length, access })
    }

    pub(crate) fn length_bytes(&self) -> u64 {
        self.length as u64
    }

    /// Where a range of the mapping begins; a range outside is a bug.
    #[inline]
    fn at(&self, offset_bytes: u64, length: usize) -> *mut u8 {
        let offset = offset_bytes as usize;
        let fits = offset.checked_add(length).is_some_and(|end| end <= self.length);
        assert!(fits, "{length} bytes at {offset_bytes} lie outside a mapping of {}", self.length);
        // SAFETY: the range was just checked to lie in the mapping, which lives as long as `self`.
        unsafe { self.start.as_ptr().add(offset) }
    }

    /// A word that other processes see; only of a writable mapping.
    #[inline]
    pub(crate) fn word(&self, offset_bytes: u64) -> &AtomicU64 {
        assert!(self.access == Access::Write, "a word of a read-only mapping");
        self.any_word(offset_bytes)
    }

    #[inline]
    fn any_word(&self, offset_bytes: u64) -> &AtomicU64 {
        assert!(offset_bytes % 8 == 0, "a word at {offset_bytes}");
        let word = self.at(offset_bytes, 8).cast::<AtomicU64>();
        // SAFETY: the word lies in the mapping, is aligned, since the mapping begins on a page, and is only
        // touched by atomic instructions: here, and in every other process that follows the layout.
        unsafe { &*word }
    }

    /// Reads a word; what was written before it was set is seen afterwards.
    #[inline]
    pub(crate) fn look(&self, offset_bytes: u64) -> u64 {
        self.any_word(offset_bytes).load(Acquire)
    }

    /// Sets a word; what was written before is seen by whoever reads it.
    #[inline]
    pub(crate) fn set(&self, offset_bytes: u64, value: u64) {
        self.word(offset_bytes).store(value, Release);
    }

    /// Sets a word that another one, set later, tells others to read.
    #[inline]
    pub(crate) fn set_relaxed(&self, offset_bytes: u64, value: u64) {
        self.word(offset_bytes).store(value, Relaxed);
    }

    /// Asks for the lines of the cache that a range lies in, to store there soon. It changes no byte and waits for
    /// nothing.
    #[inline]
    pub(crate) fn own(&self, offset_bytes: u64, length: usize) {
        #[cfg(target_arch = "x86_64")]
        for line in 0..=length / LINE_BYTES {
            let at = self.at(offset_bytes, length).wrapping_add((line * LINE_BYTES).min(length));
            // SAFETY: a hint, which changes no memory and raises no fault at any address (PREFETCHW, AMD64
            // Architecture Programmer's Manual, volume 3).
            unsafe {
                std::arch::asm!("prefetchw [{}]", in(reg) at, options(nostack, preserves_flags, readonly));
            }
        }
    }

    /// Copies bytes in, to a range that nobody else writes; page by page, so that no single store lies on two pages.
    ///
    /// Such a store needs both to be writable at once. A full btrfs writes back what is dirty each time it is asked
    /// for a page, and takes the other one away by that: the store never ended (seen on Linux 6.18).
    #[inline]
    pub(crate) fn copy_in(&self, offset_bytes: u64, bytes: &[u8]) {
        assert!(self.access == Access::Write, "a store to a read-only mapping");
        let (mut offset_bytes, mut bytes) = (offset_bytes, bytes);
        loop {
            let left = (PAGE_BYTES - offset_bytes % PAGE_BYTES) as usize;
            let (piece, rest) = bytes.split_at(left.min(bytes.len()));
            let to = self.at(offset_bytes, piece.len());
            // SAFETY: `to` has room for them, and `piece` cannot overlap it, because no reference to mapped
            // bytes exists.
            unsafe { ptr::copy_nonoverlapping(piece.as_ptr(), to, piece.len()) };
            if rest.is_empty() {
                return;
            }
            (offset_bytes, bytes) = (offset_bytes + piece.len() as u64, rest);
        }
    }

    /// Copies bytes out. If another process writes there at the same time they are a mixture, which a
    /// checksum must find.
    #[inline]
    pub(crate) fn copy_out(&self, offset_bytes: u64, bytes: &mut [u8]) {
        let from = self.at(offset_bytes, bytes.len());
        // SAFETY: `from` has that many bytes, and `bytes` is memory of ours alone.
        unsafe { ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), bytes.len()) };
    }

    pub(crate) fn advise(&self, hint: Hint) -> io::Result<()> {
        self.madvise(0, self.length, hint)
    }

    /// Makes pages from `start_bytes` to `end_bytes` (both on pages) present and writable, with the space that
    /// they need in the file system. On a full one it is an error, not a signal.
    pub(crate) fn populate(&self, start_bytes: u64, end_bytes: u64) -> io::Result<()> {
        let length = (end_bytes.min(self.length_bytes())).saturating_sub(start_bytes) as usize;
        if length == 0 {
            return Ok(());
        }
        self.madvise(start_bytes, length, Hint::LinuxPopulateWrite)
    }

    fn madvise(&self, offset_bytes: u64, length: usize, hint: Hint) -> io::Result<()> {
        let first = self.at(offset_bytes, length).cast::<c_void>();
        // SAFETY: the range lies in the mapping, and the hints that are given here (order of access,
        // populate) change no byte of it.
        Ok(unsafe { madvise(first, length, hint) }?)
    }

    /// From `start_bytes` to `end_bytes`: msync(2).
    pub(crate) fn sync(&self, start_bytes: u64, end_bytes: u64, how: MsyncFlags) -> io::Result<()> {
        let start = start_bytes / PAGE_BYTES * PAGE_BYTES;
        let length = end_bytes.min(self.length_bytes()).saturating_sub(start) as usize;
        let first = self.at(start, length).cast::<c_void>();
        // SAFETY: the range lies in the mapping; msync reads it and changes nothing.
        Ok(unsafe { msync(first, length, how) }?)
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new` with this length, and nothing refers to it any more.
        // An error cannot be acted on here, and leaves the mapping in place, which is harmless.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
    }
}
