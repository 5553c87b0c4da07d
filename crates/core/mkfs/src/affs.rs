//! AFFS: the fast file system of the Amiga, international mode (`DOS\3`), in
//! blocks of 512 bytes.
//!
//! ```text
//! block 0, 1         boot blocks: the four letters of the kind, no program
//! (2 + n - 1) / 2    root block: the middle of the volume
//! after it           bitmap blocks, one for 4064 blocks each
//! after them         bitmap extension blocks, where the root's 25 places are too few
//! ```
//!
//! Sources of the fields: Commodore-Amiga, *AmigaDOS Manual*, 3rd edition, part "Technical
//! Reference", chapter on the structure of disks; and how Linux reads them, `fs/affs/amigaffs.h`,
//! `affs_fill_super` (place of the root) and `affs_init_bitmap` (place of the bitmaps).
//! In the manual's pictures places count from 0 in words of 32 bits, high byte first; so they do here.
//!
//! Two things of the Linux driver to know. It takes the volume's size from the device, so the place
//! of the root depends on the device's size to the sector. And where the blocks after the boot
//! blocks fill the last bitmap block exactly, it takes all but the first 32 of that block for occupied.

use crate::claims::Claims;
use crate::draft::Draft;
use crate::error::MakeError;
use crate::kind::{Kind, LABEL, MADE_S};
use crate::record::Record;

/// Block size; the driver knows 512 to 4096 and tries 512 first.
const BLOCK_BYTES: u64 = 512;
/// Words of 32 bits in a block.
const WORDS: usize = 128;
/// Boot blocks; no bit of a bitmap stands for them.
const BOOT_BLOCKS: u64 = 2;
/// Blocks that a bitmap block counts: a bit each in all its words but the checksum.
const BLOCKS_OF_BITMAP: u64 = (WORDS as u64 - 1) * 32;
/// For bitmap blocks in the root block.
const BITMAPS_OF_ROOT: usize = 25;
/// Places for bitmap blocks in an extension; its last word names the next extension.
const BITMAPS_OF_EXTENSION: usize = WORDS - 1;

/// A quarter of the smallest floppy disk.
const MINIMUM_BYTES: u64 = 220 << 10;
/// What a draft can be held of in memory; the driver counts to 1 TiB.
const MAXIMUM_BYTES: u64 = 64 << 30;
/// 1978-01-01: day 0 of the Amiga.
const EPOCH_S: u64 = 252_460_800;

/// Places of the root block's words, `affs_root_head` and `affs_root_tail`.
mod root {
    pub(super) const PRIMARY_TYPE: usize = 0;
    pub(super) const HASH_SIZE: usize = 3;
    pub(super) const CHECKSUM: usize = 5;
    pub(super) const BITMAP_IS_VALID: usize = 78;
    pub(super) const BITMAPS: usize = 79;
    pub(super) const BITMAP_EXTENSION: usize = 104;
    pub(super) const ROOT_CHANGED: usize = 105;
    pub(super) const NAME: usize = 108;
    pub(super) const VOLUME_CHANGED: usize = 118;
    pub(super) const CREATED: usize = 121;
    pub(super) const SECONDARY_TYPE: usize = 127;
}

/// In blocks.
struct Layout {
    blocks: u64,
    root: u64,
    bitmaps: u64,
    extensions: u64,
}

impl Layout {
    fn new(blocks: u64) -> Self {
        let bitmaps = (blocks - BOOT_BLOCKS).div_ceil(BLOCKS_OF_BITMAP);
        let beyond_root = bitmaps.saturating_sub(BITMAPS_OF_ROOT as u64);
        Self {
            blocks,
            root: (BOOT_BLOCKS + blocks - 1) / 2,
            bitmaps,
            extensions: beyond_root.div_ceil(BITMAPS_OF_EXTENSION as u64),
        }
    }

    fn bitmap(&self, index: u64) -> u64 {
        self.root + 1 + index
    }

    fn extension(&self, index: u64) -> u64 {
        self.bitmap(self.bitmaps) + index
    }

    fn bitmap_blocks(&self) -> Vec<u32> {
        (0..self.bitmaps).map(|index| number(self.bitmap(index))).collect()
    }

    fn claims(&self) -> Claims {
        let mut claims = Claims::default();
        claims.take(0, BOOT_BLOCKS);
        claims.take(self.root, 1 + self.bitmaps + self.extensions);
        claims
    }
}

pub(crate) fn draft(size_bytes: u64) -> Result<Draft, MakeError> {
    Kind::Affs.check_size(size_bytes, BLOCK_BYTES, MINIMUM_BYTES, MAXIMUM_BYTES)?;
    let layout = Layout::new(size_bytes / BLOCK_BYTES);
    let claims = layout.claims();
    let mut draft = Draft::new(Kind::Affs, BLOCK_BYTES as u32, layout.blocks);
    draft.free_blocks = layout.blocks - claims.count();
    draft.put_block(0, *b"DOS\x03");
    draft.put_block(layout.root, root_block(&layout));
    for index in 0..layout.bitmaps {
        draft.put_block(layout.bitmap(index), bitmap_block(index, &layout, &claims));
    }
    for index in 0..layout.extensions {
        draft.put_block(layout.extension(index), extension_block(index, &layout));
    }
    Ok(draft)
}

