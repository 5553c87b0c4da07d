//! HPFS: the High Performance File System of OS/2, in sectors of 512 bytes.
//!
//! ```text
//! sector 0         boot block: looks like that of FAT
//!       16, 17     super block, spare block
//!       20         bitmap of band 0; every band of 8 MiB has one of 4 sectors,
//!                  even bands at their beginning, odd ones at their end
//!       24         bitmap of the directory band
//!       28, 32     list of bad blocks, map of hot fixes: both empty
//!       36         8 sectors for user ids: empty
//!       44         root directory's fnode
//!       48 ...     directory of bitmaps: a word for each band
//! in the middle    directory band: room for dnodes; the root's is its first
//! ```
//!
//! Sources of the fields: Duncan, *Design Goals and Implementation of the New High Performance File
//! System*, Microsoft Systems Journal, September 1989; what is known beyond it stands in
//! `fs/hpfs/hpfs.h` of Linux, and what the driver insists on in `hpfs_fill_super`, `hpfs_map_dnode`
//! and `hpfs_map_fnode`. It reads four sectors at a time wherever a structure has four, so all of
//! these begin at a multiple of four. Numbers have their low byte first.
//!
//! There is no code page, no hot-fix spare and no spare dnode: Linux needs none of them. OS/2 was
//! not asked.

use crate::claims::Claims;
use crate::draft::Draft;
use crate::error::MakeError;
use crate::kind::{ID, Kind, LABEL, MADE_S};
use crate::record::Record;

const SECTOR_BYTES: u64 = 512;
/// Most structures have four sectors.
const QUAD: u64 = 4;
/// Sectors that one bitmap counts: 8 MiB.
const BAND: u64 = 0x4000;
/// Of a structure of four sectors.
const QUAD_BYTES: usize = 2048;

/// Less would be directory band only.
const MINIMUM_BYTES: u64 = 1 << 20;
/// What OS/2 makes; the driver counts to 1 TiB.
const MAXIMUM_BYTES: u64 = 64 << 30;

const SUPER_BLOCK: u64 = 16;
const SPARE_BLOCK: u64 = 17;
const FIRST_BITMAP: u64 = 20;
const DNODE_BITMAP: u64 = 24;
const BAD_BLOCKS: u64 = 28;
const HOT_FIXES: u64 = 32;
const USER_IDS: u64 = 36;
const USER_ID_SECTORS: u64 = 8;
const ROOT_FNODE: u64 = 44;
const BITMAP_DIRECTORY: u64 = 48;

/// In sectors.
struct Layout {
    sectors: u64,
    bands: u64,
    /// Of the directory of bitmaps.
    directory: u64,
    /// First sector of the directory band, and how many it has.
    dnodes: u64,
    dnode_sectors: u64,
}

impl Layout {
    fn new(sectors: u64) -> Self {
        let bands = sectors.div_ceil(BAND);
        let directory = (bands * 4).div_ceil(SECTOR_BYTES).next_multiple_of(QUAD);
        let mut layout = Self { sectors, bands, directory, dnodes: 0, dnode_sectors: 0 };
        (layout.dnodes, layout.dnode_sectors) = layout.directory_band();
        layout
    }

    fn band_end(&self, band: u64) -> u64 {
        self.sectors.min((band + 1) * BAND)
    }

    fn bitmap(&self, band: u64) -> u64 {
        match band {
            0 => FIRST_BITMAP,
            even if even % 2 == 0 => even * BAND,
            odd => self.band_end(odd) - QUAD,
        }
    }

    /// From the last even band up to the middle, a hundredth of the volume, but no further than to
    /// the next bitmap, and no more than 8 MiB: the driver refuses more.
    fn directory_band(&self) -> (u64, u64) {
        let band = (self.sectors / 2 / BAND) & !1;
        let start = match band {
            0 => (BITMAP_DIRECTORY + self.directory).next_multiple_of(64),
            band => self.bitmap(band) + QUAD,
        };
        let run_end = match band + 1 {
            none if none == self.bands => self.sectors,
            odd => self.bitmap(odd),
        };
        let wanted = (self.sectors / 100).clamp(256, BAND) & !(QUAD - 1);
        (start, wanted.min(run_end - start))
    }

