//! Ratios of steps multiply to the whole, so the share of a step is its logarithm
//! over the logarithm of the whole. Shares are told only where the first and the last
//! run are apart; a step that worked against the whole has a share below zero. As in
//! [`crate::compare`], nothing is claimed: the runs share no block.

use pickfs_model::{RunRecord, finding::Spread, plan::Metric};
use serde::Serialize;

use crate::compare::{CellRatio, RunComparison, compare, subjects};

/// Runs in the order of the upgrades.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Chain {
    pub runs: Vec<String>,
    pub steps: Vec<ChainStep>,
    pub cells: Vec<CellChain>,
    /// Cells of the first run that some later one lacks: name, and why.
    pub uncompared: Vec<(String, String)>,
}

/// One upgrade.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct ChainStep {
    pub subjects: Vec<String>,
    pub comparison: RunComparison,
}

/// One metric of a cell through all runs.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct CellChain {
    /// Labels of the candidate, one where it never changed.
    pub labels: Vec<String>,
    pub levels: String,
    pub metric: Metric,
    /// Over the trials of each run.
    pub values: Vec<Spread>,
    /// Of each step: later median over earlier median.
    pub ratios: Vec<f64>,
    /// Last median over first median.
    pub whole: f64,
    /// No trial of the last run lies among the trials of the first.
    pub apart: bool,
    /// Share of each step in the whole, summing to 1; absent where the ends are not apart.
    pub shares: Option<Vec<f64>>,
}

pub fn chain(runs: &[&RunRecord]) -> Chain {
    let steps: Vec<ChainStep> = runs.windows(2).map(|pair| step(pair[0], pair[1])).collect();
    let mut found = Chain {
        runs: runs.iter().map(|run| run.name.clone()).collect(),
        cells: Vec::new(),
        uncompared: Vec::new(),
        steps: Vec::new(),
    };
    if let Some(first) = steps.first() {
        found.uncompared.extend(first.comparison.uncompared.clone());
        for cell in &first.comparison.cells {
            match followed(cell, &steps) {
                Ok(path) => found.cells.push(link(&path)),
                Err(run) => {
                    let name = format!("{} {}", cell.label, cell.levels).trim().to_string();
                    let why = format!("not comparable in {run}");
                    if !found.uncompared.iter().any(|(known, _)| *known == name) {
                        found.uncompared.push((name, why));
                    }
                }
            }
        }
    }
    found.steps = steps;
    found
}

fn step(here: &RunRecord, there: &RunRecord) -> ChainStep {
    let comparison = compare(here, there);
    let subjects = subjects(&comparison.changed).into_iter().map(String::from).collect();
    ChainStep { subjects, comparison }
}

fn followed<'s>(
    cell: &'s CellRatio,
    steps: &'s [ChainStep],
) -> Result<Vec<&'s CellRatio>, &'s str> {
    let mut path = vec![cell];
    for step in &steps[1..] {
        let last = path[path.len() - 1];
        let label = last.label_there.as_ref().unwrap_or(&last.label);
        let next = step.comparison.cells.iter().find(|next| {
            next.label == *label && next.levels == last.levels && next.metric == last.metric
        });
        path.push(next.ok_or(step.comparison.there.as_str())?);
    }
    Ok(path)
}

fn link(path: &[&CellRatio]) -> CellChain {
    let (first, last) = (path[0], path[path.len() - 1]);
    let ends = (first.here, last.there);
    let apart = ends.0.high < ends.1.low || ends.1.high < ends.0.low;
    let whole = ends.1.median / ends.0.median;
    let ratios: Vec<f64> = path.iter().map(|cell| cell.ratio).collect();
    let share = |ratio: &f64| ratio.ln() / whole.ln();
    let shares: Option<Vec<f64>> = apart.then(|| ratios.iter().map(share).collect());
    let mut labels = vec![first.label.clone()];
    labels.extend(path.iter().filter_map(|cell| cell.label_there.clone()));
    CellChain {
        labels,
        levels: first.levels.clone(),
        metric: first.metric.clone(),
        values: std::iter::once(first.here).chain(path.iter().map(|cell| cell.there)).collect(),
        ratios,
        whole,
        apart,
        shares: shares.filter(|shares| shares.iter().all(|share| share.is_finite())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pickfs_testkit::{FakeCandidate, FakeRun, fake_run};

    fn run(name: &str, candidate: &str, durable_us: f64, seed: u64) -> RunRecord {
        fake_run(&FakeRun {
            name: name.into(),
            seed,
            candidates: vec![FakeCandidate::new(candidate, 500.0, durable_us * 1e3)],
            reference: candidate.into(),
            syncs: vec!["fdatasync".into()],
            ..FakeRun::default()
        })
    }

    fn upgrades() -> [RunRecord; 3] {
        let old = run("old", "ext4", 400.0, 1);
        let mut kernel = run("kernel", "ext4", 200.0, 2);
        kernel.environment.put("kernel.release", "6.19.0");
        let mut other = run("xfs", "xfs", 100.0, 3);
        other.environment.put("kernel.release", "6.19.0");
        [old, kernel, other]
    }

    #[test]
    fn two_halvings_have_half_of_the_whole_each() {
        let runs = upgrades();
        let found = chain(&runs.each_ref());
        assert_eq!(found.runs, ["old", "kernel", "xfs"]);
        assert_eq!(found.steps[0].subjects, ["kernel"]);
        assert_eq!(found.steps[1].subjects, ["plan.candidate"]);
        let cell = &found.cells[0];
        assert_eq!(cell.labels, ["ext4", "xfs"]);
        assert!((cell.whole - 0.25).abs() < 0.05, "{}", cell.whole);
        let shares = cell.shares.as_ref().expect("the ends are apart");
        assert!((shares[0] - 0.5).abs() < 0.1, "{shares:?}");
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        let product: f64 = cell.ratios.iter().product();
        assert!((product - cell.whole).abs() < 1e-9);
        assert_eq!(cell.values.len(), 3);
    }

    #[test]
    fn ends_that_are_not_apart_have_no_shares() {
        let [old, kernel, _] = upgrades();
        let again = run("again", "ext4", 400.0, 4);
        let found = chain(&[&old, &kernel, &again]);
        assert!(!found.cells[0].apart && found.cells[0].shares.is_none());
        assert_eq!(found.cells[0].ratios.len(), 2);
    }

    #[test]
    fn a_step_with_two_changes_warns() {
        let [old, kernel, mut other] = upgrades();
        other.environment.put("cpu.model", "another");
        let found = chain(&[&old, &kernel, &other]);
        let mut subjects = found.steps[1].subjects.clone();
        subjects.sort();
        assert_eq!(subjects, ["cpu", "plan.candidate"]);
        let warnings = &found.steps[1].comparison.warnings;
        assert!(warnings.iter().any(|text| text.starts_with("2 things changed")), "{warnings:?}");
    }

    #[test]
    fn a_cell_that_a_later_run_lacks_is_named() {
        let (first, second) = (FakeRun::default(), FakeRun { seed: 8, ..FakeRun::default() });
        let (first, second, third) = (fake_run(&first), fake_run(&second), upgrades()[2].clone());
        let found = chain(&[&first, &second, &third]);
        assert!(found.cells.is_empty());
        assert!(found.uncompared.iter().any(|(name, why)| {
            name.starts_with("xfs:noatime") && why == "not comparable in xfs"
        }));
        assert!(chain(&[&first]).steps.is_empty());
    }
}
