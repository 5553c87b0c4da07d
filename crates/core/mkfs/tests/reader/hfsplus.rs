//! Reads an empty HFS+ or HFSX volume as TN1150 tells it: header, its copy, three special files,
//! the header nodes of two trees, and the one leaf of the catalog.

use pickfs_mkfs::Draft;

use super::{Bytes, Met, ones};

const BLOCK: u64 = 4096;

/// First block and count.
fn fork(header: &Bytes, at: usize) -> (u64, u64) {
    let (first, count) = (header.be32(at + 16), header.be32(at + 20));
    assert_eq!(header.be32(at + 12), count, "blocks of the file");
    assert_eq!(u64::from(header.be32(at + 4)), u64::from(count) * BLOCK, "its length");
    assert!(header.be32(at + 8) > 0, "its clump");
    (first.into(), count.into())
}

/// Gives back the free blocks.
pub fn check(draft: &Draft, size_bytes: u64, label: &str, signature: &[u8; 2]) -> u64 {
    let header = Bytes::of(draft, 1024, 512);
    assert_eq!(&header.0[..2], signature);
    assert_eq!(header.be16(2), if signature == b"HX" { 5 } else { 4 });
    assert!(header.0 == Bytes::of(draft, size_bytes - 1024, 512).0, "the copy at the end");
    let blocks = u64::from(header.be32(44));
    assert_eq!((u64::from(header.be32(40)), blocks), (BLOCK, size_bytes / BLOCK));
    assert!(header.be32(360) > 0, "clump of the absent attributes file");
    let mut met = Met::default();
    met.run(0, 1);
    let places = [112, 192, 272].map(|at| fork(&header, at));
    places.iter().for_each(|&(first, count)| met.run(first, count));
    met.run(blocks - 1, 1);
    assert_eq!(met.end(), blocks);
    let [allocation, extents, catalog] = places;
    check_extents(draft, extents);
    check_catalog(draft, catalog, label, signature == b"HX");
    let free = compare(draft, allocation, blocks, &met);
    assert_eq!(u64::from(header.be32(48)), free);
    free
}

/// Gives back node size, number of nodes, free ones.
fn tree(draft: &Draft, (first, count): (u64, u64)) -> (u64, u32, u32) {
    let head = Bytes::of(draft, first * BLOCK, 512);
    assert_eq!((head.0[8], head.be16(10)), (1, 3));
    let node = u64::from(head.be16(32));
    let (nodes, free) = (head.be32(36), head.be32(40));
    assert_eq!(u64::from(nodes) * node, count * BLOCK);
    let whole = Bytes::of(draft, first * BLOCK, node as usize);
    let end = node as usize;
    let offsets = [2, 4, 6, 8].map(|back| usize::from(whole.be16(end - back)));
    assert_eq!(offsets, [14, 120, 248, end - 8]);
    assert_eq!(ones(&whole.0[248..end - 8]), u64::from(nodes - free), "map of nodes");
    (node, nodes, free)
}

fn check_extents(draft: &Draft, place: (u64, u64)) {
    let (_, nodes, free) = tree(draft, place);
    assert_eq!(nodes - free, 1);
    let head = Bytes::of(draft, place.0 * BLOCK, 128);
    assert_eq!((head.be16(14), head.be32(16), head.be16(34), head.be32(52)), (0, 0, 10, 2));
}

fn check_catalog(draft: &Draft, place: (u64, u64), label: &str, is_x: bool) {
    let (node, nodes, free) = tree(draft, place);
    assert_eq!(nodes - free, 2);
    let head = Bytes::of(draft, place.0 * BLOCK, 128);
    assert_eq!([head.be32(16), head.be32(20), head.be32(24), head.be32(28)], [1, 2, 1, 1]);
    assert_eq!((head.be16(34), head.0[51], head.be32(52)), (516, if is_x { 0xbc } else { 0 }, 6));
    let leaf = Bytes::of(draft, place.0 * BLOCK + node, node as usize);
    assert_eq!((leaf.0[8], leaf.0[9], leaf.be16(10)), (0xff, 1, 2));
    let [first, second, end] = [2, 4, 6].map(|back| usize::from(leaf.be16(node as usize - back)));
    assert_eq!((leaf.be32(first + 2), name(&leaf, first + 6)), (1, label.into()));
    let folder = first + 2 + usize::from(leaf.be16(first));
    let flags = if is_x { 0x10 } else { 0 };
    assert_eq!((leaf.be16(folder), leaf.be16(folder + 2), leaf.be32(folder + 8)), (1, flags, 2));
    assert_eq!(folder + 88, second);
    assert_eq!((leaf.be32(second + 2), leaf.be16(second + 6)), (2, 0));
    let thread = second + 2 + usize::from(leaf.be16(second));
    assert_eq!((leaf.be16(thread), leaf.be32(thread + 4)), (3, 1));
    assert_eq!(name(&leaf, thread + 8), label);
    assert_eq!(end, thread + 10 + 2 * label.len());
}

fn name(leaf: &Bytes, at: usize) -> String {
    let units = (0..usize::from(leaf.be16(at))).map(|unit| leaf.be16(at + 2 + 2 * unit));
    String::from_utf16(&units.collect::<Vec<_>>()).unwrap()
}

fn compare(draft: &Draft, (first, count): (u64, u64), blocks: u64, met: &Met) -> u64 {
    let bits = Bytes::of(draft, first * BLOCK, (count * BLOCK) as usize).0;
    let free = met.free_bits(0, count * BLOCK * 8, blocks);
    let (inside, behind) = (blocks / 8, blocks % 8);
    for (at, (taken, free)) in bits.iter().zip(&free).enumerate() {
        let within = match (at as u64).cmp(&inside) {
            std::cmp::Ordering::Less => 0xff,
            std::cmp::Ordering::Equal => (1 << behind) - 1,
            std::cmp::Ordering::Greater => 0,
        };
        assert_eq!(taken.reverse_bits(), !free & within, "bits of block {} and on", at * 8);
    }
    ones(&free)
}
