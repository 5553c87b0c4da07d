//! A file system on paper: the bytes that will be written, by their place, and what they amount
//! to.

use std::collections::BTreeMap;
use std::fmt;

use crate::kind::Kind;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    pub kind: Kind,
    /// As the format counts them.
    pub block_bytes: u32,
    pub blocks: u64,
    pub free_blocks: u64,
    pub written_bytes: u64,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, block_bytes, blocks, free_blocks, written_bytes } = self;
        write!(f, "{kind}: {blocks} blocks of {block_bytes} bytes, {free_blocks} free; ")?;
        write!(f, "{written_bytes} bytes written")
    }
}

/// Bytes by their place; what lies between them is zero or does not matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    pub(crate) kind: Kind,
    pub(crate) block_bytes: u32,
    pub(crate) blocks: u64,
    pub(crate) free_blocks: u64,
    pieces: BTreeMap<u64, Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Bytes(Vec<u8>),
    /// So many zeros, where what was there before must not stay.
    Zeros(u64),
}

impl Piece {
    fn length(&self) -> u64 {
        match self {
            Piece::Bytes(bytes) => bytes.len() as u64,
            Piece::Zeros(count) => *count,
        }
    }
}

impl Draft {
    pub(crate) fn new(kind: Kind, block_bytes: u32, blocks: u64) -> Self {
        Self { kind, block_bytes, blocks, free_blocks: 0, pieces: BTreeMap::new() }
    }

    /// Nothing else has taken the place.
    pub(crate) fn put(&mut self, offset_bytes: u64, bytes: impl Into<Vec<u8>>) {
        self.insert(offset_bytes, Piece::Bytes(bytes.into()));
    }

    fn insert(&mut self, offset_bytes: u64, piece: Piece) {
        let end = offset_bytes + piece.length();
        let before = self.pieces.range(..end).next_back();
        let is_free = before.is_none_or(|(at, piece)| at + piece.length() <= offset_bytes);
        assert!(is_free, "two structures at byte {offset_bytes}");
        self.pieces.insert(offset_bytes, piece);
    }

    pub(crate) fn put_block(&mut self, block: u64, bytes: impl Into<Vec<u8>>) {
        self.put(block * u64::from(self.block_bytes), bytes);
    }

    pub(crate) fn zero_blocks(&mut self, block: u64, count: u64) {
        let bytes = u64::from(self.block_bytes);
        self.insert(block * bytes, Piece::Zeros(count * bytes));
    }

    /// Offsets in bytes, ascending, without overlap.
    pub fn pieces(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.pieces.iter().filter_map(|(&offset, piece)| match piece {
            Piece::Bytes(bytes) => Some((offset, bytes.as_slice())),
            Piece::Zeros(_) => None,
        })
    }

    /// Offset and length in bytes: ascending, apart from all pieces.
    pub fn zeros(&self) -> impl Iterator<Item = (u64, u64)> {
        self.pieces.iter().filter_map(|(&offset, piece)| match piece {
            Piece::Bytes(_) => None,
            Piece::Zeros(count) => Some((offset, *count)),
        })
    }

    /// Zeros where nothing is written.
    pub fn read(&self, offset_bytes: u64, length: usize) -> Vec<u8> {
        let mut out = vec![0; length];
        let end = offset_bytes + length as u64;
        let before = self.pieces.range(..offset_bytes).next_back().map_or(0, |(&at, _)| at);
        for (&at, piece) in self.pieces.range(before..end) {
            let Piece::Bytes(bytes) = piece else { continue };
            let from = offset_bytes.max(at);
            let to = end.min(at + piece.length());
            if from < to {
                let (source, target) = ((from - at) as usize, (from - offset_bytes) as usize);
                let count = (to - from) as usize;
                out[target..target + count].copy_from_slice(&bytes[source..source + count]);
            }
        }
        out
    }

    pub fn summary(&self) -> Summary {
        Summary {
            kind: self.kind,
            block_bytes: self.block_bytes,
            blocks: self.blocks,
            free_blocks: self.free_blocks,
            written_bytes: self.pieces.values().map(Piece::length).sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_wrote_reads_as_zeros() {
        let mut draft = Draft::new(Kind::Hpfs, 512, 8);
        draft.put(2, [1, 2, 3]);
        draft.put(7, [9]);
        assert_eq!(draft.read(0, 10), [0, 0, 1, 2, 3, 0, 0, 9, 0, 0]);
        assert_eq!(draft.read(3, 1), [2]);
        assert_eq!(draft.summary().written_bytes, 4);
    }

    #[test]
    #[should_panic(expected = "two structures at byte 4")]
    fn two_structures_never_share_a_byte() {
        let mut draft = Draft::new(Kind::Hpfs, 512, 8);
        draft.put(2, [1, 2, 3]);
        draft.put(4, [9]);
    }
}
