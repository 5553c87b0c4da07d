use pickfs_record::{
    BackingKind,
    finding::{Claim, Comparison, Row},
};

use crate::wording::{blocks_text, interval_text, percent_over_one, times};

pub fn claim_text(comparison: &Comparison, claim: Claim) -> String {
    let Comparison { reference, other, speedup, interval, .. } = comparison;
    let same = claim == comparison.claim;
    let range = |low: f64, high: f64| format!(" {}", interval_text(low, high));
    match claim {
        Claim::Faster if same => {
            let range = interval.map_or(String::new(), |(low, high)| range(low, high));
            format!("{other} is faster than {reference} by {}{range}", times(*speedup))
        }
        Claim::Slower if same => {
            let range = interval.map_or(String::new(), |(low, high)| range(1.0 / high, 1.0 / low));
            format!("{other} is slower than {reference} by {}{range}", times(1.0 / speedup))
        }
        Claim::Faster => format!("{other} is faster than {reference}"),
        Claim::Slower => format!("{other} is slower than {reference}"),
        Claim::Equal { margin } => {
            let margin = percent_over_one(1.0 + margin);
            format!("{other} and {reference} are equal within {margin}")
        }
        Claim::Open => {
            format!("{other} is not told from {reference} ({})", blocks_text(comparison.blocks))
        }
    }
}

pub fn survival(row: &Row) -> String {
    let text = row.durability.to_string();
    text.split(',').next().unwrap_or(&text).to_string()
}

pub fn backing_text(backing: BackingKind) -> &'static str {
    match backing {
        BackingKind::Disk => "block device",
        BackingKind::LoopImage => "loop image: relative, not absolute",
        BackingKind::RamImage => "loop image in RAM: the software path without flush or device",
        BackingKind::GuestImage => "image of a guest kernel: compares within its engine only",
        BackingKind::Memory => "memory: no device, no durability",
        BackingKind::Directory => "existing directory: not comparable with fresh file systems",
    }
}
