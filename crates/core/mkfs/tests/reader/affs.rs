//! Reads an empty AFFS volume as the kernel does: from the device's size to the root block, from
//! there to the bitmaps, in words of 32 bits.

use pickfs_mkfs::Draft;

use super::{Bytes, Met, ones};

const BLOCK: u64 = 512;

fn block(draft: &Draft, number: u64) -> Bytes {
    Bytes::of(draft, number * BLOCK, BLOCK as usize)
}

fn sum(block: &Bytes) -> u32 {
    (0..128).fold(0, |sum: u32, word| sum.wrapping_add(block.be32(word * 4)))
}

/// Gives back the free blocks.
pub fn check(draft: &Draft, size_bytes: u64, label: &str) -> u64 {
    let blocks = size_bytes / BLOCK;
    assert_eq!(Bytes::of(draft, 0, 4).0, b"DOS\x03");
    let root_at = (2 + blocks - 1) / 2;
    let root = block(draft, root_at);
    assert_eq!(sum(&root), 0, "checksum of the root block");
    assert_eq!((root.be32(0), root.be32(12), root.be32(508)), (2, 72, 1));
    assert!((6..78).all(|word| root.be32(word * 4) == 0), "the root directory is empty");
    assert_eq!(root.be32(78 * 4), u32::MAX, "bitmaps are valid");
    assert_eq!(&root.0[432..433 + label.len()], [&[label.len() as u8], label.as_bytes()].concat());
    let mut met = Met::default();
    met.run(0, 2);
    met.run(root_at, 1);
    let bitmaps = bitmaps(draft, &root, (blocks - 2).div_ceil(4064), &mut met);
    assert!(met.end() <= blocks);
    bitmaps
        .iter()
        .enumerate()
        .map(|(index, bits)| {
            let first = 2 + index as u64 * 4064;
            compare(bits, first, blocks, &met)
        })
        .sum()
}

fn bitmaps(draft: &Draft, root: &Bytes, count: u64, met: &mut Met) -> Vec<Bytes> {
    let mut places: Vec<u64> = (79..104).map(|word| root.be32(word * 4).into()).collect();
    let mut next = u64::from(root.be32(104 * 4));
    while next != 0 {
        met.run(next, 1);
        let extension = block(draft, next);
        places.extend((0..127).map(|word| u64::from(extension.be32(word * 4))));
        next = extension.be32(127 * 4).into();
    }
    let used: Vec<u64> = places.into_iter().take_while(|&place| place != 0).collect();
    assert_eq!(used.len() as u64, count);
    used.iter()
        .map(|&place| {
            met.run(place, 1);
            let bits = block(draft, place);
            assert_eq!(sum(&bits), 0, "checksum of bitmap block {place}");
            bits
        })
        .collect()
}

fn compare(bits: &Bytes, first: u64, blocks: u64, met: &Met) -> u64 {
    let words = bits.0[4..].chunks_exact(4);
    let low_first: Vec<u8> = words.flat_map(|word| word.iter().rev().copied()).collect();
    assert!(low_first == met.free_bits(first, 4064, blocks), "bitmap of block {first} and on");
    ones(&low_first)
}
