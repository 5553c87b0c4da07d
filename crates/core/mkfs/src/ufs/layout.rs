//! Where everything of a UFS volume lies, in fragments; the bytes are made by its neighbours.

use super::{BLOCK_BYTES, FRAGMENT_BYTES, FRAGMENTS};
use crate::claims::Claims;

/// Whatever it needs of it.
const SUPERBLOCK_BYTES: u64 = 8192;
/// Fragments: 128 MiB. Its bitmaps stay within a block.
const GROUP: u64 = 32768;
/// So many bytes of a volume get an inode, as with FreeBSD's newfs for blocks of 32 KiB / 2.
const BYTES_OF_INODE: u64 = 16384;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// 32-bit block numbers, inodes of 128 bytes.
    One,
    /// 64-bit block numbers, inodes of 256 bytes.
    Two,
}

impl Form {
    pub(super) fn inode_bytes(self) -> u64 {
        match self {
            Form::One => 128,
            Form::Two => 256,
        }
    }

    pub(super) fn inodes_of_block(self) -> u64 {
        BLOCK_BYTES / self.inode_bytes()
    }
}

/// Places count from the first fragment of a group, where nothing else is said.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub(super) form: Form,
    pub(super) fragments: u64,
    pub(super) groups: u64,
    pub(super) group_fragments: u64,
    pub(super) group_inodes: u64,
    /// `fs_sblkno`
    pub(super) copy: u64,
    /// `fs_cblkno`
    pub(super) descriptor: u64,
    /// `fs_iblkno`
    pub(super) inodes: u64,
    /// What is behind the inodes, `fs_dblkno`.
    pub(super) data: u64,
}

impl Layout {
    pub(super) fn new(form: Form, size_bytes: u64) -> Self {
        let whole = size_bytes / BLOCK_BYTES * FRAGMENTS;
        let group_fragments = GROUP.min(whole);
        let wanted = group_fragments * FRAGMENT_BYTES / BYTES_OF_INODE;
        let group_inodes = wanted.next_multiple_of(form.inodes_of_block());
        let blocks_for = |bytes: u64| bytes.div_ceil(BLOCK_BYTES) * FRAGMENTS;
        let copy = blocks_for(superblock_at(form) + SUPERBLOCK_BYTES);
        let descriptor = copy + blocks_for(SUPERBLOCK_BYTES);
        let inodes = descriptor + FRAGMENTS;
        let data = inodes + group_inodes * form.inode_bytes() / FRAGMENT_BYTES;
        let rest = whole % group_fragments;
        let fragments = if rest < data + FRAGMENTS { whole - rest } else { whole };
        let groups = fragments.div_ceil(group_fragments);
        Self {
            form,
            fragments,
            groups,
            group_fragments,
            group_inodes,
            copy,
            descriptor,
            inodes,
            data,
        }
    }

    /// In bytes from the beginning of the volume.
    pub(super) fn superblock_at(&self) -> u64 {
        superblock_at(self.form)
    }

    /// In the volume.
    pub(super) fn first_of(&self, group: u64) -> u64 {
        group * self.group_fragments
    }

    /// The fragment after the last one, in the volume.
    pub(super) fn end_of(&self, group: u64) -> u64 {
        self.fragments.min((group + 1) * self.group_fragments)
    }

    /// Of the counts of all groups: four numbers of 32 bits each.
    pub(super) fn summary_fragments(&self) -> u64 {
        (self.groups * 16).div_ceil(FRAGMENT_BYTES)
    }

    /// In the volume.
    pub(super) fn root_directory(&self) -> u64 {
        self.data + self.summary_fragments()
    }

    /// With its two bitmaps: 168 bytes, in UFS1 6 more.
    pub(super) fn descriptor_bytes(&self) -> u64 {
        let maps = self.group_inodes.div_ceil(8) + self.group_fragments.div_ceil(8);
        (174 + maps).next_multiple_of(FRAGMENT_BYTES)
    }

    /// Zeroed now; those of UFS2 are made when they are needed.
    pub(super) fn inodes_ready(&self) -> u64 {
        match self.form {
            Form::One => self.group_inodes,
            Form::Two => self.group_inodes.min(2 * self.form.inodes_of_block()),
        }
    }

    /// Without the first of group 0, which holds the root's.
    pub(super) fn zeroed(&self, group: u64) -> u64 {
        self.inodes_ready() * self.form.inode_bytes() / FRAGMENT_BYTES - u64::from(group == 0)
    }

    /// Boot room and tables; what lies before the tables of a later group is free.
    pub(super) fn claims(&self) -> Claims {
        let mut claims = Claims::default();
        claims.take(0, self.root_directory() + 1);
        for group in 1..self.groups {
            claims.take(self.first_of(group) + self.copy, self.data - self.copy);
        }
        claims
    }
}

fn superblock_at(form: Form) -> u64 {
    match form {
        Form::One => 8 << 10,
        Form::Two => 64 << 10,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_last_group_without_room_is_left_over() {
        let layout = |fragments: u64| Layout::new(Form::Two, fragments * FRAGMENT_BYTES);
        let data = layout(GROUP).data;
        assert_eq!(layout(GROUP + data).fragments, GROUP);
        assert_eq!(layout(GROUP + data + FRAGMENTS).fragments, GROUP + data + FRAGMENTS);
        assert_eq!(layout(GROUP + data + FRAGMENTS).groups, 2);
    }

    #[test]
    fn a_descriptor_fits_its_block_and_the_tables_begin_with_blocks() {
        for form in [Form::One, Form::Two] {
            for mebibytes in [4, 5, 127, 128, 129, 300] {
                let layout = Layout::new(form, mebibytes << 20);
                assert!(layout.descriptor_bytes() <= BLOCK_BYTES);
                let places = [layout.copy, layout.descriptor, layout.inodes, layout.data];
                assert!(places.iter().all(|place| place % FRAGMENTS == 0));
                assert!(layout.root_directory() < layout.group_fragments);
            }
        }
    }
}
