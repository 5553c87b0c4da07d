//! Experiments whose truth is known: how often each method is wrong.
//!
//! Shared by the example (which prints the tables) and by `tests/calibration.rs`
//! (which holds the bounds with fewer experiments).

use pickfs_analysis::{
    ALPHA, holm,
    racing::{Race, Rules},
    sequential::Watch,
    signflip::SignFlip,
};
use pickfs_testkit::{Shape, Simulation, simulate};

/// Noise of a trial in these experiments: ten per cent.
pub const NOISE: f64 = 0.1;
/// Blocks after which a race has spent its budget.
pub const RACE_BLOCKS_MAX: usize = 60;

/// What came of many experiments with planned blocks.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fixed {
    /// Share of experiments without a difference in which one was claimed.
    pub false_alarms: f64,
    /// Share of families of three comparisons without a difference with any claim.
    pub family_alarms: f64,
    /// Share of intervals that held a true ratio of 1.25.
    pub coverage: f64,
    /// Median longer arm of the interval, as a ratio.
    pub arm: f64,
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
        arm: arms[arms.len() / 2],
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

fn values(medians: &[f64], shape: Shape, blocks: usize, seed: u64) -> Vec<Vec<f64>> {
    simulate(&Simulation { medians: medians.to_vec(), noise: NOISE, shape, blocks, seed })
}

fn share(yes: bool) -> f64 {
    f64::from(u8::from(yes))
}

/// What came of many races.
#[derive(Debug, Clone, Copy, Default)]
pub struct Raced {
    /// Share of races in which the true best was not among the leaders at the end.
    pub wrong: f64,
    /// Share that ended with the true best alone.
    pub alone: f64,
    /// Share that was decided within the budget.
    pub decided: f64,
    /// Share in which anybody at all was dropped.
    pub dropped: f64,
    /// Mean number of blocks.
    pub blocks: f64,
    /// Mean number of trials.
    pub trials: f64,
}

/// Plays `count` races; the first candidate is the best.
pub fn raced(medians: &[f64], shape: Shape, count: u64) -> Raced {
    let mut sums = Raced::default();
    for seed in 0..count {
        let blocks = values(medians, shape, RACE_BLOCKS_MAX, seed);
        let (race, trials, used) = race(medians.len(), &blocks);
        let leaders = race.leaders();
        sums.wrong += share(!leaders.contains(&0));
        sums.alone += share(leaders == [0]);
        sums.decided += share(race.is_decided());
        sums.dropped += share(leaders.len() < medians.len());
        sums.blocks += used as f64;
        sums.trials += trials as f64;
    }
    let mean = |sum: f64| sum / count as f64;
    Raced {
        wrong: mean(sums.wrong),
        alone: mean(sums.alone),
        decided: mean(sums.decided),
        dropped: mean(sums.dropped),
        blocks: mean(sums.blocks),
        trials: mean(sums.trials),
    }
}

/// One race as the lab would run it: only the cells that it asks for.
fn race(candidates: usize, blocks: &[Vec<f64>]) -> (Race, usize, usize) {
    let rules = Rules {
        alpha: ALPHA,
        comparisons: candidates - 1,
        tie_margin: 0.05,
        reference: Some(candidates - 1),
    };
    let mut race = Race::new(candidates, rules);
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

/// Share of series whose confidence sequence lost a true ratio of 1.25 at any time.
pub fn sequence_misses(shape: Shape, blocks: usize, count: u64) -> f64 {
    let missed = (0..count).filter(|&seed| {
        let mut watch = Watch::new(1.0 - ALPHA);
        let truth = -1.25f64.ln();
        values(&[1.0, 1.25], shape, blocks, seed).iter().any(|block| {
            watch.push((block[0] / block[1]).ln());
            watch.interval().is_some_and(|(low, high)| truth < low || high < truth)
        })
    });
    missed.count() as f64 / count as f64
}