fn root_block(layout: &Layout) -> Record {
    let mut block = Block::default();
    block.set(root::PRIMARY_TYPE, 2).set(root::SECONDARY_TYPE, 1);
    block.set(root::HASH_SIZE, WORDS as u32 - 56);
    block.set(root::BITMAP_IS_VALID, u32::MAX);
    for (place, &bitmap) in layout.bitmap_blocks().iter().take(BITMAPS_OF_ROOT).enumerate() {
        block.set(root::BITMAPS + place, bitmap);
    }
    if layout.extensions > 0 {
        block.set(root::BITMAP_EXTENSION, number(layout.extension(0)));
    }
    for field in [root::ROOT_CHANGED, root::VOLUME_CHANGED, root::CREATED] {
        block.set_date(field, MADE_S);
    }
    block.set_name(root::NAME, LABEL);
    block.seal(root::CHECKSUM)
}

/// A set bit is a free block; the first block is the lowest bit of the first word.
fn bitmap_block(index: u64, layout: &Layout, claims: &Claims) -> Record {
    let first = BOOT_BLOCKS + index * BLOCKS_OF_BITMAP;
    let end = layout.blocks.min(first + BLOCKS_OF_BITMAP);
    let mut words = [0_u32; WORDS - 1];
    let mut mark = |range: std::ops::Range<u64>, is_free: bool| {
        for bit in range.start - first..range.end - first {
            let mask = 1 << (bit % 32);
            let word = &mut words[(bit / 32) as usize];
            *word = if is_free { *word | mask } else { *word & !mask };
        }
    };
    mark(first..end, true);
    claims.within(first..end).for_each(|taken| mark(taken, false));
    let mut block = Block::default();
    for (at, &word) in words.iter().enumerate() {
        block.set(1 + at, word);
    }
    block.seal(0)
}

/// Names up to 127 further bitmap blocks. It has no checksum.
fn extension_block(index: u64, layout: &Layout) -> Record {
    let mut block = Block::default();
    let all = layout.bitmap_blocks();
    let before = BITMAPS_OF_ROOT + index as usize * BITMAPS_OF_EXTENSION;
    for (place, &bitmap) in all.iter().skip(before).take(BITMAPS_OF_EXTENSION).enumerate() {
        block.set(place, bitmap);
    }
    if index + 1 < layout.extensions {
        block.set(BITMAPS_OF_EXTENSION, number(layout.extension(index + 1)));
    }
    block.record
}

/// As the format stores it.
fn number(block: u64) -> u32 {
    u32::try_from(block).expect("sizes are checked, so that blocks have 32-bit numbers")
}

struct Block {
    record: Record,
}

impl Default for Block {
    fn default() -> Self {
        Self { record: Record::big(BLOCK_BYTES as usize) }
    }
}

impl Block {
    fn set(&mut self, word: usize, value: u32) -> &mut Self {
        self.record.set_u32(word * 4, value);
        self
    }

    /// Days since 1978, minutes of the day, fiftieths of a second of the minute.
    fn set_date(&mut self, word: usize, time_s: u64) {
        let since_s = time_s - EPOCH_S;
        self.set(word, (since_s / 86_400) as u32);
        self.set(word + 1, (since_s % 86_400 / 60) as u32);
        self.set(word + 2, (since_s % 60 * 50) as u32);
    }

    /// A byte of length, then the name.
    fn set_name(&mut self, word: usize, name: &str) {
        self.record.set_u8(word * 4, name.len() as u8).set(word * 4 + 1, name.as_bytes());
    }

    /// All words of the block sum up to zero.
    fn seal(mut self, checksum: usize) -> Record {
        let sum =
            (0..WORDS).fold(0_u32, |sum, word| sum.wrapping_add(self.record.u32_at(word * 4)));
        self.set(checksum, sum.wrapping_neg());
        self.record
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_come_with_the_twenty_sixth_bitmap_block() {
        let largest = BOOT_BLOCKS + 25 * BLOCKS_OF_BITMAP;
        assert_eq!(Layout::new(largest).extensions, 0);
        assert_eq!(Layout::new(largest + 1).extensions, 1);
        let two = largest + 127 * BLOCKS_OF_BITMAP;
        assert_eq!(Layout::new(two).extensions, 1);
        assert_eq!(Layout::new(two + 1).extensions, 2);
    }

    #[test]
    fn a_date_is_days_minutes_and_ticks() {
        let mut block = Block::default();
        block.set_date(0, EPOCH_S + 86_400 + 60 + 2);
        assert_eq!(&block.record.bytes()[..12], [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 100]);
    }
}
