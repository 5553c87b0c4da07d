//! Bytes that begin on a page: what direct I/O asks for.
#![allow(unsafe_code)]

use std::ops::{Deref, DerefMut};

pub const ALIGNMENT_BYTES: usize = 4096;

#[derive(Clone)]
pub struct AlignedBuffer {
    pages: Vec<Page>,
    length_bytes: usize,
}

#[repr(C, align(4096))]
#[derive(Clone, Copy)]
struct Page([u8; ALIGNMENT_BYTES]);

impl AlignedBuffer {
    /// Its memory is in place: no page fault waits in it.
    pub fn zeroed(length_bytes: usize) -> Self {
        let pages = vec![Page([0; ALIGNMENT_BYTES]); length_bytes.div_ceil(ALIGNMENT_BYTES)];
        Self { pages, length_bytes }
    }
}

impl Deref for AlignedBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `pages` holds at least `length_bytes` initialised bytes, one page behind another,
        // and is borrowed for as long as the slice lives.
        unsafe { std::slice::from_raw_parts(self.pages.as_ptr().cast(), self.length_bytes) }
    }
}

impl DerefMut for AlignedBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`; the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.pages.as_mut_ptr().cast(), self.length_bytes) }
    }
}

impl std::fmt::Debug for AlignedBuffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AlignedBuffer({} bytes)", self.length_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_length_is_aligned_zeroed_and_exact() {
        for length in [0, 1, 511, 4096, 4097, 1 << 20] {
            let mut buffer = AlignedBuffer::zeroed(length);
            assert_eq!(buffer.len(), length);
            assert!(length == 0 || (buffer.as_ptr() as usize) % ALIGNMENT_BYTES == 0);
            assert!(buffer.iter().all(|&byte| byte == 0));
            buffer.fill(0xA5);
            assert!(buffer.clone().iter().all(|&byte| byte == 0xA5));
        }
    }
}
