//! Every byte of a small volume of each kind, as text: what changes there is seen in a review.
//! Runs of equal lines are folded into a `*`, as hexdump(1) does it.
#![allow(clippy::unwrap_used)]

use pickfs_mkfs::{Draft, Kind};

const LINE_BYTES: usize = 32;

fn dump(draft: &Draft) -> String {
    let mut text = format!("{}\n", draft.summary());
    for (offset, bytes) in draft.pieces() {
        text.push_str(&format!("{offset:#x}: {} bytes\n", bytes.len()));
        text.push_str(&lines(bytes));
    }
    for (offset, length) in draft.zeros() {
        text.push_str(&format!("{offset:#x}: {length} zeros\n"));
    }
    text
}

fn lines(bytes: &[u8]) -> String {
    let mut text = String::new();
    let mut before: Option<&[u8]> = None;
    let mut is_folded = false;
    for (at, line) in bytes.chunks(LINE_BYTES).enumerate() {
        if before == Some(line) {
            if !std::mem::replace(&mut is_folded, true) {
                text.push_str("  *\n");
            }
            continue;
        }
        (before, is_folded) = (Some(line), false);
        let hex: String = line.iter().map(|byte| format!("{byte:02x}")).collect();
        text.push_str(&format!("  {:05x} {}\n", at * LINE_BYTES, hex.trim_end_matches("00")));
    }
    text
}

fn drafted(kind: Kind, size_bytes: u64) -> String {
    dump(&kind.draft(size_bytes).unwrap())
}

#[test]
fn affs_with_an_extension_of_its_bitmaps() {
    insta::assert_snapshot!(drafted(Kind::Affs, 56 << 20));
}

#[test]
fn hpfs_with_a_band_that_ends_early() {
    insta::assert_snapshot!(drafted(Kind::Hpfs, 20 << 20));
}

#[test]
fn hfsplus_of_two_mib_and_a_bit() {
    insta::assert_snapshot!(drafted(Kind::HfsPlus, (2 << 20) + 1536));
}

#[test]
fn hfsx_of_two_mib() {
    insta::assert_snapshot!(drafted(Kind::Hfsx, 2 << 20));
}

#[test]
fn ufs_of_four_mib() {
    insta::assert_snapshot!(drafted(Kind::Ufs, 4 << 20));
}

#[test]
fn ufs2_of_two_groups() {
    insta::assert_snapshot!(drafted(Kind::Ufs2, (128 << 20) + (4 << 20)));
}
