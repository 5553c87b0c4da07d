use pickfs_record::finding::{Claim, Effect, Factor, FactorDesign, FactorFindings};

use super::matters;
use crate::wording::{blocks_text, interval_text, list, metric_name, percent_over_one, times};

const NAMED: usize = 3;

pub(super) fn sentences(found: &FactorFindings, family: usize, needed: u32) -> Vec<String> {
    let mut sentences = vec![headline(found, family, needed)];
    sentences.extend(found.factors.iter().filter(|factor| matters(factor)).map(claimed));
    sentences.extend(interactions(found));
    let mixed: Vec<&str> =
        found.factors.iter().filter(|f| f.is_mixed).map(|f| f.name.as_str()).collect();
    if !mixed.is_empty() {
        sentences.push(format!("Not all levels of {} survive the same.", list(&mixed)));
    }
    sentences
}

fn headline(found: &FactorFindings, family: usize, needed: u32) -> String {
    let place = format!("{} over {}", metric_name(&found.metric), design(found));
    let said = found.factors.iter().flat_map(|factor| &factor.effects);
    if said.into_iter().all(|effect| effect.claim == Claim::Open) {
        return format!(
            "Nothing is claimed of the factors of {place}: {} ran, and the {family} main \
             effects need {needed} at least to be told from chance.",
            blocks_text(found.blocks)
        );
    }
    let strong = found.factors.iter().filter(|factor| matters(factor));
    let moved = |factor: &Factor| match factor.spread.is_finite() {
        true => format!("{} by up to {}", factor.name, times(factor.spread)),
        false => format!("{}, of which a level failed in most blocks", factor.name),
    };
    let mut parts: Vec<String> = strong.map(moved).collect();
    if parts.is_empty() {
        parts.push("nothing that could be told from chance".into());
    }
    let weak: Vec<String> =
        found.factors.iter().filter(|factor| !matters(factor)).map(unseen).collect();
    let weak = if weak.is_empty() { String::new() } else { format!("; {}", weak.join("; ")) };
    format!("What moves {place}: {}{weak}.", parts.join(", then "))
}

fn design(found: &FactorFindings) -> String {
    let kind = match found.design {
        FactorDesign::FullFactorial => "every combination",
        FactorDesign::OneAtATime => "one factor at a time",
        FactorDesign::Partial => "some combinations",
    };
    format!("{} cells ({kind})", found.cells)
}

fn unseen(factor: &Factor) -> String {
    let name = &factor.name;
    let margins = factor.effects.iter().map(|effect| match effect.claim {
        Claim::Equal { margin } => Some(margin),
        _ => None,
    });
    match margins.reduce(|a, b| Some(a?.max(b?))).flatten() {
        Some(margin) => format!("{name}: no difference over {}", percent_over_one(1.0 + margin)),
        None => format!("{name}: not decided"),
    }
}

/// `sync, against none: fdatasync slower by 350x [340, 360]`.
fn claimed(factor: &Factor) -> String {
    let parts: Vec<String> = factor.effects.iter().map(effect_text).collect();
    format!("{}, against {}: {}.", factor.name, factor.base, parts.join("; "))
}

fn effect_text(effect: &Effect) -> String {
    let level = effect.levels.first().map_or("", |level| level.value.as_str());
    let range = |low: f64, high: f64| format!(" {}", interval_text(low, high));
    match (effect.claim, effect.interval) {
        (Claim::Faster, _) if effect.speedup == f64::INFINITY => {
            format!("{level} faster, the other failed in most blocks")
        }
        (Claim::Slower, _) if effect.speedup == 0.0 => format!("{level} failed in most blocks"),
        (Claim::Faster, interval) => {
            let range = interval.map_or(String::new(), |(low, high)| range(low, high));
            format!("{level} faster by {}{range}", times(effect.speedup))
        }
        (Claim::Slower, interval) => {
            let range = interval.map_or(String::new(), |(low, high)| range(1.0 / high, 1.0 / low));
            format!("{level} slower by {}{range}", times(1.0 / effect.speedup))
        }
        (Claim::Equal { margin }, _) => {
            format!("{level} equal within {}", percent_over_one(1.0 + margin))
        }
        (Claim::Open, _) => format!("{level} not decided ({})", blocks_text(effect.blocks)),
    }
}

fn interactions(found: &FactorFindings) -> Option<String> {
    if found.interactions_seen == 0 {
        return None;
    }
    let seen = found.interactions_seen;
    if found.interactions.is_empty() {
        return Some(format!("Of {seen} pairs of levels none is seen to depend on each other."));
    }
    let named: Vec<String> = found.interactions.iter().take(NAMED).map(together).collect();
    let more = match found.interactions.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!("; {more} more"),
    };
    Some(format!(
        "Factors depend on each other (exploratory; of {seen} pairs of levels one in twenty shows \
         this by chance): {}{more}.",
        named.join("; ")
    ))
}

/// `candidate=xfs with sync=fdatasync 1.30x faster than the two alone say`.
fn together(effect: &Effect) -> String {
    let parts: Vec<String> =
        effect.levels.iter().map(|level| format!("{}={}", level.axis, level.value)).collect();
    let (word, ratio) = match effect.speedup >= 1.0 {
        true => ("faster", effect.speedup),
        false => ("slower", 1.0 / effect.speedup),
    };
    format!("{} {} {word} than the two alone say", parts.join(" with "), times(ratio))
}
