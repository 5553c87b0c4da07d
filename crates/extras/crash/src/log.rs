//! What a disk was told, in order, and what a crash may leave of it.

use std::{ops::Range, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::image::Pages;

/// In bytes; what a loop device with direct I/O asks of a disk.
pub const SECTOR: u64 = 512;
/// Larger disks are neither made nor read.
pub const IMAGE_BYTES_MAX: u64 = 16 << 30;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// Of the disk, which is full of one byte before the first entry.
    pub bytes: u64,
    pub fill: u8,
    pub entries: Vec<What>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// Whole sectors. With `fua` it is safe when it is answered, and nothing else is.
    Write {
        sector: u64,
        data: Arc<[u8]>,
        fua: bool,
    },
    /// What stands before it is safe when it is answered.
    Flush,
    /// Reads as zeros, if it was done.
    Discard {
        sector: u64,
        sectors: u64,
    },
    Mark(String),
}

impl What {
    /// That it changes; empty for a flush and a mark.
    pub fn sectors(&self) -> Range<u64> {
        match self {
            What::Write { sector, data, .. } => *sector..*sector + data.len() as u64 / SECTOR,
            What::Discard { sector, sectors } => *sector..*sector + *sectors,
            What::Flush | What::Mark(_) => 0..0,
        }
    }

    /// Puts so many sectors of it, counted from its own first, on an image.
    pub fn put(&self, part: Range<u64>, on: &mut impl Put) {
        match self {
            What::Write { sector, data, .. } => {
                let bytes = (part.start * SECTOR) as usize..(part.end * SECTOR) as usize;
                on.put((sector + part.start) * SECTOR, &data[bytes]);
            }
            What::Discard { sector, .. } => {
                on.zero((sector + part.start) * SECTOR, (part.end - part.start) * SECTOR);
            }
            What::Flush | What::Mark(_) => {}
        }
    }
}

/// What can be written: an image, or the layer above it.
pub trait Put {
    /// At a byte of the image; nothing of it lies behind its end.
    fn put(&mut self, offset_bytes: u64, bytes: &[u8]);
    fn zero(&mut self, offset_bytes: u64, length_bytes: u64);
}

/// How many entries stand before it: 0 is the image as it was, the length of the log its end.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Position(pub usize);

/// A state that a crash leaves: everything that stands before `safe`, and of what comes after it these pieces, in
/// their order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Remains {
    pub safe: Position,
    /// Of the crash: what was acknowledged up to here is due. Pieces stand before it, or are of the entry behind it:
    /// a write that was under way.
    pub crash: Position,
    pub kept: Vec<Piece>,
}

/// Sectors of an entry, counted from its own first.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Piece {
    pub entry: usize,
    pub sectors: Range<u64>,
}

impl Log {
    pub fn of(bytes: u64, fill: u8, told: impl IntoIterator<Item = What>) -> Self {
        Self { bytes, fill, entries: told.into_iter().collect() }
    }

    /// The image before the first entry.
    pub fn base(&self) -> Pages {
        Pages::filled(self.bytes, self.fill)
    }

    pub fn end(&self) -> Position {
        Position(self.entries.len())
    }

    /// Everything between two positions, in order.
    pub fn put(&self, from: Position, to: Position, on: &mut impl Put) {
        for entry in &self.entries[from.0..to.0] {
            let sectors = entry.sectors();
            entry.put(0..sectors.end - sectors.start, on);
        }
    }

    /// The pieces of a state on what is safe in it already.
    pub fn put_kept(&self, kept: &[Piece], on: &mut impl Put) {
        for piece in kept {
            self.entries[piece.entry].put(piece.sectors.clone(), on);
        }
    }

    /// The whole image of a state.
    pub fn image_of(&self, remains: &Remains) -> Pages {
        let mut image = self.base();
        self.put(Position(0), remains.safe, &mut image);
        self.put_kept(&remains.kept, &mut image);
        image
    }
}
