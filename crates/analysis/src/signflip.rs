//! The exact sign-flip test of a mean, and the interval that agrees with it.
//!
//! Under "no difference" the log-ratio of two candidates within a block is as
//! likely to be x as -x, because the lab ran them in random order. So all 2^n
//! sign patterns are equally likely, whatever the shape of the noise
//! (R. A. Fisher, "The Design of Experiments", 1935, section 21). The values of
//! the mean that the test does not reject lie between two of the means of all
//! subsets of the data (J. A. Hartigan, "Using subsample values as typical
//! values", JASA 64, 1969): one list of subset means answers both.
//!
//! Up to sixteen blocks every subset is listed; above, 65,535 random ones with a
//! fixed seed, with the drawn pattern counted in, so that the test keeps its level.
//!
//! ```
//! use pickfs_analysis::signflip::SignFlip;
//! let test = SignFlip::new(&[1.0, 2.0, 4.0]).expect("finite values");
//! assert_eq!(test.p(0.0), 0.25); // 2 of 8 patterns
//! ```

use crate::random::Random;

/// Most values for which every subset is listed.
pub const EXACT_MAX: usize = 16;

const SUBSETS_MAX: usize = (1 << EXACT_MAX) - 1;
const SEED: u64 = 0x0071_c3f5;

/// The sign-flip test of a sample.
#[derive(Debug, Clone)]
pub struct SignFlip {
    estimate: f64,
    /// Means of subsets that are not empty, in no order: counting and selecting
    /// cost a tenth of sorting.
    means: Vec<f64>,
    /// Differences under this are rounding.
    rounding: f64,
}

impl SignFlip {
    /// Lists the subset means; `None` without values or with one that is not finite.
    pub fn new(values: &[f64]) -> Option<Self> {
        if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let means =
            if values.len() <= EXACT_MAX { all_means(values) } else { random_means(values) };
        let scale = values.iter().fold(0.0f64, |scale, value| scale.max(value.abs()));
        let estimate = values.iter().sum::<f64>() / values.len() as f64;
        Some(SignFlip { estimate, means, rounding: scale * 1e-12 })
    }

    /// The mean.
    pub fn estimate(&self) -> f64 {
        self.estimate
    }

    /// Two-sided p of the hypothesis that the centre is `center`, in (0, 1].
    pub fn p(&self, center: f64) -> f64 {
        let below = self.means.iter().filter(|mean| **mean <= center + self.rounding).count();
        let above = self.means.iter().filter(|mean| **mean >= center - self.rounding).count();
        (2.0 * (1 + below.min(above)) as f64 / self.patterns()).min(1.0)
    }

    /// All centres whose p is over 1 - `level`; `None` where that is the whole line.
    pub fn interval(&self, level: f64) -> Option<(f64, f64)> {
        let rejected = ((1.0 - level) * self.patterns() / 2.0 + 1e-9).floor() as usize;
        let rank = rejected.checked_sub(1)?;
        let mut means = self.means.clone();
        let mut ranked = |rank: usize| {
            (rank < means.len()).then(|| *means.select_nth_unstable_by(rank, f64::total_cmp).1)
        };
        let low = ranked(rank)?;
        let high = ranked(self.means.len().checked_sub(rejected)?)?;
        (low <= high).then_some((low, high))
    }

    /// Highest level below 1 that [`SignFlip::interval`] can have.
    pub fn level_max(&self) -> f64 {
        1.0 - 2.0 / self.patterns()
    }

    fn patterns(&self) -> f64 {
        (self.means.len() + 1) as f64
    }
}

fn all_means(values: &[f64]) -> Vec<f64> {
    let mut sums = vec![(0.0, 0u32)];
    for value in values {
        let with: Vec<_> = sums.iter().map(|(sum, count)| (sum + value, count + 1)).collect();
        sums.extend(with);
    }
    sums.into_iter().skip(1).map(|(sum, count)| sum / f64::from(count)).collect()
}

fn random_means(values: &[f64]) -> Vec<f64> {
    let mut random = Random::new(SEED);
    let mut means = Vec::with_capacity(SUBSETS_MAX);
    while means.len() < SUBSETS_MAX {
        let (mut sum, mut count) = (0.0, 0u32);
        for chunk in values.chunks(64) {
            let mut bits = random.bits() & (u64::MAX >> (64 - chunk.len()));
            count += bits.count_ones();
            while bits != 0 {
                sum += chunk[bits.trailing_zeros() as usize];
                bits &= bits - 1;
            }
        }
        if count > 0 {
            means.push(sum / f64::from(count));
        }
    }
    means
}

