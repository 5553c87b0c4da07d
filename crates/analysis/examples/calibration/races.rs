//! Races whose truth is known, beside designs of planned blocks that seek the same.

use pickfs_analysis::{
    ALPHA, holm,
    racing::{Race, Rules},
    signflip::{EXACT_MAX, SignFlip},
};
use pickfs_testkit::Shape;

use crate::simulated::{share, values};

/// What came of many races.
#[derive(Debug, Clone, Copy, Default)]
pub struct Raced {
    /// Share of races in which the true best was not among the leaders at the end.
    pub wrong: f64,
    /// Share that ended with the true best alone.
    pub alone: f64,
    /// Share that was decided within the budget.
    pub decided: f64,
    /// Mean number of blocks.
    pub blocks: f64,
    /// Mean number of trials.
    pub trials: f64,
}

/// Plays `count` races of at most `blocks_max` blocks; the first candidate is the best.
pub fn raced(medians: &[f64], shape: Shape, blocks_max: usize, count: u64) -> Raced {
    let mut sums = Raced::default();
    for seed in 0..count {
        let blocks = values(medians, shape, blocks_max, seed);
        let (race, trials, used) = race(medians.len(), &blocks);
        let leaders = race.leaders();
        sums.wrong += share(!leaders.contains(&0));
        sums.alone += share(leaders == [0]);
        sums.decided += share(race.is_decided());
        sums.blocks += used as f64;
        sums.trials += trials as f64;
    }
    let mean = |sum: f64| sum / count as f64;
    Raced {
        wrong: mean(sums.wrong),
        alone: mean(sums.alone),
        decided: mean(sums.decided),
        blocks: mean(sums.blocks),
        trials: mean(sums.trials),
    }
}

/// One race as the lab would run it: only the cells that it asks for.
fn race(candidates: usize, blocks: &[Vec<f64>]) -> (Race, usize, usize) {
    let mut race = Race::new(candidates, Rules { alpha: ALPHA, tie_margin: 0.05 });
    let (mut trials, mut used) = (0, 0);
    for block in blocks {
        let next = race.next();
        let seen = |index: usize| next.contains(&index).then_some(block[index]);
        race.push(&(0..candidates).map(seen).collect::<Vec<_>>());
        trials += next.len();
        used += 1;
        if race.is_decided() {
            break;
        }
    }
    (race, trials, used)
}

/// Share of designs of `blocks` planned blocks that find the true best alone: each other one
/// claimed slower than it after Holm. The best is taken as the reference, which a plan
/// cannot know; any other reference needs more blocks.
pub fn found_by_plan(medians: &[f64], shape: Shape, blocks: usize, count: u64) -> f64 {
    let found = (0..count).filter(|&seed| {
        let blocks = values(medians, shape, blocks, seed + 2_000_000);
        let judged = |other: usize| {
            let ratios: Vec<f64> = blocks.iter().map(|b| (b[0] / b[other]).ln()).collect();
            (p_of(&ratios), ratios.iter().sum::<f64>() < 0.0)
        };
        let (p, slower): (Vec<f64>, Vec<bool>) = (1..medians.len()).map(judged).unzip();
        holm::adjusted(&p).iter().all(|p| *p <= ALPHA) && slower.iter().all(|slower| *slower)
    });
    found.count() as f64 / count as f64
}

/// p of the sign-flip test: exact up to sixteen blocks; above, its normal limit, because the
/// exact count takes too long for thousands of designs with hundreds of blocks.
fn p_of(ratios: &[f64]) -> f64 {
    if ratios.len() <= EXACT_MAX {
        return SignFlip::new(ratios).map_or(1.0, |test| test.p(0.0));
    }
    let squares: f64 = ratios.iter().map(|ratio| ratio * ratio).sum();
    two_sided(ratios.iter().sum::<f64>() / squares.sqrt())
}

/// P(|Z| >= |z|) of a standard normal Z (M. Abramowitz, I. Stegun, "Handbook of
/// Mathematical Functions", 1964, 26.2.17; absolute error under 2e-7).
fn two_sided(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z.abs());
    let terms = [1.330_274_429, -1.821_255_978, 1.781_477_937, -0.356_563_782, 0.319_381_53];
    let sum = terms.iter().fold(0.0, |sum, term| (sum + term) * t);
    2.0 * sum * (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt()
}
