//! Blocks of trial values with a known truth, for tests of statistics.
//!
//! Trials stand on one time line: within a block the candidates run in random
//! order, as the lab runs them, so that what the machine does over time
//! ([`Shape::Drifting`], [`Shape::Autocorrelated`]) falls on all of them.

use crate::Dice;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shape {
    Normal,
    /// Logarithms are exponential: a floor with a long right side.
    Skewed,
    /// Three trials in ten stand four standard deviations higher.
    Bimodal,
    /// Normal, on a machine that slows by half a standard deviation per block.
    Drifting,
    /// The machine's state is an AR(1) process with coefficient 0.8 from trial to trial.
    Autocorrelated,
}

impl Shape {
    pub const ALL: [Shape; 5] =
        [Shape::Normal, Shape::Skewed, Shape::Bimodal, Shape::Drifting, Shape::Autocorrelated];
}

#[derive(Debug, Clone)]
pub struct Simulation {
    pub medians: Vec<f64>,
    /// Standard deviation of a trial's logarithm (0.1 = about ten per cent).
    pub noise: f64,
    pub shape: Shape,
    pub blocks: usize,
    pub seed: u64,
}

/// Values by block, then by candidate.
pub fn simulate(simulation: &Simulation) -> Vec<Vec<f64>> {
    let mut dice = Dice::new(simulation.seed ^ 0x5eed_0f7e_57ca_5e5d);
    let mut machine = dice.normal();
    let count = simulation.medians.len();
    (0..simulation.blocks)
        .map(|block| {
            let mut values = vec![0.0; count];
            for (position, index) in dice.order(count).into_iter().enumerate() {
                machine = 0.8 * machine + 0.6 * dice.normal();
                let time = block as f64 + position as f64 / count as f64;
                let error = scatter(simulation.shape, time, machine, &mut dice);
                values[index] = simulation.medians[index] * (simulation.noise * error).exp();
            }
            values
        })
        .collect()
}

/// Error of one trial in standard deviations (roughly; bimodal trials spread wider).
fn scatter(shape: Shape, time_blocks: f64, machine: f64, dice: &mut Dice) -> f64 {
    match shape {
        Shape::Normal => dice.normal(),
        Shape::Skewed => dice.exponential() - std::f64::consts::LN_2,
        Shape::Bimodal if dice.chance(0.3) => 4.0 + dice.normal(),
        Shape::Bimodal => dice.normal(),
        Shape::Drifting => 0.5 * time_blocks + dice.normal(),
        Shape::Autocorrelated => machine + 0.3 * dice.normal(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_blocks_and_another_seed_others() {
        let base = Simulation {
            medians: vec![100.0, 120.0],
            noise: 0.1,
            shape: Shape::Autocorrelated,
            blocks: 6,
            seed: 1,
        };
        assert_eq!(simulate(&base), simulate(&base));
        assert_ne!(simulate(&base), simulate(&Simulation { seed: 2, ..base.clone() }));
    }

    #[test]
    fn values_stand_around_the_truth() {
        for shape in [Shape::Normal, Shape::Skewed, Shape::Autocorrelated] {
            let blocks = simulate(&Simulation {
                medians: vec![200.0],
                noise: 0.1,
                shape,
                blocks: 4001,
                seed: 5,
            });
            let mut values: Vec<f64> = blocks.into_iter().map(|block| block[0]).collect();
            values.sort_by(f64::total_cmp);
            assert!((values[2000] / 200.0 - 1.0).abs() < 0.03, "{shape:?} {}", values[2000]);
        }
    }
}