/// Fewest blocks with which `comparisons` can be claimed at all under Holm's
/// correction: the smallest n with 2^(1-n) <= `alpha` / `comparisons`, at least five.
///
/// ```
/// use pickfs_analysis::signflip::blocks_needed;
/// assert_eq!((blocks_needed(1, 0.05), blocks_needed(8, 0.05)), (6, 9));
/// ```
pub fn blocks_needed(comparisons: usize, alpha: f64) -> u32 {
    let share = alpha.clamp(1e-9, 1.0) / comparisons.max(1) as f64;
    let needed = (1.0 - share.log2() - 1e-9).ceil() as u32;
    needed.max(crate::BLOCKS_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Darwin's maize, Fisher 1935: 863 of 32,768 patterns on each side.
    const MAIZE: [f64; 15] =
        [49.0, -67.0, 8.0, 16.0, 6.0, 23.0, 28.0, 41.0, 14.0, 29.0, 56.0, 24.0, 75.0, 60.0, -48.0];

    #[test]
    fn darwins_maize_gives_fishers_count() {
        let test = SignFlip::new(&MAIZE).expect("finite");
        assert_eq!(test.p(0.0), 2.0 * 863.0 / 32_768.0);
        assert!((test.estimate() - 314.0 / 15.0).abs() < 1e-12);
    }

    /// Means of the subsets of 1, 2, 4: 1, 1.5, 2, 7/3, 2.5, 3, 4.
    #[test]
    fn subset_means_of_three_values_by_hand() {
        let test = SignFlip::new(&[1.0, 2.0, 4.0]).expect("finite");
        let mut means = test.means.clone();
        means.sort_by(f64::total_cmp);
        assert_eq!(means, [1.0, 1.5, 2.0, 7.0 / 3.0, 2.5, 3.0, 4.0]);
        assert_eq!(test.interval(0.75), Some((1.0, 4.0)));
        assert_eq!(test.interval(0.5), Some((1.5, 3.0)));
        assert_eq!(test.interval(0.95), None);
        assert_eq!(test.level_max(), 0.75);
    }

    /// Five values of one sign: 2 of 32 patterns; six: 2 of 64.
    #[test]
    fn the_smallest_p_is_two_of_all_patterns() {
        let p = |n: usize| SignFlip::new(&vec![0.3; n]).expect("finite").p(0.0);
        assert_eq!((p(5), p(6)), (2.0 / 32.0, 2.0 / 64.0));
        let five = SignFlip::new(&[1.0, 2.0, 3.0, 4.0, 5.0]).expect("finite");
        assert_eq!(five.interval(0.95), None);
        assert_eq!(five.interval(0.9375), Some((1.0, 5.0)));
    }

    #[test]
    fn above_sixteen_values_the_drawn_subsets_agree_with_the_exact_count() {
        let mut long = MAIZE.to_vec();
        long.extend([12.0, -9.0]);
        let drawn = SignFlip::new(&long).expect("finite").p(0.0);
        let sums = all_means(&long);
        let below = sums.iter().filter(|mean| **mean <= 0.0).count();
        let exact = 2.0 * (1 + below) as f64 / (sums.len() + 1) as f64;
        assert!((drawn - exact).abs() < 0.006, "{drawn} {exact}");
    }

    #[test]
    fn blocks_needed_are_six_for_one_and_nine_for_eight() {
        let needed: Vec<_> = [0, 1, 2, 3, 4, 6, 8, 190].map(|m| blocks_needed(m, 0.05)).into();
        assert_eq!(needed, [6, 6, 7, 7, 8, 8, 9, 13]);
    }

    #[test]
    fn nothing_and_nonsense_have_no_test() {
        assert!(SignFlip::new(&[]).is_none());
        assert!(SignFlip::new(&[1.0, f64::NAN]).is_none());
        assert!(SignFlip::new(&[f64::INFINITY]).is_none());
        let zeros = SignFlip::new(&[0.0; 8]).expect("finite");
        assert_eq!((zeros.p(0.0), zeros.interval(0.95)), (1.0, Some((0.0, 0.0))));
    }

    proptest! {
        #[test]
        fn test_and_interval_agree(
            values in prop::collection::vec(-1.0f64..1.0, 1..10),
            center in -1.0f64..1.0,
            level in 0.5f64..0.999,
        ) {
            let test = SignFlip::new(&values).expect("finite");
            let (low, high) = test.interval(level).unwrap_or((f64::MIN, f64::MAX));
            let near_edge = (center - low).abs() < 1e-9 || (center - high).abs() < 1e-9;
            let inside = low <= center && center <= high;
            prop_assert!(near_edge || inside == (test.p(center) > 1.0 - level + 1e-9)
                || (test.p(center) - (1.0 - level)).abs() < 1e-8);
        }
    }
}
