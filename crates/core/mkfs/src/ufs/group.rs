use super::layout::{Form, Layout};
use super::{FRAGMENT_BYTES, FRAGMENTS};
use crate::claims::Claims;
use crate::kind::MADE_S;
use crate::record::Record;

/// Inodes 0 and 1 are never used, 2 is the root directory.
const INODES_TAKEN: u64 = 3;

#[derive(Debug)]
pub(super) struct Group {
    number: u64,
    fragments: u64,
    /// A set bit is a free fragment; a byte is a block.
    free: Vec<u8>,
    pub(super) directories: u64,
    pub(super) free_blocks: u64,
    pub(super) free_inodes: u64,
    /// Free fragments outside of free blocks.
    pub(super) free_fragments: u64,
    /// How many runs of so many free fragments there are within blocks.
    runs: [u32; FRAGMENTS as usize],
}

pub(super) fn count(number: u64, layout: &Layout, claims: &Claims) -> Group {
    let (first, end) = (layout.first_of(number), layout.end_of(number));
    let mut free = vec![0_u8; ((end - first) / FRAGMENTS) as usize];
    free.fill(0xff);
    for taken in claims.within(first..end).flatten() {
        let fragment = taken - first;
        free[(fragment / 8) as usize] &= !(1 << (fragment % 8));
    }
    let mut group = Group {
        number,
        fragments: end - first,
        directories: u64::from(number == 0),
        free_blocks: 0,
        free_inodes: layout.group_inodes - if number == 0 { INODES_TAKEN } else { 0 },
        free_fragments: 0,
        runs: [0; FRAGMENTS as usize],
        free: Vec::new(),
    };
    free.iter().for_each(|&block| group.count_block(block));
    group.free = free;
    group
}

impl Group {
    fn count_block(&mut self, bits: u8) {
        if bits == 0xff {
            self.free_blocks += 1;
            return;
        }
        self.free_fragments += u64::from(bits.count_ones());
        let mut rest = bits;
        while rest != 0 {
            rest >>= rest.trailing_zeros();
            let run = rest.trailing_ones();
            self.runs[run as usize] += 1;
            rest >>= run;
        }
    }

    /// `struct csum`: directories, free blocks, free inodes, free fragments.
    fn set_counts(&self, record: &mut Record, at: usize) {
        let counts = [self.directories, self.free_blocks, self.free_inodes, self.free_fragments];
        for (place, count) in counts.into_iter().enumerate() {
            record.set_u32(at + 4 * place, count as u32);
        }
    }
}

/// `struct cg` with its bitmaps behind it: inodes in use, then free fragments.
pub(super) fn record(group: &Group, layout: &Layout) -> Record {
    const MAGIC: u32 = 0x0009_0255;
    const FIXED: usize = 168;
    let mut cg = Record::little(layout.descriptor_bytes() as usize);
    cg.set_u32(4, MAGIC).set_u32(12, group.number as u32).set_u32(20, group.fragments as u32);
    group.set_counts(&mut cg, 24);
    for (length, &runs) in group.runs.iter().enumerate() {
        cg.set_u32(52 + 4 * length, runs);
    }
    let inode_map = match layout.form {
        Form::One => {
            // Two tables by cylinder that nobody reads any more: one cylinder, and no counts.
            cg.set_u32(8, MADE_S as u32);
            cg.set_u16(16, 1).set_u16(18, layout.group_inodes as u16);
            cg.set_u32(84, FIXED as u32).set_u32(88, FIXED as u32 + 4);
            FIXED + 6
        }
        Form::Two => {
            cg.set_u32(116, layout.group_inodes as u32).set_u32(120, layout.inodes_ready() as u32);
            cg.set_u64(136, MADE_S);
            FIXED
        }
    };
    let fragment_map = inode_map + layout.group_inodes.div_ceil(8) as usize;
    let end = fragment_map + layout.group_fragments.div_ceil(8) as usize;
    cg.set_u32(92, inode_map as u32).set_u32(96, fragment_map as u32).set_u32(100, end as u32);
    if group.number == 0 {
        (0..INODES_TAKEN).for_each(|inode| {
            cg.set_bit_low_first(inode_map, inode);
        });
    }
    cg.set(fragment_map, &group.free);
    cg
}

pub(super) fn summary(groups: &[Group], layout: &Layout) -> Record {
    let mut summary = Record::little((layout.summary_fragments() * FRAGMENT_BYTES) as usize);
    for (at, group) in groups.iter().enumerate() {
        group.set_counts(&mut summary, 16 * at);
    }
    summary
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_within_a_block_are_counted_by_their_length() {
        let layout = Layout::new(Form::One, 4 << 20);
        let mut group = count(0, &layout, &layout.claims());
        (group.free_fragments, group.runs) = (0, [0; 8]);
        group.count_block(0b1110_0101);
        assert_eq!((group.free_fragments, group.runs), (5, [0, 2, 0, 1, 0, 0, 0, 0]));
    }
}
