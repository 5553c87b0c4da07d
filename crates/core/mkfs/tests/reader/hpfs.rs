//! Reads an empty HPFS volume as the kernel does: super block, spare block, directory of bitmaps,
//! root fnode, root dnode.

use pickfs_mkfs::Draft;

use super::{Bytes, Met, ones};

const SECTOR: u64 = 512;
const BAND: u64 = 0x4000;

fn sectors(draft: &Draft, number: u64, count: u64) -> Bytes {
    Bytes::of(draft, number * SECTOR, (count * SECTOR) as usize)
}

/// Gives back the free sectors.
pub fn check(draft: &Draft, size_bytes: u64, label: &str) -> u64 {
    let block = sectors(draft, 16, 1);
    assert_eq!((block.le32(0), block.le32(4)), (0xf995_e849, 0xfa53_e9c5));
    assert_eq!(block.0[8..10], [2, 2]);
    let size = u64::from(block.le32(16));
    assert_eq!(size, size_bytes / SECTOR / 4 * 4);
    check_boot(&sectors(draft, 0, 1), size, label);
    let mut met = Met::default();
    met.run(0, 20);
    let quad = |met: &mut Met, at: usize| {
        let sector = u64::from(block.le32(at));
        assert_eq!(sector % 4, 0, "a structure of four sectors begins at {sector}");
        met.run(sector, 4);
        sector
    };
    quad(&mut met, 32);
    let dnode_bits = sectors(draft, quad(&mut met, 60), 4);
    met.run(block.le32(96).into(), 8);
    let hot_fixes = u64::from(check_spare(&sectors(draft, 17, 1)));
    met.run(hot_fixes, 4);
    let (count, first) = (u64::from(block.le32(48)), u64::from(block.le32(52)));
    assert_eq!(u64::from(block.le32(56)), first + count - 1);
    assert!(count <= 0x4000 && count % 4 == 0 && first % 4 == 0);
    met.run(first, count);
    let root = check_root(draft, u64::from(block.le32(12)), &mut met);
    assert_eq!(root, first, "the root dnode is the first of its band");
    assert!(ones(&dnode_bits.0) == count / 4 - 1 && dnode_bits.0[0] & 1 == 0);
    compare_bands(draft, u64::from(block.le32(24)), size, &mut met)
}

fn check_boot(boot: &Bytes, size: u64, label: &str) {
    let (short, long) = (u64::from(boot.le16(19)), u64::from(boot.le32(32)));
    assert_eq!(if short == 0 { long } else { short }, size);
    assert_eq!((boot.0[38], boot.le16(510)), (0x28, 0xaa55));
    assert_eq!(&boot.0[54..62], b"HPFS    ");
    assert_eq!(boot.0[43..54], *format!("{label:11}").as_bytes());
}

fn check_spare(block: &Bytes) -> u32 {
    assert_eq!((block.le32(0), block.le32(4)), (0xf991_1849, 0xfa52_29c5));
    assert_eq!(block.0[8], 0, "clean");
    assert_eq!(block.le32(12) % 4, 0);
    block.le32(12)
}

/// Gives back where the dnode is.
fn check_root(draft: &Draft, at: u64, met: &mut Met) -> u64 {
    met.run(at, 4);
    let fnode = sectors(draft, at, 1);
    assert_eq!((fnode.le32(0), u64::from(fnode.le32(28))), (0xf7e4_0aae, at));
    assert_eq!(fnode.le16(54), 0x100);
    assert_eq!((fnode.0[60], fnode.0[61], fnode.le16(62)), (7, 1, 20));
    let dnode_at = u64::from(fnode.le32(72));
    let dnode = sectors(draft, dnode_at, 4);
    assert_eq!((dnode.le32(0), dnode.0[8] & 1), (0x77e4_0aae, 1));
    assert_eq!((u64::from(dnode.le32(12)), u64::from(dnode.le32(16))), (at, dnode_at));
    let second = 20 + usize::from(dnode.le16(20));
    assert_eq!((dnode.0[22], &dnode.0[51..53]), (1, [1, 1].as_slice()), "the entry for itself");
    assert_eq!((dnode.0[second + 2], dnode.0[second + 31]), (8, 0xff), "the last entry");
    let end = second + usize::from(dnode.le16(second));
    assert_eq!(dnode.le32(4) as usize, end);
    dnode_at
}

fn compare_bands(draft: &Draft, directory_at: u64, size: u64, met: &mut Met) -> u64 {
    let bands = size.div_ceil(BAND);
    let directory_sectors = (bands * 4).div_ceil(SECTOR).next_multiple_of(4);
    met.run(directory_at, directory_sectors);
    let directory = sectors(draft, directory_at, directory_sectors);
    let places: Vec<u64> =
        (0..bands).map(|band| directory.le32(band as usize * 4).into()).collect();
    for place in &places {
        assert_eq!(place % 4, 0, "a bitmap begins at {place}");
        met.run(*place, 4);
    }
    assert!(met.end() <= size);
    let bands = places.iter().enumerate();
    bands.map(|(band, &place)| compare(&sectors(draft, place, 4), band as u64, size, met)).sum()
}

fn compare(bits: &Bytes, band: u64, size: u64, met: &Met) -> u64 {
    assert!(bits.0 == met.free_bits(band * BAND, BAND, size), "bitmap of band {band}");
    ones(&bits.0)
}
