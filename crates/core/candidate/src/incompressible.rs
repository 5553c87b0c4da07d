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
    pub(crate) fn new(seed: u64) -> Self {
        let mut piece = AlignedBuffer::zeroed(PIECE_BYTES);
        let mut noise = Noise(seed);
        for word in piece.chunks_exact_mut(8) {
            word.copy_from_slice(&noise.next().to_le_bytes());
        }
        Self { piece, sectors_made: 0 }
    }

    pub(crate) fn next_piece(&mut self) -> &[u8] {
        for sector in self.piece.chunks_exact_mut(SECTOR_BYTES) {
            self.sectors_made += 1;
            let stamp = Noise(self.sectors_made).next();
            sector[..8].copy_from_slice(&stamp.to_le_bytes());
        }
        &self.piece
    }
}

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
pub(crate) struct Noise(pub(crate) u64);

impl Noise {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    /// A number under `bound`; the bias is at most `bound` / 2^64.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    pub(crate) fn seed_from_the_clock() -> u64 {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let nanoseconds = now.map_or(0, |since| since.as_nanos() as u64);
        Noise(nanoseconds ^ (u64::from(std::process::id()) << 40)).next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_two_sectors_are_alike_and_every_byte_value_is_used_alike() {
        let mut source = Incompressible::new(7);
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

    #[test]
    fn numbers_stay_below_their_bound() {
        let mut noise = Noise(1);
        assert!((0..1000).all(|_| noise.below(10) < 10));
    }
}
