//! A run with a known answer: the plan compares a candidate with itself under a second name
//! (its label ends in `-again`) and with a copy that is slowed by a known ratio (`-slowed`).
//! The first comparison must hold "no difference", the second one the planted ratio; the
//! first one's precision is the smallest difference that this machine can resolve.

use pickfs_record::{
    Findings, RunRecord,
    finding::{Claim, Comparison},
};
use serde::Serialize;

use crate::wording::{metric_name, percent_over_one, times};

pub const AGAIN: &str = "-again";
pub const SLOWED: &str = "-slowed";

/// What a trust run says of lab and machine.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Trust {
    /// The same candidate under two names; absent where it could not be compared.
    pub same: Option<Check>,
    pub slowed: Option<Check>,
    /// Smallest ratio over 1 that this machine resolves with this many blocks.
    pub smallest_ratio: Option<f64>,
    /// Both intervals held the truth; absent where there were too few blocks.
    pub kept_word: Option<bool>,
    pub sentences: Vec<String>,
}

/// One comparison with its known truth.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Check {
    pub comparison: Comparison,
    /// The true speedup: 1, or 1 over the planted ratio.
    pub truth: f64,
    /// The interval holds the truth; absent without an interval.
    pub covers: Option<bool>,
    pub claimed: bool,
}

/// Judges a trust run by its first primary metric; any other run is none.
pub fn trust(run: &RunRecord, findings: &Findings) -> Option<Trust> {
    let is_there = |ending: &str| {
        let label = format!("{}{ending}", run.plan.design.reference);
        run.plan.candidates.iter().any(|candidate| candidate.label == label)
    };
    if !is_there(AGAIN) || !is_there(SLOWED) {
        return None;
    }
    let planted_ratio = planted_ratio(run);
    let first = run.plan.design.primary.first();
    let find = |ending: &str| {
        let all = findings.panels.iter().flat_map(|panel| &panel.comparisons);
        let mut primary = all.filter(|comparison| Some(&comparison.metric) == first);
        primary.find(|comparison| comparison.primary && comparison.other.ends_with(ending))
    };
    let same = find(AGAIN).map(|comparison| check(comparison, 1.0));
    let slowed = find(SLOWED).map(|comparison| check(comparison, 1.0 / planted_ratio));
    let kept_word = match (&same, &slowed) {
        (Some(same), Some(slowed)) => both(same.covers, slowed.covers),
        _ => None,
    };
    let mut trust = Trust {
        smallest_ratio: same.as_ref().and_then(|same| half_width(&same.comparison)),
        same,
        slowed,
        kept_word,
        sentences: Vec::new(),
    };
    trust.sentences = sentences(&trust, planted_ratio);
    Some(trust)
}

/// How much longer the plan makes every operation of the slowed copy, 1.1 for ten per cent: its largest slowdown.
fn planted_ratio(run: &RunRecord) -> f64 {
    let slowdowns = run.cells.iter().filter_map(|cell| cell.workload.params.get("slowdown"));
    slowdowns.filter_map(serde_json::Value::as_f64).fold(1.0, f64::max)
}

fn both(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    Some(one? && other?)
}

fn check(comparison: &Comparison, truth: f64) -> Check {
    let covers = comparison.interval.map(|(low, high)| low <= truth && truth <= high);
    let claimed = matches!(comparison.claim, Claim::Faster | Claim::Slower);
    Check { comparison: comparison.clone(), truth, covers, claimed }
}

/// The tie's own visible ratio, else the longer arm of the interval.
fn half_width(comparison: &Comparison) -> Option<f64> {
    let (low, high) = comparison.interval?;
    Some((high / comparison.speedup).max(comparison.speedup / low))
}

