//! Experiments whose truth is known: how often each method is wrong.
//!
//! Shared by the example (which prints the tables) and by `tests/calibration.rs`
//! (which holds the bounds with fewer experiments).

use pickfs_analysis::{ALPHA, BLOCKS_MIN, holm, sequential::Sequential, signflip::SignFlip};
use pickfs_testkit::{Shape, Simulation, simulate};

/// Noise of a trial in these experiments: ten per cent.
pub const NOISE: f64 = 0.1;

/// What came of many experiments with planned blocks.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fixed {
    /// Share of experiments without a difference in which one was claimed.
    pub false_alarms: f64,
    /// Share of families of three comparisons without a difference with any claim.
    pub family_alarms: f64,
    /// Share of intervals that held a true ratio of 1.25.
    pub coverage: f64,
    /// Median longer arm of the interval, as a ratio; none where the blocks carry no interval.
    pub arm: Option<f64>,
    /// Share of true ratios of 1.25 that were claimed, in the right direction.
    pub power: f64,
}

/// Plays `count` experiments of `blocks` blocks.
pub fn fixed(shape: Shape, blocks: usize, count: u64) -> Fixed {
    let mut sums = Fixed::default();
    let mut arms: Vec<f64> = Vec::new();
    for seed in 0..count {
        let family = tests(&[1.0; 4], shape, blocks, seed);
        let p: Vec<f64> = family.iter().map(|test| test.p(0.0)).collect();
        sums.false_alarms += share(p[0] <= ALPHA);
        sums.family_alarms += share(holm::adjusted(&p).iter().any(|p| *p <= ALPHA));
        let planted = &tests(&[1.0, 1.25], shape, blocks, seed + 1_000_000)[0];
        let level = planted.level_max().min(1.0 - ALPHA);
        let (low, high) = planted.interval(level).unwrap_or((f64::MIN, f64::MAX));
        let truth = -1.25f64.ln();
        sums.coverage += share(low <= truth && truth <= high);
        sums.power += share(planted.p(0.0) <= ALPHA && planted.estimate() < 0.0);
        arms.push((high - planted.estimate()).max(planted.estimate() - low).exp());
    }
    arms.sort_by(f64::total_cmp);
    let mean = |sum: f64| sum / count as f64;
    Fixed {
        false_alarms: mean(sums.false_alarms),
        family_alarms: mean(sums.family_alarms),
        coverage: mean(sums.coverage),
        power: mean(sums.power),
        arm: (blocks >= BLOCKS_MIN as usize).then_some(arms[arms.len() / 2]),
    }
}

/// Tests of every candidate against the first one.
fn tests(medians: &[f64], shape: Shape, blocks: usize, seed: u64) -> Vec<SignFlip> {
    let blocks = values(medians, shape, blocks, seed);
    (1..medians.len())
        .map(|other| {
            let ratios: Vec<f64> = blocks.iter().map(|b| (b[0] / b[other]).ln()).collect();
            SignFlip::new(&ratios).expect("simulated values are finite")
        })
        .collect()
}

/// Trials of an experiment: by block, then by candidate.
pub fn values(medians: &[f64], shape: Shape, blocks: usize, seed: u64) -> Vec<Vec<f64>> {
    simulate(&Simulation { medians: medians.to_vec(), noise: NOISE, shape, blocks, seed })
}

/// 1 for yes, 0 for no.
pub fn share(yes: bool) -> f64 {
    f64::from(u8::from(yes))
}

/// Share of series that reject a true ratio of 1.25 at any time: with it, their interval loses it.
pub fn sequence_misses(shape: Shape, blocks: usize, count: u64) -> f64 {
    let missed = (0..count).filter(|&seed| {
        let blocks = values(&[1.0, 1.25], shape, blocks, seed);
        let ratios: Vec<f64> = blocks.iter().map(|block| (block[0] / block[1]).ln()).collect();
        Sequential::new(&ratios).is_some_and(|test| test.p(-1.25f64.ln()) <= ALPHA)
    });
    missed.count() as f64 / count as f64
}