    fn claims(&self) -> Claims {
        let mut claims = Claims::default();
        claims.take(0, FIRST_BITMAP);
        for quad in [DNODE_BITMAP, BAD_BLOCKS, HOT_FIXES] {
            claims.take(quad, QUAD);
        }
        claims.take(USER_IDS, USER_ID_SECTORS);
        claims.take(ROOT_FNODE, QUAD);
        claims.take(BITMAP_DIRECTORY, self.directory);
        claims.take(self.dnodes, self.dnode_sectors);
        (0..self.bands).for_each(|band| claims.take(self.bitmap(band), QUAD));
        claims
    }
}

/// Up to three sectors at the end stay unused.
pub(crate) fn draft(size_bytes: u64) -> Result<Draft, MakeError> {
    Kind::Hpfs.check_size(size_bytes, SECTOR_BYTES, MINIMUM_BYTES, MAXIMUM_BYTES)?;
    let layout = Layout::new((size_bytes / SECTOR_BYTES) & !(QUAD - 1));
    let claims = layout.claims();
    let mut draft = Draft::new(Kind::Hpfs, SECTOR_BYTES as u32, layout.sectors);
    draft.free_blocks = layout.sectors - claims.count();
    draft.put_block(0, boot_block(&layout));
    draft.put_block(SUPER_BLOCK, super_block(&layout));
    draft.put_block(SPARE_BLOCK, spare_block());
    draft.put_block(DNODE_BITMAP, dnode_bitmap(&layout));
    draft.put_block(BAD_BLOCKS, [0; QUAD_BYTES]);
    draft.put_block(HOT_FIXES, [0; QUAD_BYTES]);
    draft.put_block(USER_IDS, [0; (USER_ID_SECTORS * SECTOR_BYTES) as usize]);
    draft.put_block(ROOT_FNODE, root_fnode(&layout));
    draft.put_block(BITMAP_DIRECTORY, bitmap_directory(&layout));
    draft.put_block(layout.dnodes, root_dnode(&layout));
    for band in 0..layout.bands {
        draft.put_block(layout.bitmap(band), band_bitmap(band, &layout, &claims));
    }
    Ok(draft)
}

/// `hpfs_boot_block`; the fields up to 36 are those of a FAT boot block.
fn boot_block(layout: &Layout) -> Record {
    let mut boot = Record::little(SECTOR_BYTES as usize);
    let short = u16::try_from(layout.sectors).unwrap_or(0);
    boot.set(0, &[0xeb, 0x3c, 0x90]).set(3, b"PICKFS  ");
    boot.set_u16(11, SECTOR_BYTES as u16).set_u8(13, 1).set_u16(14, 1);
    boot.set_u16(19, short).set_u8(21, 0xf8).set_u16(24, 63).set_u16(26, 255);
    boot.set_u32(32, if short == 0 { layout.sectors as u32 } else { 0 });
    boot.set_u8(36, 0x80).set_u8(38, 0x28).set_u32(39, ID as u32);
    boot.set(43, format!("{:11}", LABEL).as_bytes()).set(54, b"HPFS    ");
    boot.set_u16(510, 0xaa55);
    boot
}

/// `hpfs_super_block`. The driver writes to functional versions 2 and 3 only.
fn super_block(layout: &Layout) -> Record {
    let mut block = Record::little(SECTOR_BYTES as usize);
    block.set_u32(0, 0xf995_e849).set_u32(4, 0xfa53_e9c5).set_u8(8, 2).set_u8(9, 2);
    block.set_u32(12, ROOT_FNODE as u32).set_u32(16, layout.sectors as u32);
    block.set_u32(24, BITMAP_DIRECTORY as u32).set_u32(32, BAD_BLOCKS as u32);
    block.set_u32(40, MADE_S as u32);
    block.set_u32(48, layout.dnode_sectors as u32).set_u32(52, layout.dnodes as u32);
    block.set_u32(56, (layout.dnodes + layout.dnode_sectors - 1) as u32);
    block.set_u32(60, DNODE_BITMAP as u32);
    block.set(64, LABEL.as_bytes()).set_u32(96, USER_IDS as u32);
    block
}

/// `hpfs_spare_block`: clean, and nothing in it but the map of hot fixes.
fn spare_block() -> Record {
    let mut block = Record::little(SECTOR_BYTES as usize);
    block.set_u32(0, 0xf991_1849).set_u32(4, 0xfa52_29c5).set_u32(12, HOT_FIXES as u32);
    block
}

fn bitmap_directory(layout: &Layout) -> Record {
    let mut directory = Record::little((layout.directory * SECTOR_BYTES) as usize);
    for band in 0..layout.bands {
        directory.set_u32(band as usize * 4, layout.bitmap(band) as u32);
    }
    directory
}

