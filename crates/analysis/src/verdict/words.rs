//! The phrases of a verdict: claims, ties, levels, backings.

use pickfs_model::{
    BackingKind,
    finding::{Claim, Comparison, Row},
};

use crate::wording::{blocks_text, interval_text, level_text, list, percent_over_one, times};

/// A comparison in words; numbers stand only where the claim is the comparison's own.
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
        Claim::Tie { visible_ratio } => tie_text(comparison, visible_ratio, same),
        Claim::NotClaimed => format!("{other} is not judged ({})", blocks_text(comparison.blocks)),
    }
}

/// What a row survives, without the condition on the device.
pub fn survival(row: &Row) -> String {
    let text = row.durability.to_string();
    text.split(',').next().unwrap_or(&text).to_string()
}

/// ` (intervals at 95 %)`, where one is printed.
pub fn levels_text(compared: &[&Comparison]) -> String {
    let mut levels: Vec<String> = Vec::new();
    for comparison in compared {
        let claimed = matches!(comparison.claim, Claim::Faster | Claim::Slower);
        let level = level_text(comparison.level);
        if claimed && comparison.interval.is_some() && !levels.contains(&level) {
            levels.push(level);
        }
    }
    if levels.is_empty() { String::new() } else { format!(" (intervals at {})", list(&levels)) }
}

fn tie_text(comparison: &Comparison, visible_ratio: f64, same: bool) -> String {
    let visible = percent_over_one(visible_ratio);
    let holm = match comparison.interval {
        Some((low, high)) if same && (low > 1.0 || high < 1.0) => {
            "; by itself its interval leaves out 1, after Holm's correction it does not decide"
        }
        _ => "",
    };
    format!(
        "{} and {} are tied at this precision (a difference under {visible} could not be seen{holm})",
        comparison.other, comparison.reference
    )
}

/// A backing with what it is good for.
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
