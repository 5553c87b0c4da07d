//! The methods keep their word on simulated trials with a known truth.
//!
//! The same experiments as `cargo run --example calibration`, fewer of them.

#[path = "../examples/calibration/simulated.rs"]
mod simulated;

#[path = "../examples/calibration/races.rs"]
mod races;

use pickfs_testkit::Shape;
use races::{found_by_plan, raced};
use simulated::{fixed, sequence_misses};

/// Largest share that `count` experiments of a true 5 % may show: 3.5 standard errors.
fn at_most(count: u64) -> f64 {
    0.05 + 3.5 * (0.05 * 0.95 / count as f64).sqrt()
}

#[test]
fn planned_blocks_raise_no_more_false_alarms_than_promised() {
    const COUNT: u64 = 300;
    for shape in Shape::ALL {
        for blocks in [5, 6, 8] {
            let found = fixed(shape, blocks, COUNT);
            println!("{shape:?} {blocks}: {found:?}");
            assert!(found.false_alarms <= at_most(COUNT), "{shape:?} {blocks} {found:?}");
            assert!(found.family_alarms <= at_most(COUNT), "{shape:?} {blocks} {found:?}");
            let promised = if blocks == 5 { 0.0125 } else { 0.0 };
            assert!(1.0 - found.coverage <= at_most(COUNT) + promised, "{shape:?} {found:?}");
        }
    }
}

#[test]
fn twenty_blocks_with_drawn_subsets_keep_the_level_too() {
    const COUNT: u64 = 12;
    for shape in [Shape::Normal, Shape::Autocorrelated] {
        let found = fixed(shape, 20, COUNT);
        println!("{shape:?} 20: {found:?}");
        assert!(found.false_alarms <= at_most(COUNT) && found.power > 0.9, "{found:?}");
        assert!(found.arm.is_some_and(|arm| arm > 1.0 && arm < 1.2), "{found:?}");
    }
}

/// With as many blocks as it takes, and at most half the trials of planned blocks: a design
/// of twice the trials that a race took finds the best no more often.
#[test]
fn a_thousand_races_lose_the_best_in_at_most_five_per_cent_with_half_the_trials() {
    const PER_SHAPE: u64 = 200;
    let medians = [1.0, 1.1, 1.25, 1.6];
    let mut wrong = 0.0;
    for shape in Shape::ALL {
        let found = raced(&medians, shape, 400, PER_SHAPE);
        let twice = (2.0 * found.trials / medians.len() as f64) as usize;
        let planned = found_by_plan(&medians, shape, twice, PER_SHAPE);
        println!("{shape:?}: {found:?}, {planned} in {twice} planned blocks");
        wrong += found.wrong / Shape::ALL.len() as f64;
        assert!(found.wrong <= at_most(PER_SHAPE), "{shape:?} {found:?}");
        assert!(found.alone >= 0.97 && found.alone >= planned, "{shape:?} {found:?} {planned}");
    }
    println!("wrong winners: {:.2} %", 100.0 * wrong);
    assert!(wrong <= 0.05);
}

/// Among equals each is lost seldom: the best of all is one of them.
#[test]
fn races_without_a_difference_seldom_lose_a_given_candidate() {
    const COUNT: u64 = 100;
    for shape in Shape::ALL {
        for candidates in [2, 4] {
            let found = raced(&vec![1.0; candidates], shape, 60, COUNT);
            println!("{shape:?} {candidates}: {found:?}");
            assert!(found.wrong <= at_most(COUNT), "{shape:?} {found:?}");
        }
    }
}

#[test]
fn confidence_sequences_hold_the_truth_at_every_look() {
    const COUNT: u64 = 300;
    for shape in Shape::ALL {
        let missed = sequence_misses(shape, 40, COUNT);
        println!("{shape:?}: {missed}");
        assert!(missed <= at_most(COUNT), "{shape:?} {missed}");
    }
}