/// A set bit is a free sector, the first one the lowest bit of the first byte. What lies beyond the
/// end of the volume is taken.
fn band_bitmap(band: u64, layout: &Layout, claims: &Claims) -> Vec<u8> {
    let (first, end) = (band * BAND, layout.band_end(band));
    let mut bits = vec![0_u8; QUAD_BYTES];
    let mut next = first;
    let mut mark_free = |from: u64, to: u64| {
        for bit in from - first..to - first {
            bits[(bit / 8) as usize] |= 1 << (bit % 8);
        }
    };
    for taken in claims.within(first..end) {
        mark_free(next, taken.start);
        next = taken.end;
    }
    mark_free(next, end);
    bits
}

/// A bit for each dnode of the directory band; the first is the root's.
fn dnode_bitmap(layout: &Layout) -> Record {
    let mut bits = Record::little(QUAD_BYTES);
    for dnode in 1..layout.dnode_sectors / QUAD {
        bits.set_bit_low_first(0, dnode);
    }
    bits
}

/// `struct fnode` of the root directory: its one extent is the root dnode, and 7 of 8 places are
/// free, the first of them 20 bytes into the tree. Room for extended attributes begins at 196.
fn root_fnode(layout: &Layout) -> Record {
    const IS_DIRECTORY: u16 = 0x100;
    const TREE: usize = 56;
    let mut fnode = Record::little(SECTOR_BYTES as usize);
    fnode.set_u32(0, 0xf7e4_0aae).set_u32(28, ROOT_FNODE as u32).set_u16(54, IS_DIRECTORY);
    fnode.set_u8(TREE + 4, 7).set_u8(TREE + 5, 1).set_u16(TREE + 6, 20);
    fnode.set_u32(TREE + 12, QUAD as u32).set_u32(TREE + 16, layout.dnodes as u32);
    fnode.set_u16(184, 196);
    fnode
}

/// `struct dnode` of an empty root directory: an entry for itself, and the one that ends each dnode.
fn root_dnode(layout: &Layout) -> Record {
    const IS_FIRST: u8 = 1;
    const IS_LAST: u8 = 8;
    const IS_DIRECTORY: u8 = 0x10;
    let made_s = MADE_S as u32;
    let mut itself = entry(IS_FIRST, &[1, 1]);
    itself.set_u8(3, IS_DIRECTORY).set_u32(4, ROOT_FNODE as u32);
    itself.set_u32(8, made_s).set_u32(16, made_s).set_u32(20, made_s);
    let last = entry(IS_LAST, &[0xff]);
    let entries = [itself.bytes(), last.bytes()].concat();
    let mut dnode = Record::little(QUAD_BYTES);
    dnode.set_u32(0, 0x77e4_0aae).set_u32(4, 20 + entries.len() as u32).set_u8(8, 1);
    dnode.set_u32(12, ROOT_FNODE as u32).set_u32(16, layout.dnodes as u32).set(20, &entries);
    dnode
}

/// `struct hpfs_dirent`: 31 bytes and the name, padded to whole words.
fn entry(flags: u8, name: &[u8]) -> Record {
    let length = (31 + name.len()).next_multiple_of(4);
    let mut entry = Record::little(length);
    entry.set_u16(0, length as u16).set_u8(2, flags).set_u8(30, name.len() as u8).set(31, name);
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bitmaps_stand_at_the_beginning_of_even_and_at_the_end_of_odd_bands() {
        let layout = Layout::new(4 * BAND + 400);
        let found: Vec<_> = (0..layout.bands).map(|band| layout.bitmap(band)).collect();
        assert_eq!(found, [20, 2 * BAND - 4, 2 * BAND, 4 * BAND - 4, 4 * BAND]);
        let odd_and_partial = Layout::new(BAND + 400);
        assert_eq!(odd_and_partial.bitmap(1), BAND + 396);
    }

    #[test]
    fn the_directory_band_lies_between_bitmaps_whatever_the_size() {
        for sectors in (2048..(1 << 21)).step_by(1236) {
            let layout = Layout::new(sectors & !3);
            let _ = layout.claims();
            assert!((256..=BAND).contains(&layout.dnode_sectors), "{sectors}");
            assert!(layout.dnodes + layout.dnode_sectors <= layout.sectors, "{sectors}");
        }
    }
}
