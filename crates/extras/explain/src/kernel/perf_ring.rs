//! The ring that the kernel writes records of a [`PerfEvent`] into, read in place. Not a decoder: a
//! record is handed over as bytes, its header first.
//!
//! ```text
//! page 0                 pages 1 ..= 2^n
//! | head, tail, size |   | record | record | ...      kernel writes at head, we read from tail
//! ```
//!
//! Source: perf_event_open(2), "MMAP layout"; include/uapi/linux/perf_event.h for the barriers.
#![allow(unsafe_code)]

use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::perf_event::{PerfEvent, PerfEventError};

const PAGE_BYTES: usize = 4096;
/// `data_head` and `data_tail` in `struct perf_event_mmap_page`.
const HEAD_AT: usize = 1024;
const TAIL_AT: usize = 1032;
const HEADER_BYTES: usize = 8;

#[derive(Debug)]
pub struct PerfRing {
    base: NonNull<u8>,
    data_bytes: usize,
    /// A record that wraps is put together here.
    record: Vec<u8>,
}

// SAFETY: the mapping lives as long as the value, and reading takes `&mut self`.
unsafe impl Send for PerfRing {}

impl PerfRing {
    /// `data_pages` is a power of two.
    pub fn map(event: &PerfEvent, data_pages: usize) -> Result<PerfRing, PerfEventError> {
        let data_bytes = data_pages * PAGE_BYTES;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let (length, at) = (PAGE_BYTES + data_bytes, std::ptr::null_mut());
        // SAFETY: a fresh mapping at a place of the kernel's choice.
        let address = unsafe { mmap(at, length, access, MapFlags::SHARED, event.as_fd(), 0) };
        let address = address
            .map_err(|cause| PerfEventError::Ring { pages: data_pages, cause: cause.into() })?;
        let base = NonNull::new(address.cast()).expect("mmap does not map page zero unasked");
        Ok(PerfRing { base, data_bytes, record: Vec::with_capacity(4096) })
    }

    /// The oldest first, and makes room for new ones. Gives the number of bytes.
    pub fn drain(&mut self, each: &mut dyn FnMut(&[u8])) -> usize {
        // The kernel wrote the data before the head.
        let head = self.word(HEAD_AT).load(Ordering::Acquire);
        let mut tail = self.word(TAIL_AT).load(Ordering::Relaxed);
        let bytes = head.saturating_sub(tail) as usize;
        while tail < head {
            self.copy(tail, HEADER_BYTES);
            let size = usize::from(u16::from_ne_bytes([self.record[6], self.record[7]]));
            if size < HEADER_BYTES || size as u64 > head - tail {
                tail = head;
                break;
            }
            self.copy(tail, size);
            each(&self.record);
            tail += size as u64;
        }
        // What we read was read before the kernel may write over it.
        self.word(TAIL_AT).store(tail, Ordering::Release);
        bytes
    }

    pub fn capacity_bytes(&self) -> usize {
        self.data_bytes
    }

    /// In [0, 1].
    pub fn fill(&self) -> f64 {
        let head = self.word(HEAD_AT).load(Ordering::Relaxed);
        let tail = self.word(TAIL_AT).load(Ordering::Relaxed);
        head.saturating_sub(tail) as f64 / self.data_bytes as f64
    }

    fn copy(&mut self, from: u64, length: usize) {
        let at = from as usize % self.data_bytes;
        let first = length.min(self.data_bytes - at);
        self.record.clear();
        for (start, part) in [(at, first), (0, length - first)] {
            // SAFETY: start + part lies within the data pages of our mapping, and the kernel does not
            // write between tail and head.
            let bytes = unsafe {
                std::slice::from_raw_parts(self.base.as_ptr().add(PAGE_BYTES + start), part)
            };
            self.record.extend_from_slice(bytes);
        }
    }

    fn word(&self, offset_bytes: usize) -> &AtomicU64 {
        // SAFETY: aligned, within the first page of our mapping, and shared with the kernel as one
        // word; it lives as long as `self`.
        unsafe { AtomicU64::from_ptr(self.base.as_ptr().add(offset_bytes).cast()) }
    }
}

impl Drop for PerfRing {
    fn drop(&mut self) {
        // SAFETY: our own mapping, and nobody can use it after this.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), PAGE_BYTES + self.data_bytes) };
    }
}
