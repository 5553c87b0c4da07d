//! The superblock, `struct fs`: 1376 bytes in a fragment. UFS1 keeps some numbers twice, at the old
//! places and at those of UFS2, as FreeBSD does.

use super::group::Group;
use super::layout::{Form, Layout};
use super::{BLOCK_BYTES, FRAGMENT_BYTES, FRAGMENTS, SECTOR_BYTES};
use crate::kind::{ID, LABEL, MADE_S};
use crate::record::Record;

/// In an inode: direct, and by one to three levels.
const DIRECT: u64 = 12;
const LEVELS: u32 = 3;
/// Kept free for root, in per cent; FreeBSD's default.
const RESERVED_PERCENT: u32 = 8;

pub(super) fn record(layout: &Layout, groups: &[Group]) -> Record {
    let mut block = Record::little(FRAGMENT_BYTES as usize);
    set_places(&mut block, layout);
    set_sizes(&mut block, layout);
    set_limits(&mut block, layout);
    set_counts(&mut block, layout, groups);
    set_identity(&mut block, layout);
    if layout.form == Form::One {
        set_old_fields(&mut block, layout);
    }
    block
}

fn set_places(block: &mut Record, layout: &Layout) {
    block.set_u32(8, layout.copy as u32).set_u32(12, layout.descriptor as u32);
    block.set_u32(16, layout.inodes as u32).set_u32(20, layout.data as u32);
    block.set_u64(1000, layout.superblock_at()).set_u64(1096, layout.data);
}

fn set_sizes(block: &mut Record, layout: &Layout) {
    let (bytes, fragment) = (BLOCK_BYTES as u32, FRAGMENT_BYTES as u32);
    block.set_u32(44, layout.groups as u32).set_u32(48, bytes).set_u32(52, fragment);
    block.set_u32(56, FRAGMENTS as u32).set_u32(72, !(bytes - 1)).set_u32(76, !(fragment - 1));
    block.set_u32(80, bytes.trailing_zeros()).set_u32(84, fragment.trailing_zeros());
    block.set_u32(96, FRAGMENTS.trailing_zeros()).set_u32(104, fragment);
    block.set_u32(100, (FRAGMENT_BYTES / SECTOR_BYTES).trailing_zeros());
    block.set_u32(156, (layout.summary_fragments() * FRAGMENT_BYTES) as u32);
    block.set_u32(160, layout.descriptor_bytes() as u32);
    block.set_u32(184, layout.group_inodes as u32).set_u32(188, layout.group_fragments as u32);
    block.set_u32(860, bytes).set_u64(1080, layout.fragments).set_u64(1088, data_of(layout));
    block.set_u64(1336, BLOCK_BYTES - 1).set_u64(1344, FRAGMENT_BYTES - 1);
}

/// Fragments that can hold data: all but boot room, tables and counts. What lies before the tables
/// of a later group can.
fn data_of(layout: &Layout) -> u64 {
    let tables = layout.copy + layout.groups * (layout.data - layout.copy);
    layout.fragments - tables - layout.summary_fragments()
}

/// How much an inode can reach, and what the allocator may do. One block at a time (`fs_maxcontig`
/// 1) means that there are no maps of clusters.
fn set_limits(block: &mut Record, layout: &Layout) {
    let number_bytes = match layout.form {
        Form::One => 4,
        Form::Two => 8,
    };
    let numbers = BLOCK_BYTES / number_bytes;
    let reach: u64 = DIRECT + (1..=LEVELS).map(|level| numbers.pow(level)).sum::<u64>();
    block.set_u32(60, RESERVED_PERCENT).set_u32(88, 1).set_u32(92, numbers as u32);
    block.set_u32(116, numbers as u32).set_u32(120, layout.form.inodes_of_block() as u32);
    block.set_u32(1196, 16384).set_u32(1200, 64);
    block.set_u32(1320, ((DIRECT + u64::from(LEVELS)) * number_bytes) as u32);
    block.set_u32(1324, 2).set_u64(1328, reach * BLOCK_BYTES - 1);
}

fn set_counts(block: &mut Record, layout: &Layout, groups: &[Group]) {
    let total = |count: fn(&Group) -> u64| groups.iter().map(count).sum::<u64>();
    let counts = [
        total(|group| group.directories),
        total(|group| group.free_blocks),
        total(|group| group.free_inodes),
        total(|group| group.free_fragments),
    ];
    for (place, count) in counts.into_iter().enumerate() {
        block.set_u64(1008 + 8 * place, count);
        if layout.form == Form::One {
            block.set_u32(192 + 4 * place, count as u32);
        }
    }
}

/// Clean, with flags at their new place; who and when.
fn set_identity(block: &mut Record, layout: &Layout) {
    const CLEAN: u8 = 1;
    const FLAGS_MOVED: u8 = 0x80;
    let magic = match layout.form {
        Form::One => 0x0001_1954,
        Form::Two => 0x1954_0119,
    };
    block.set_u64(144, ID).set_u8(209, CLEAN).set_u8(211, FLAGS_MOVED);
    block.set(680, LABEL.as_bytes()).set_u64(1072, MADE_S);
    block.set_u32(1372, magic);
}

/// What only UFS1 has: a disk's geometry, of which one cylinder a group is left, and the old places.
fn set_old_fields(block: &mut Record, layout: &Layout) {
    let sectors = (layout.group_fragments * FRAGMENT_BYTES / SECTOR_BYTES) as u32;
    block.set_u32(28, u32::MAX).set_u32(32, MADE_S as u32);
    block.set_u32(36, layout.fragments as u32).set_u32(40, data_of(layout) as u32);
    block.set_u32(68, 60).set_u32(124, (FRAGMENT_BYTES / SECTOR_BYTES) as u32);
    block.set_u32(132, sectors).set_u32(136, 1).set_u32(152, layout.data as u32);
    block.set_u32(168, sectors).set_u32(172, sectors);
    block.set_u32(176, layout.groups as u32).set_u32(180, 1);
    block.set_u32(1356, 1).set_u32(1360, 1);
}
