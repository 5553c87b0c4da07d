//! The order that the lab really runs, against the tests that assume a random one.
//!
//! A Williams square is random as a whole but balanced inside: a later block's order follows in
//! part from the earlier ones. What a machine does over time then partly cancels between the
//! blocks of a square, so tests may only become more careful. Counted here, with the lab's own
//! orders under drift and under a slow state of the machine.

use pickfs_analysis::{
    racing::{Race, Rules},
    signflip::SignFlip,
};
use pickfs_lab::order::block_order;
use pickfs_testkit::Dice;

const COUNT: u64 = 400;

/// Largest count of `COUNT` that a true 5 % may show: 3.5 standard errors.
fn at_most() -> u32 {
    (0.05 * COUNT as f64 + 3.5 * (0.05 * 0.95 * COUNT as f64).sqrt()) as u32
}

/// Logarithms of equal candidates by block, on a machine that drifts by `drift` standard
/// deviations of a trial per block, with a state that remembers 0.8 from trial to trial.
fn blocks(candidates: usize, count: u32, seed: u64, drift: f64, state: f64) -> Vec<Vec<f64>> {
    let mut dice = Dice::new(seed ^ 0x0d3a_77e1);
    let mut machine = dice.normal();
    let block = |block: u32| {
        let mut values = vec![0.0; candidates];
        for (position, index) in block_order(seed, candidates, block).into_iter().enumerate() {
            machine = 0.8 * machine + 0.6 * dice.normal();
            let time = f64::from(block) + position as f64 / candidates as f64;
            values[index] = 0.1 * (drift * time + state * machine + dice.normal());
        }
        values
    };
    (0..count).map(block).collect()
}

const MACHINES: [(&str, f64, f64); 4] =
    [("still", 0.0, 0.0), ("drifting", 0.5, 0.0), ("racing away", 4.0, 0.0), ("moody", 0.0, 3.0)];

#[test]
fn planned_blocks_in_the_labs_order_raise_no_more_false_alarms_than_promised() {
    for (machine, drift, state) in MACHINES {
        for candidates in [2, 3, 4, 5] {
            let alarm = |seed: &u64| {
                let blocks = blocks(candidates, 8, *seed, drift, state);
                let ratios: Vec<f64> = blocks.iter().map(|block| block[0] - block[1]).collect();
                SignFlip::new(&ratios).expect("finite").p(0.0) <= 0.05
            };
            let alarms = (0..COUNT).filter(alarm).count() as u32;
            println!("{machine}, {candidates} candidates: {alarms} of {COUNT}");
            assert!(alarms <= at_most(), "{machine} {candidates}: {alarms}");
        }
    }
}

#[test]
fn races_in_the_labs_order_lose_a_given_equal_as_seldom_as_promised() {
    for (machine, drift, state) in MACHINES {
        for candidates in [2, 3, 4] {
            let lost = |seed: &u64| {
                let rules = Rules { alpha: 0.05, tie_margin: 0.05 };
                let mut race = Race::new(candidates, rules);
                for block in blocks(candidates, 40, *seed, drift, state) {
                    race.push(&block.iter().map(|value| Some(value.exp())).collect::<Vec<_>>());
                }
                !race.leaders().contains(&0)
            };
            let lost = (0..COUNT).filter(lost).count() as u32;
            println!("{machine}, {candidates} candidates: {lost} of {COUNT}");
            assert!(lost <= at_most(), "{machine} {candidates}: {lost}");
        }
    }
}
