//! UFS1 (as of 4.4BSD) and UFS2 (as of FreeBSD 5): the file system of the BSDs, in blocks of 32 KiB and
//! fragments of 4 KiB, low byte first.
//!
//! A volume is a row of cylinder groups of 128 MiB. A block number counts fragments.
//!
//! ```text
//! group 0   boot room, superblock: at 8 KiB in UFS1, at 64 KiB in UFS2
//! each      copy of the superblock, group descriptor with its bitmaps, inodes, data
//! group 0   first data: counts of every group, then the root directory
//! ```
//!
//! Linux looks for the superblock of UFS2 at 64 KiB and nowhere else; Debian's makefs puts it at
//! 8 KiB, and the inodes lie where Linux looks. Here it lies right from the start, so no inode has
//! to be taken out of use and all counts agree.
//!
//! Sources of the fields: `sys/ufs/ffs/fs.h`, `sys/ufs/ufs/dinode.h` and `sys/ufs/ufs/dir.h` of FreeBSD;
//! McKusick and others, *A Fast File System for UNIX*, ACM TOCS 1984; what Linux reads and insists on:
//! `fs/ufs/ufs_fs.h` and `ufs_fill_super`. Volumes of makefs were looked at beside ours.

mod group;
mod layout;
mod root;
mod superblock;

use layout::{Form, Layout};

use crate::draft::Draft;
use crate::error::MakeError;
use crate::kind::Kind;

/// The volume may end within a block, but not within a sector.
const SECTOR_BYTES: u64 = 512;
const MINIMUM_BYTES: u64 = 4 << 20;
/// Its groups have 40 MiB of descriptors, and a draft is held in memory.
const MAXIMUM_BYTES: u64 = 1 << 40;
/// The largest that Linux takes.
const FRAGMENT_BYTES: u64 = 4096;
const FRAGMENTS: u64 = 8;
/// As FreeBSD's newfs chooses.
const BLOCK_BYTES: u64 = FRAGMENT_BYTES * FRAGMENTS;

/// What does not fill a block, or a last group that has room for little more than its own tables,
/// is left over.
pub(crate) fn draft(kind: Kind, size_bytes: u64) -> Result<Draft, MakeError> {
    let form = if kind == Kind::Ufs { Form::One } else { Form::Two };
    kind.check_size(size_bytes, SECTOR_BYTES, MINIMUM_BYTES, MAXIMUM_BYTES)?;
    let layout = Layout::new(form, size_bytes);
    let claims = layout.claims();
    let mut draft = Draft::new(kind, FRAGMENT_BYTES as u32, layout.fragments);
    draft.free_blocks = layout.fragments - claims.count();
    let groups: Vec<_> = (0..layout.groups).map(|at| group::count(at, &layout, &claims)).collect();
    let block = superblock::record(&layout, &groups);
    draft.put(layout.superblock_at(), block.clone());
    for (at, group) in (0..layout.groups).zip(&groups) {
        let first = layout.first_of(at);
        draft.put_block(first + layout.copy, block.clone());
        draft.put_block(first + layout.descriptor, group::record(group, &layout));
        draft.zero_blocks(first + layout.inodes + u64::from(at == 0), layout.zeroed(at));
    }
    draft.put_block(layout.inodes, root::inodes(&layout));
    draft.put_block(layout.data, group::summary(&groups, &layout));
    draft.put_block(layout.root_directory(), root::directory());
    Ok(draft)
}