fn sentences(trust: &Trust, planted_ratio: f64) -> Vec<String> {
    let mut sentences = Vec::new();
    if let Some(ratio) = trust.smallest_ratio {
        let blocks = trust.same.as_ref().map_or(0, |same| same.comparison.blocks);
        sentences.push(format!(
            "The smallest difference that this machine resolves with {blocks} blocks is about {}.",
            percent_over_one(ratio)
        ));
    }
    sentences.extend(trust.same.as_ref().map(same_text));
    sentences.extend(trust.slowed.as_ref().map(|check| slowed_text(check, planted_ratio)));
    sentences.push(match trust.kept_word {
        Some(true) => "Both intervals held the truth.".into(),
        Some(false) => {
            "An interval missed the truth: one in twenty does by chance; repeat the run, and do \
             not believe this machine if it happens again."
                .into()
        }
        None => "Too few blocks for intervals: nothing can be said of their word.".into(),
    });
    sentences
}

fn interval_text(comparison: &Comparison) -> String {
    match comparison.interval {
        Some((low, high)) => format!("{} [{low:.2}, {high:.2}]", times(comparison.speedup)),
        None => format!("{} without an interval", times(comparison.speedup)),
    }
}

fn same_text(check: &Check) -> String {
    let found = interval_text(&check.comparison);
    let alarm = if check.claimed { ", a false alarm" } else { "" };
    let metric = metric_name(&check.comparison.metric);
    format!("The same candidate under two names: {metric} {found}{alarm}.")
}

fn slowed_text(check: &Check, planted_ratio: f64) -> String {
    let found = interval_text(&check.comparison);
    let seen = match check.comparison.claim {
        Claim::Slower => "it was seen",
        Claim::Faster => "it was seen the wrong way round",
        Claim::Equal { .. } => "it was called equal",
        Claim::Open => "too few blocks to claim it",
    };
    let planted = percent_over_one(planted_ratio);
    format!("A planted slowdown of {planted} (speedup {:.2}): {found}; {seen}.", check.truth)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings;
    use pickfs_testkit::{FakeCandidate, FakeRun, fake_run};

    fn judged(blocks: u32, noise: f64, [slowdown, told]: [f64; 2]) -> Trust {
        let named = |label: &str, factor: f64| {
            let mut candidate = FakeCandidate::new("ext4", 500.0 * factor, 150_000.0 * factor);
            candidate.spec = candidate.spec.labelled(label);
            FakeCandidate { noise, ..candidate }
        };
        let mut run = fake_run(&FakeRun {
            blocks,
            candidates: vec![
                named("ext4", 1.0),
                named("ext4-again", 1.0),
                named("ext4-slowed", slowdown),
            ],
            reference: "ext4".into(),
            ..FakeRun::default()
        });
        assert_eq!(
            trust(&run, &findings(&run)).map(|trust| trust.kept_word.is_some()),
            Some(blocks > 3)
        );
        run.cells[2].workload.params.insert("slowdown".into(), told.into());
        trust(&run, &findings(&run)).expect("a trust run")
    }

    #[test]
    fn a_quiet_machine_sees_ten_per_cent_and_keeps_its_word() {
        let trust = judged(12, 0.02, [1.1, 1.1]);
        assert_eq!(trust.kept_word, Some(true), "{:?}", trust.sentences);
        assert!(trust.smallest_ratio.expect("twelve blocks") < 1.05);
        let (same, slowed) = (trust.same.expect("again"), trust.slowed.expect("slowed"));
        assert!(!same.claimed && slowed.claimed);
        assert_eq!(slowed.truth, 1.0 / 1.1);
        assert!(trust.sentences[2].ends_with("it was seen."), "{:?}", trust.sentences);
    }

    #[test]
    fn a_noisy_machine_says_that_it_cannot_see_it() {
        let trust = judged(12, 0.3, [1.1, 1.1]);
        assert!(trust.smallest_ratio.expect("twelve blocks") > 1.1);
        assert!(!trust.slowed.expect("slowed").claimed);
    }

    #[test]
    fn a_lie_about_what_was_planted_is_found_out() {
        let trust = judged(12, 0.02, [1.1, 1.5]);
        assert_eq!(trust.kept_word, Some(false));
    }

    #[test]
    fn three_blocks_are_too_few() {
        let trust = judged(3, 0.02, [1.1, 1.1]);
        assert_eq!((trust.kept_word, trust.smallest_ratio), (None, None));
        assert!(trust.sentences.last().is_some_and(|text| text.starts_with("Too few blocks")));
    }
}
