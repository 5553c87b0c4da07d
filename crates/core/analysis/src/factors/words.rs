use pickfs_record::finding::{Claim, Effect, Factor, FactorDesign, FactorFindings};

use super::matters;
use crate::wording::{blocks_text, list, metric_name, percent_over_one, times};

const NAMED: usize = 3;

pub(super) fn sentences(found: &FactorFindings, family: usize, needed: u32) -> Vec<String> {
    let mut sentences = vec![headline(found, family, needed)];
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
    let mut said = found.factors.iter().flat_map(|factor| &factor.effects);
    if said.clone().all(|effect| effect.claim == Claim::Open) {
        if said.next().is_none() {
            return format!(
                "Nothing is claimed of the factors of {place}: no block holds every \
                 combination with one amount of work."
            );
        }
        let needed = needed.max(found.blocks + 1);
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
