//! The bytes of the one file, and what must be found when they are read.
//!
//! | data | what chunk `i` holds |
//! |---|---|
//! | `bonnie` | zeros, but before chunk `i` is written byte `i` mod chunk rises by one; the buffer goes on, so the data is nearly constant |
//! | `random` | a place in four mebibytes of noise, with the chunk's number in its first eight bytes; nothing compresses, no two chunks are the same |
//!
//! A rewrite raises byte `i` mod chunk by one, an update lowers it by one: both as bonnie++ does.

use pickfs_sys::aligned_buffer::AlignedBuffer;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Data {
    Bonnie,
    Random,
}

/// Noise that is held; more than any file system compresses in one piece.
const POOL_BYTES: usize = 4 << 20;

pub(super) struct Content {
    data: Data,
    chunk_bytes: usize,
    /// One chunk for `Bonnie`, all noise for `Random`.
    pool: AlignedBuffer,
    seed: u64,
}

impl Content {
    /// The content of a file in chunks of `chunk_bytes`, a power of two.
    pub(super) fn new(data: Data, chunk_bytes: usize, seed: u64) -> Content {
        let pool = match data {
            Data::Bonnie => AlignedBuffer::zeroed(chunk_bytes),
            Data::Random => noise(POOL_BYTES.max(chunk_bytes), seed),
        };
        Content { data, chunk_bytes, pool, seed }
    }

    /// Chunks are asked for in rising order, from 0.
    #[inline]
    pub(super) fn chunk(&mut self, index: u64) -> &[u8] {
        match self.data {
            Data::Bonnie => {
                let place = self.byte_of(index);
                self.pool[place] = self.pool[place].wrapping_add(1);
                &self.pool
            }
            Data::Random => {
                let start = self.place_of(index);
                self.pool[start..start + 8].copy_from_slice(&(index ^ self.seed).to_le_bytes());
                &self.pool[start..start + self.chunk_bytes]
            }
        }
    }

    #[inline]
    pub(super) fn byte_of(&self, index: u64) -> usize {
        index as usize & (self.chunk_bytes - 1)
    }

    #[inline]
    fn place_of(&self, index: u64) -> usize {
        (index as usize).wrapping_mul(self.chunk_bytes) % self.pool.len()
    }

    /// `expected` is memory for one chunk.
    pub(super) fn difference(
        &self,
        index: u64,
        found: &[u8],
        state: Expected,
        expected: &mut Vec<u8>,
    ) -> Option<usize> {
        self.write_first(index, expected);
        let marked = self.byte_of(index);
        match state {
            Expected::Rewritten => expected[marked] = expected[marked].wrapping_add(1),
            Expected::Updated => expected[marked] = found.get(marked).copied().unwrap_or_default(),
        }
        if expected == found {
            return None;
        }
        expected
            .iter()
            .enumerate()
            .find(|(at, byte)| found.get(*at) != Some(byte))
            .map(|(at, _)| at)
    }

    fn write_first(&self, index: u64, into: &mut Vec<u8>) {
        into.clear();
        match self.data {
            Data::Bonnie => {
                let rounds = (index / self.chunk_bytes as u64) as u8;
                into.resize(self.byte_of(index) + 1, rounds.wrapping_add(1));
                into.resize(self.chunk_bytes, rounds);
            }
            Data::Random => {
                let start = self.place_of(index);
                into.extend_from_slice(&(index ^ self.seed).to_le_bytes());
                into.extend_from_slice(&self.pool[start + 8..start + self.chunk_bytes]);
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    Rewritten,
    /// It was rewritten, and updated any number of times.
    Updated,
}

/// Bytes of a shift-register generator (Marsaglia, "Xorshift RNGs", 2003, with the multiplier of
/// the * variant).
pub(super) fn noise(length_bytes: usize, seed: u64) -> AlignedBuffer {
    let mut buffer = AlignedBuffer::zeroed(length_bytes);
    let mut state = seed ^ 0x9e37_79b9_7f4a_7c15;
    for word in buffer.chunks_exact_mut(8) {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        word.copy_from_slice(&state.wrapping_mul(0x2545_f491_4f6c_dd1d).to_le_bytes());
    }
    buffer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_chunk_of_bonnie_has_one_byte_more() {
        let mut content = Content::new(Data::Bonnie, 256, 1);
        assert_eq!(content.chunk(0)[..4], [1, 0, 0, 0]);
        assert_eq!(content.chunk(1)[..4], [1, 1, 0, 0]);
        for index in 2..256 {
            content.chunk(index);
        }
        assert_eq!(content.chunk(256)[..4], [2, 1, 1, 1]);
    }

    #[test]
    fn what_was_written_is_found_again_and_what_was_not_is_told_with_its_place() {
        for data in [Data::Bonnie, Data::Random] {
            let mut content = Content::new(data, 512, 9);
            let mut memory = Vec::new();
            let mut differ = |content: &Content, index, found: &[u8], state| {
                content.difference(index, found, state, &mut memory)
            };
            for index in 0..20_000 {
                let mut found = content.chunk(index).to_vec();
                if index % 997 != 0 {
                    continue;
                }
                let marked = content.byte_of(index);
                assert_eq!(differ(&content, index, &found, Expected::Rewritten), Some(marked));
                found[marked] = found[marked].wrapping_add(1);
                assert_eq!(differ(&content, index, &found, Expected::Rewritten), None);
                assert_eq!(differ(&content, index, &found, Expected::Updated), None);
                let other = (marked + 100) % 512;
                found[other] ^= 0x40;
                assert_eq!(differ(&content, index, &found, Expected::Updated), Some(other));
                assert_eq!(differ(&content, index, &found[..7], Expected::Updated), Some(7));
            }
        }
    }

    #[test]
    fn noise_does_not_repeat_within_what_is_compressed_at_once() {
        let noise = noise(1 << 20, 7);
        let mut words: Vec<&[u8]> = noise.chunks_exact(8).collect();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), (1 << 20) / 8);
    }
}
