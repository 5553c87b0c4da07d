//! Memory that starts on a block border, as direct writes need it, without unsafe code: a vector one
//! block longer than asked, used from its first aligned byte on.

use crate::layout::BLOCK_BYTES;

/// Zeroed memory that is all there (no page fault is left for later) and never moves.
#[derive(Debug)]
pub(crate) struct Aligned {
    memory: Vec<u8>,
    start: usize,
    length_bytes: usize,
}

impl Aligned {
    pub(crate) fn zeroed(length_bytes: usize) -> Self {
        // Ones first: memory that is asked for as zeros would come without its pages.
        let mut memory = vec![1; length_bytes + BLOCK_BYTES];
        memory.fill(0);
        let start = memory.as_ptr().align_offset(BLOCK_BYTES).min(BLOCK_BYTES);
        Self { memory, start, length_bytes }
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.length_bytes]
    }

    #[inline]
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.length_bytes]
    }
}
