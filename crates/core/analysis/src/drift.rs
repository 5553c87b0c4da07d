//! The rank test of H. B. Mann (1945) and M. G. Kendall counts how many pairs rise.
//! Its spread is exact for untied values; the tail is the normal one with continuity
//! correction, good from about eight values on. A notice, never a claim: blocks
//! already keep drift from falling on one candidate.

use std::collections::BTreeMap;

use pickfs_record::{RunRecord, finding::Notice, plan::Metric};

use crate::{
    panels::{Disturbed, Group},
    summary::{median, metric_value},
};

/// A drift that is worth a notice changes by at least this ratio over 1. The raw device of a loop image spreads by a
/// tenth by itself, and blocks keep ratios free of such a change.
pub const DRIFT_RATIO: f64 = 1.2;
pub const VALUES_MIN: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// Pairs that rise minus pairs that fall.
    pub score: i64,
    pub p: f64,
    /// Median of the last third over the median of the first third.
    pub ratio: f64,
}

impl Trend {
    pub fn is_notable(&self) -> bool {
        self.p <= 0.05 && !(1.0 / DRIFT_RATIO..=DRIFT_RATIO).contains(&self.ratio)
    }
}

/// Tests a series of positive values in time order; absent under five of them.
pub fn trend(values: &[f64]) -> Option<Trend> {
    let values: Vec<f64> = values.iter().copied().filter(|v| v.is_finite() && *v > 0.0).collect();
    let n = values.len();
    if n < VALUES_MIN {
        return None;
    }
    let pairs = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j)));
    let score: i64 = pairs.map(|(i, j)| sign(values[j] - values[i])).sum();
    let variance = (n * (n - 1) * (2 * n + 5)) as f64 / 18.0;
    let z = (score.unsigned_abs().saturating_sub(1)) as f64 / variance.sqrt();
    let third = (n / 3).max(1);
    let ratio = median(&values[n - third..]) / median(&values[..third]);
    Some(Trend { score, p: two_sided(z), ratio })
}

fn sign(value: f64) -> i64 {
    i64::from(value > 0.0) - i64::from(value < 0.0)
}

/// Two-sided tail of the normal distribution beyond `z` (Abramowitz and Stegun 26.2.17).
fn two_sided(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z.abs());
    let series = [0.319_381_530, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
    let sum = series.iter().rev().fold(0.0, |sum, term| (sum + term) * t);
    (2.0 * sum * (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt()).min(1.0)
}

/// Notices of drift: of the blocks, each cell measured against its own median, and of the raw device.
pub fn notices(run: &RunRecord, groups: &[Group<'_>], headline: Option<&Metric>) -> Vec<Notice> {
    let blocks = headline.and_then(|metric| trend(&block_levels(groups, metric)));
    let raw: Vec<f64> =
        run.trials.iter().filter_map(|t| t.raw.as_ref()).map(|raw| raw.p50_ns as f64).collect();
    let found = [("the candidates", blocks), ("the raw device", trend(&raw))];
    found
        .into_iter()
        .filter_map(|(what, trend)| Some((what, trend.filter(Trend::is_notable)?)))
        .map(|(what, trend)| Notice {
            kind: "drift".into(),
            text: format!(
                "{what} ran at {:.2} times the early values in the last third of the run",
                trend.ratio
            ),
            trials: 0,
        })
        .collect()
}

/// Level of each block: the median over cells of value over the cell's own median.
fn block_levels(groups: &[Group<'_>], metric: &Metric) -> Vec<f64> {
    let mut levels: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for member in groups.iter().flat_map(|group| &group.members) {
        let values: Vec<(u32, f64)> = member
            .chosen(Disturbed::Kept)
            .into_iter()
            .filter_map(|trial| Some((trial.block, metric_value(trial, metric)?)))
            .collect();
        let own = median(&values.iter().map(|(_, value)| *value).collect::<Vec<_>>());
        for (block, value) in values {
            levels.entry(block).or_default().push(value / own);
        }
    }
    levels.values().map(|values| median(values)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten rising values: 45 pairs rise, variance 10 x 9 x 25 / 18 = 125, z = 44 / sqrt(125).
    #[test]
    fn ten_rising_values_by_hand() {
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        let trend = trend(&values).expect("ten values");
        assert_eq!((trend.score, trend.ratio), (45, 9.0 / 2.0));
        assert!((trend.p - 8.30e-5).abs() < 1e-6, "{}", trend.p);
        assert!(trend.is_notable());
    }

    #[test]
    fn a_device_that_slows_by_a_tenth_is_no_doubt_and_by_a_half_is_one() {
        let slower = |by: f64| trend(&[1.0, 1.01, 1.02, 1.03, 1.04, by, by + 0.01, by + 0.02]);
        assert!(slower(1.1).is_some_and(|trend| trend.p < 0.05 && !trend.is_notable()));
        assert!(slower(1.5).is_some_and(|trend| trend.is_notable()));
    }

    #[test]
    fn a_level_series_is_no_drift() {
        let trend = trend(&[5.0, 5.0, 5.0, 5.0, 5.0, 5.0]).expect("six values");
        assert_eq!(trend.score, 0);
        assert!(trend.p > 0.99 && !trend.is_notable());
        assert_eq!(super::trend(&[1.0, 2.0, f64::NAN, 3.0, 0.0]), None);
    }
}
