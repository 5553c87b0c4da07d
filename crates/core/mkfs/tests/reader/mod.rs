//! Readers for tests: they see bytes alone and know nothing of how these were made.

pub mod affs;
pub mod hfsplus;
pub mod hpfs;
pub mod ufs;

use std::collections::BTreeMap;

use pickfs_mkfs::Draft;

pub struct Bytes(pub Vec<u8>);

impl Bytes {
    pub fn of(draft: &Draft, offset_bytes: u64, length: usize) -> Self {
        Self(draft.read(offset_bytes, length))
    }

    pub fn le16(&self, at: usize) -> u16 {
        u16::from_le_bytes(self.0[at..at + 2].try_into().unwrap())
    }

    pub fn le32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.0[at..at + 4].try_into().unwrap())
    }

    pub fn le64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.0[at..at + 8].try_into().unwrap())
    }

    pub fn be16(&self, at: usize) -> u16 {
        u16::from_be_bytes(self.0[at..at + 2].try_into().unwrap())
    }

    pub fn be32(&self, at: usize) -> u32 {
        u32::from_be_bytes(self.0[at..at + 4].try_into().unwrap())
    }
}

/// Each block once.
#[derive(Default)]
pub struct Met(BTreeMap<u64, u64>);

impl Met {
    pub fn run(&mut self, first: u64, count: u64) {
        let before = self.0.range(..first + count).next_back();
        let is_new = before.is_none_or(|(at, length)| at + length <= first);
        assert!(is_new, "block {first} or one of {count} from there serves two structures");
        self.0.insert(first, count);
    }

    pub fn end(&self) -> u64 {
        self.0.last_key_value().map_or(0, |(first, count)| first + count)
    }

    /// A bit for each of `count` blocks from `first` on, the first one the lowest of the first byte:
    /// set where the block is not met and the volume has it.
    pub fn free_bits(&self, first: u64, count: u64, volume_end: u64) -> Vec<u8> {
        let mut bits = vec![0_u8; count.div_ceil(8) as usize];
        let end = volume_end.min(first + count);
        let taken = self.0.range(..end).map(|(&at, &length)| (at.max(first), at + length));
        let mut next = first;
        for (from, to) in taken.chain([(end, end)]).filter(|&(_, to)| to > first) {
            let spare = next - first..from.min(end) - first;
            spare.for_each(|bit| bits[(bit / 8) as usize] |= 1 << (bit % 8));
            next = to.max(next);
        }
        bits
    }
}

pub fn ones(bits: &[u8]) -> u64 {
    bits.iter().map(|byte| u64::from(byte.count_ones())).sum()
}
