//! Bytes that nothing below can shrink: no compression, no deduplication, no detection of zeros.
//! One mebibyte of noise is made once. Each time it is written again, every 512-byte sector gets a
//! number of its own, so that no two sectors of a disk are alike, and filling runs at the speed of
//! the disk.

use pickfs_sys::aligned_buffer::AlignedBuffer;

pub(crate) const PIECE_BYTES: usize = 1 << 20;
const SECTOR_BYTES: usize = 512;

/// Aligned for direct I/O.
pub(crate) struct Incompressible {
    piece: AlignedBuffer,
    sectors_made: u64,
}

impl Incompressible {
    pub(crate) fn new() -> Self {
        let mut piece = AlignedBuffer::zeroed(PIECE_BYTES);
        fastrand::fill(&mut piece);
        Self { piece, sectors_made: 0 }
    }

    pub(crate) fn next_piece(&mut self) -> &[u8] {
        for sector in self.piece.chunks_exact_mut(SECTOR_BYTES) {
            self.sectors_made += 1;
            // An odd factor gives every number another one.
            let stamp = self.sectors_made.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            sector[..8].copy_from_slice(&stamp.to_le_bytes());
        }
        &self.piece
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_two_sectors_are_alike_and_every_byte_value_is_used_alike() {
        let mut source = Incompressible::new();
        let mut sectors = HashSet::new();
        let mut counts = [0u32; 256];
        for _ in 0..2 {
            for sector in source.next_piece().chunks_exact(SECTOR_BYTES) {
                assert!(sectors.insert(sector.to_vec()));
                sector.iter().for_each(|&byte| counts[usize::from(byte)] += 1);
            }
        }
        let expected = (2 * PIECE_BYTES / 256) as f64;
        assert!(counts.iter().all(|&count| (f64::from(count) / expected - 1.0).abs() < 0.1));
    }
}
