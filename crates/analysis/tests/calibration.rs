//! The methods keep their word on simulated trials with a known truth.
//!
//! The same experiments as `cargo run --example calibration`, fewer of them.

#[path = "../examples/calibration/simulated.rs"]
mod simulated;

use pickfs_testkit::Shape;
use simulated::{fixed, raced, sequence_misses};

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
        assert!(found.arm > 1.0 && found.arm < 1.2, "{found:?}");
    }
}

#[test]
fn a_thousand_races_lose_the_best_in_at_most_five_per_cent() {
    const PER_SHAPE: u64 = 200;
    let mut wrong = 0.0;
    for shape in Shape::ALL {
        let found = raced(&[1.0, 1.1, 1.25, 1.6], shape, PER_SHAPE);
        println!("{shape:?}: {found:?}");
        wrong += found.wrong / Shape::ALL.len() as f64;
        assert!(found.wrong <= at_most(PER_SHAPE), "{shape:?} {found:?}");
    }
    println!("wrong winners: {:.2} %", 100.0 * wrong);
    assert!(wrong <= 0.05);
}

#[test]
fn races_without_a_difference_seldom_drop_a_given_candidate() {
    const COUNT: u64 = 60;
    for shape in Shape::ALL {
        let found = raced(&[1.0; 4], shape, COUNT);
        println!("{shape:?}: {found:?}");
        assert!(found.wrong <= at_most(COUNT), "{shape:?} {found:?}");
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
