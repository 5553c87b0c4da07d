//! Reads an empty UFS volume as fsck would: superblock, its copies, each group's descriptor, the root's
//! inode and directory; then compares bitmaps and all counts, in groups, summary and superblock.

use pickfs_mkfs::Draft;

use super::{Bytes, Met, ones};

const FRAGMENT: u64 = 4096;

struct Form {
    at: u64,
    magic: u32,
    inode: usize,
    inode_map: usize,
}

const ONE: Form = Form { at: 8 << 10, magic: 0x1_1954, inode: 128, inode_map: 174 };
const TWO: Form = Form { at: 64 << 10, magic: 0x1954_0119, inode: 256, inode_map: 168 };

/// Directories, free blocks, free inodes, free fragments.
type Counts = [u64; 4];

/// Gives back the free fragments.
pub fn check(draft: &Draft, size_bytes: u64, label: &str, is_two: bool) -> u64 {
    let form = if is_two { TWO } else { ONE };
    let block = Bytes::of(draft, form.at, FRAGMENT as usize);
    let number = |at: usize| u64::from(block.le32(at));
    assert_eq!((block.le32(1372), block.le64(1000)), (form.magic, form.at));
    assert_eq!((number(48), number(52), number(56)), (32768, FRAGMENT, 8));
    assert_eq!(&block.0[680..680 + label.len()], label.as_bytes());
    assert_eq!(block.0[209], 1, "clean");
    let (size, groups, of_group) = (block.le64(1080), number(44), number(188));
    assert!(size * FRAGMENT <= size_bytes && size.div_ceil(of_group) == groups);
    let mut met = Met::default();
    let summary = block.le64(1096);
    let summary_count = number(156) / FRAGMENT;
    met.run(0, number(20));
    assert_eq!(summary, number(20));
    met.run(summary, summary_count);
    for group in 1..groups {
        met.run(group * of_group + number(8), number(20) - number(8));
    }
    let root = check_root(draft, number(16) * FRAGMENT + 2 * form.inode as u64, is_two);
    met.run(root, 1);
    assert!(met.end() <= size);
    let (data, tables) = (block.le64(1088), number(8) + groups * (number(20) - number(8)));
    assert_eq!(data, size - tables - summary_count);
    let mut total = [0; 4];
    for group in 0..groups {
        let base = group * of_group;
        let copy = Bytes::of(draft, (base + number(8)) * FRAGMENT, FRAGMENT as usize);
        assert!(copy.0 == block.0, "copy in group {group}");
        let cg = Bytes::of(draft, (base + number(12)) * FRAGMENT, number(160) as usize);
        let end = size.min(base + of_group);
        let counts = check_group(&cg, group, (base, end), number(184), &form, &met);
        let listed = Bytes::of(draft, summary * FRAGMENT + 16 * group, 16);
        assert_eq!([0, 4, 8, 12].map(|at| u64::from(listed.le32(at))), counts);
        (0..4).for_each(|at| total[at] += counts[at]);
    }
    assert_eq!([1008, 1016, 1024, 1032].map(|at| block.le64(at)), total);
    if !is_two {
        assert_eq!([192, 196, 200, 204].map(number), total);
        assert_eq!((number(36), number(40), number(152)), (size, data, summary));
    }
    assert_eq!(total[0], 1, "the root is the only directory");
    total[1] * 8 + total[3]
}

/// Gives back its fragment.
fn check_root(draft: &Draft, at: u64, is_two: bool) -> u64 {
    let inode = Bytes::of(draft, at, 256);
    assert_eq!((inode.le16(0), inode.le16(2)), (0o040_755, 2));
    let (size, sectors, fragment) = match is_two {
        true => (inode.le64(16), inode.le64(24), inode.le64(112)),
        false => (inode.le64(8), u64::from(inode.le32(104)), u64::from(inode.le32(40))),
    };
    assert_eq!((size, sectors), (512, 8));
    let names = Bytes::of(draft, fragment * FRAGMENT, 512);
    assert_eq!((names.le32(0), names.le16(4), &names.0[6..10]), (2, 12, b"\x04\x01.\0".as_slice()));
    assert_eq!((names.le32(12), names.le16(16)), (2, 500));
    assert_eq!(&names.0[18..23], b"\x04\x02..\0");
    fragment
}

fn check_group(
    cg: &Bytes,
    group: u64,
    (base, end): (u64, u64),
    inodes: u64,
    form: &Form,
    met: &Met,
) -> Counts {
    assert_eq!((cg.le32(4), u64::from(cg.le32(12))), (0x9_0255, group));
    assert_eq!(u64::from(cg.le32(20)), end - base);
    let (inode_map, map) = (cg.le32(92) as usize, cg.le32(96) as usize);
    assert_eq!((inode_map, map), (form.inode_map, form.inode_map + (inodes / 8) as usize));
    let count = if form.inode == 256 { u64::from(cg.le32(116)) } else { cg.le16(18).into() };
    assert_eq!(count, inodes);
    let used = ones(&cg.0[inode_map..map]);
    assert_eq!((used, cg.0[inode_map]), if group == 0 { (3, 7) } else { (0, 0) });
    let bits = &cg.0[map..map + ((end - base) / 8) as usize];
    assert!(bits == met.free_bits(base, end - base, end), "bitmap of group {group}");
    let whole = bits.iter().filter(|&&block| block == 0xff).count() as u64;
    let counts = [u64::from(group == 0), whole, inodes - used, ones(bits) - whole * 8];
    assert_eq!([24, 28, 32, 36].map(|at| u64::from(cg.le32(at))), counts);
    let in_runs: u64 =
        (1..8).map(|length| length * u64::from(cg.le32(52 + 4 * length as usize))).sum();
    assert_eq!(in_runs, counts[3]);
    counts
}
