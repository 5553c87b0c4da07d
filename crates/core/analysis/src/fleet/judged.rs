//! Hosts as units of the one decision, and how far they differ.

use crate::decide::{Decision, Rules, of_pairs};

/// Blocks with the logarithms of their ratios.
pub(super) type Series = Vec<(u32, f64)>;
/// By candidate, then by opponent.
pub(super) type Pairs = Vec<Vec<Series>>;

/// Blocks that a host needs for its own variance to be known at all.
const BLOCKS_OF_VARIANCE: usize = 4;

pub(super) struct Verdict {
    pub(super) fleet: Decision,
    pub(super) hosts: Vec<Decision>,
}

/// Of hosts in an order that no result has chosen. The error is that of all hosts together, and once more of the fleet.
pub(super) fn judge(hosts: Vec<Pairs>, rules: Rules) -> Verdict {
    let count = hosts.len();
    let share = Rules { alpha: rules.alpha / count.max(1) as f64, ..rules };
    let candidates = hosts.iter().map(Vec::len).max().unwrap_or(0);
    let hosts: Vec<Decision> =
        hosts.into_iter().map(|pairs| of_pairs(pairs, share, Vec::new())).collect();
    let units = |a: usize, b: usize| -> Series {
        let unit = |(number, host): (u32, &Decision)| {
            let duel = host.duel(a, b);
            // A host on which each failed in half of the blocks says nothing.
            (duel.blocks > 0 && !duel.ratio.is_nan()).then(|| (number, duel.ratio.ln()))
        };
        (1..).zip(&hosts).filter_map(unit).collect()
    };
    let all = 0..candidates;
    let pairs = all.clone().map(|a| all.clone().map(|b| units(a, b)).collect()).collect();
    let fleet = of_pairs(pairs, Rules { planned: count as u32, ..rules }, Vec::new());
    Verdict { fleet, hosts }
}

/// Standard deviation between hosts beyond what their blocks explain, and its share of the variance (R. DerSimonian and
/// N. Laird, "Meta-analysis in clinical trials", 1986). A variance of few blocks is known badly, and one over it too
/// large on average: by (n - 1) / (n - 3) for normal noise, which is taken back.
pub(super) fn spread_between(hosts: &[&[(u32, f64)]]) -> Option<(f64, f64)> {
    let weighed = |series: &&[(u32, f64)]| {
        let logs: Vec<f64> =
            series.iter().map(|(_, ratio)| *ratio).filter(|ratio| ratio.is_finite()).collect();
        let count = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / count;
        let variance = logs.iter().map(|ratio| (ratio - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let weight = count * (count - 3.0) / ((count - 1.0) * variance);
        (logs.len() >= BLOCKS_OF_VARIANCE && weight.is_finite()).then_some((weight, mean))
    };
    let each: Vec<(f64, f64)> = hosts.iter().filter_map(weighed).collect();
    let freedom = each.len().checked_sub(1).filter(|freedom| *freedom > 0)? as f64;
    let sum: f64 = each.iter().map(|(weight, _)| weight).sum();
    let middle = each.iter().map(|(weight, mean)| weight * mean).sum::<f64>() / sum;
    let apart: f64 = each.iter().map(|(weight, mean)| weight * (mean - middle).powi(2)).sum();
    let scale = sum - each.iter().map(|(weight, _)| weight * weight).sum::<f64>() / sum;
    let beyond = (apart - freedom).max(0.0);
    Some(((beyond / scale).sqrt(), if apart > 0.0 { beyond / apart } else { 0.0 }))
}
