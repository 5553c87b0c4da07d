//! Blocks resampled with replacement: what the two usual bootstrap intervals of the mean
//! log-ratio are worth at so few blocks, beside the sign-flip interval on the same blocks.
//!
//! B. Efron, R. Tibshirani, "An Introduction to the Bootstrap", 1993: the percentile
//! interval (section 13.3) and the studentised one (section 12.5).

use pickfs_analysis::{ALPHA, signflip::SignFlip};
use pickfs_testkit::{Dice, Shape};

use crate::simulated::{share, values};

/// Times that the blocks are drawn anew.
const RESAMPLES: usize = 999;

/// One kind of interval over many experiments.
#[derive(Debug, Clone, Default)]
pub struct Intervals {
    /// Share that held a true ratio of 1.25.
    pub coverage: f64,
    /// Median width as a ratio: upper end over lower end.
    pub width: f64,
}

/// Sign-flip, percentile and studentised intervals at 95 per cent, in this order.
pub fn beside(shape: Shape, blocks: usize, count: u64) -> [Intervals; 3] {
    let truth = -1.25f64.ln();
    let mut widths: [Vec<f64>; 3] = Default::default();
    let mut held = [0.0; 3];
    for seed in 0..count {
        let values = values(&[1.0, 1.25], shape, blocks, seed + 3_000_000);
        let ratios: Vec<f64> = values.iter().map(|b| (b[0] / b[1]).ln()).collect();
        let test = SignFlip::new(&ratios).expect("simulated values are finite");
        let level = test.level_max().min(1.0 - ALPHA);
        let flipped = test.interval(level).unwrap_or((f64::MIN, f64::MAX));
        let [percentile, studentised] = resampled(&ratios, &mut Dice::new(seed));
        for (kind, (low, high)) in [flipped, percentile, studentised].into_iter().enumerate() {
            held[kind] += share(low <= truth && truth <= high);
            widths[kind].push((high - low).exp());
        }
    }
    std::array::from_fn(|kind| {
        widths[kind].sort_by(f64::total_cmp);
        let width = widths[kind][widths[kind].len() / 2];
        Intervals { coverage: held[kind] / count as f64, width }
    })
}

fn resampled(ratios: &[f64], dice: &mut Dice) -> [(f64, f64); 2] {
    let (center, error) = mean_and_error(ratios);
    let (mut means, mut students) = (Vec::new(), Vec::new());
    let mut drawn = vec![0.0; ratios.len()];
    for _ in 0..RESAMPLES {
        drawn.fill_with(|| ratios[dice.below(ratios.len())]);
        let (mean, own_error) = mean_and_error(&drawn);
        means.push(mean);
        students.push((mean - center) / own_error.max(1e-12));
    }
    means.sort_by(f64::total_cmp);
    students.sort_by(f64::total_cmp);
    let tail = (ALPHA / 2.0 * (RESAMPLES + 1) as f64) as usize;
    let ends = |sorted: &[f64]| (sorted[tail - 1], sorted[RESAMPLES - tail]);
    let (low, high) = ends(&students);
    [ends(&means), (center - high * error, center - low * error)]
}

/// Mean and its standard error.
fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (count - 1.0) / count).sqrt())
}
