//! Whatever the size: a reader that sees bytes alone finds its way through the volume, meets no
//! block twice, and the bitmaps and counts say exactly what it met.
//!
//! What tests here cannot say, a kernel did, by hand: the drivers of Linux 6.1.176 (user-mode Linux of
//! Debian 12) mounted such volumes writable, took 4 or 16 MiB and 500 files, were unmounted and
//! mounted again, and gave all of it back; statfs said the free blocks of the summary before. So it was with HPFS
//! of 9, 20, 256, 1100 and 5000 MiB (most with `check=strict`), AFFS of 60, 256 and 1100 MiB, HFS+ of
//! 257 and HFSX of 256 and 1500 MiB. Apple's fsck (540.1) found nothing on HFS+ and HFSX afterwards,
//! nor after a folder and a first extended attribute; xdfscan (amitools 0.8.1) nothing on AFFS.
//! UFS1 and UFS2 of 16 and 256 MiB went the same way with the driver built for writing.
#![allow(clippy::unwrap_used)]

mod reader;

use pickfs_mkfs::{Kind, MakeError};
use proptest::prelude::*;

fn holds(kind: Kind, sectors: u64) {
    let label = "pickfs";
    let size_bytes = sectors * 512;
    let draft = kind.draft(size_bytes).unwrap();
    let free = match kind {
        Kind::Affs => reader::affs::check(&draft, size_bytes, label),
        Kind::HfsPlus => reader::hfsplus::check(&draft, size_bytes, label, b"H+"),
        Kind::Hfsx => reader::hfsplus::check(&draft, size_bytes, label, b"HX"),
        Kind::Hpfs => reader::hpfs::check(&draft, size_bytes, label),
        Kind::Ufs => reader::ufs::check(&draft, size_bytes, label, false),
        Kind::Ufs2 => reader::ufs::check(&draft, size_bytes, label, true),
    };
    assert_eq!(free, draft.summary().free_blocks, "{kind} of {sectors} sectors");
    let end = draft.pieces().map(|(at, bytes)| at + bytes.len() as u64).max().unwrap();
    assert!(end <= size_bytes, "nothing is written beyond the end");
}

/// Sizes on both sides of every border: bands of HPFS, bitmap blocks of AFFS.
#[test]
fn volumes_at_the_borders_of_their_bitmaps_hold() {
    for bands in [1_u64, 2, 3, 128] {
        for odd in [-8, -4, -1, 0, 1, 4, 5, 8, 300] {
            holds(Kind::Hpfs, (bands * 0x4000).saturating_add_signed(odd));
        }
    }
    for bitmaps in [1_u64, 2, 24, 25, 26, 152, 153] {
        for odd in [-33, -32, -1, 0, 1, 2, 3, 31, 32, 33] {
            holds(Kind::Affs, (bitmaps * 4064).saturating_add_signed(odd));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn affs_of_any_size_holds(sectors in 440_u64..600_000) {
        holds(Kind::Affs, sectors);
    }

    #[test]
    fn hpfs_of_any_size_holds(sectors in 2048_u64..600_000) {
        holds(Kind::Hpfs, sectors);
    }

    #[test]
    fn hfsplus_and_hfsx_of_any_size_hold(sectors in 2048_u64..4_000_000) {
        holds(Kind::HfsPlus, sectors);
        holds(Kind::Hfsx, sectors);
    }

    #[test]
    fn ufs_of_any_size_holds(sectors in 8192_u64..3_000_000) {
        holds(Kind::Ufs, sectors);
        holds(Kind::Ufs2, sectors);
    }

    #[test]
    fn no_size_makes_a_draft_fail_but_with_words(
        sectors in 0_u64..(1 << 21), odd_bytes in prop_oneof![3 => Just(0_u64), 1 => 1..512_u64]
    ) {
        for kind in Kind::ALL {
            if let Err(error) = kind.draft(512 * sectors + odd_bytes) {
                prop_assert!(error.to_string().contains(kind.name()), "{}", error);
            }
        }
    }
}

/// The bitmap of HFS+ fills its blocks of 4 KiB at each 128 MiB.
#[test]
fn hfsplus_at_the_borders_of_its_bitmap_holds() {
    for odd in [-9, -8, -7, -2, -1, 0, 1, 2, 7, 8] {
        holds(Kind::HfsPlus, (1_u64 << 18).saturating_add_signed(odd));
    }
}

/// Groups of UFS have 128 MiB; a last one needs room for its tables and a block.
#[test]
fn ufs_at_the_borders_of_its_groups_holds() {
    for fragments in [32_760_u64, 32_768, 32_769, 33_000, 33_056, 33_360, 33_400, 65_536, 66_176] {
        holds(Kind::Ufs, fragments * 8);
        holds(Kind::Ufs2, fragments * 8 + 3);
    }
}

#[test]
fn bounds_are_told_with_the_value_and_the_way_out() {
    let draft = |size_bytes| Kind::Hpfs.draft(size_bytes).unwrap_err();
    assert_eq!(
        draft(512).to_string(),
        "512 bytes are too few for hpfs; give it at least 1048576 or choose another file system"
    );
    assert!(matches!(draft(1 << 40), MakeError::TooLarge { maximum_bytes: 68719476736, .. }));
}
