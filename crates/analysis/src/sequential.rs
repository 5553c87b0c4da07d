//! A test that may be looked at after every block, and its confidence sequence.
//!
//! Two bettors watch the log-ratios of the blocks, one on "above", one on "below". Under
//! "no difference" a log-ratio is as likely to be x as -x whatever came before, because the
//! order within a block was drawn at random. So a stake that multiplies the fortune by
//! 1 + tanh(theta x) is fair, whatever the shape of the noise: heavy tails, two modes and
//! drift change how fast it grows, not that it is fair. (V. de la Pena, "A general class of
//! exponential inequalities for martingales and ratios", 1999, has such bets on symmetric
//! steps; for normal noise and theta = shift / variance this one is the likelihood ratio of
//! the sign, given the size.) The shift and the noise are not known, so the stake is spread
//! over a few theta. J. Ville (1939) bounds the chance that a fair fortune ever reaches 1/a
//! by a: it may be looked at, and the run stopped, at any time.
//!
//! What it assumes is symmetry around the centre. Turning the test round gives an interval
//! for that centre. What it does not do: win more than a factor of two per block, so that no
//! single block decides.
//!
//! ```
//! use pickfs_analysis::sequential::e_value;
//! assert!(e_value(&[0.2; 6]) > 20.0); // six blocks that differ by 22 per cent
//! assert!(e_value(&[0.2, -0.2, 0.2, -0.2, 0.2, -0.2]) < 1.0);
//! ```

use std::f64::consts::LN_2;

/// The bets, each with its share of the stake: tanh(theta x) of a log-ratio x. Theta is at its
/// best at shift / variance: 4 is a tenth of difference under noise of ten per cent, where
/// trials on disks often lie; 1/4 lives on noise of half, 64 on noise of a few per mille.
const BETS: [(f64, f64); 5] = [
    (0.25, 1.0 / 12.0),
    (1.0, 2.0 / 12.0),
    (4.0, 4.0 / 12.0),
    (16.0, 3.0 / 12.0),
    (64.0, 2.0 / 12.0),
];

/// Beyond this far from the data (a factor of 10^27) nothing is looked for.
const REACH: f64 = 64.0;

/// A bettor on "the centre is above 0".
#[derive(Debug, Clone)]
pub struct Bettor {
    ln_fortunes: [f64; BETS.len()],
    ln_fortune_max: f64,
    count: usize,
}

impl Default for Bettor {
    fn default() -> Self {
        Bettor { ln_fortunes: [0.0; BETS.len()], ln_fortune_max: 0.0, count: 0 }
    }
}

impl Bettor {
    /// Takes the next log-ratio and gives the logarithm of the factor by which the fortune
    /// changed: at most ln 2. A value that is not finite is passed over.
    pub fn push(&mut self, value: f64) -> f64 {
        if !value.is_finite() {
            return 0.0;
        }
        self.count += 1;
        let before = self.ln_fortune();
        for (ln_fortune, (theta, _)) in self.ln_fortunes.iter_mut().zip(BETS) {
            *ln_fortune += ln_factor(theta * value);
        }
        let now = self.ln_fortune();
        self.ln_fortune_max = self.ln_fortune_max.max(now);
        now - before
    }

    /// Logarithm of the fortune, over all bets. It began with 0.
    pub fn ln_fortune(&self) -> f64 {
        let largest = self.ln_fortunes.iter().copied().fold(f64::MIN, f64::max);
        let shares = self.ln_fortunes.iter().zip(BETS);
        let sum: f64 = shares.map(|(ln, (_, share))| share * (ln - largest).exp()).sum();
        largest + sum.ln()
    }

    /// Log-ratios that were taken.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Logarithm of the largest fortune so far, at least 0.
    pub fn ln_fortune_max(&self) -> f64 {
        self.ln_fortune_max
    }
}

/// ln(1 + tanh z), for every finite z.
fn ln_factor(z: f64) -> f64 {
    let gain = LN_2 - (-2.0 * z.abs()).exp().ln_1p();
    if z >= 0.0 { gain } else { gain + 2.0 * z }
}

/// The fortune of the bettor on "above 0" after these log-ratios; 1 without any.
pub fn e_value(values: &[f64]) -> f64 {
    let mut bettor = Bettor::default();
    for value in values {
        bettor.push(*value);
    }
    bettor.ln_fortune().exp()
}

/// Fewest further blocks that can raise a fortune by a factor of e^`ln_missing`.
pub fn blocks_to_gain(ln_missing: f64) -> u32 {
    (ln_missing.max(0.0) / LN_2 - 1e-9).ceil().max(0.0) as u32
}

/// Evidence about the centre of a series of log-ratios, in the order in which they came.
#[derive(Debug, Clone)]
pub struct Sequential {
    values: Vec<f64>,
}

impl Sequential {
    /// Takes the series; `None` without values or with one that is not finite.
    pub fn new(values: &[f64]) -> Option<Self> {
        let usable = !values.is_empty() && values.iter().all(|value| value.is_finite());
        usable.then(|| Sequential { values: values.to_vec() })
    }

    /// The centre on which both bettors hold the same fortune now.
    pub fn estimate(&self) -> f64 {
        let above = |center: f64| self.side(center, 1.0).ln_fortune();
        let below = |center: f64| self.side(center, -1.0).ln_fortune();
        self.last_where(|center| above(center) >= below(center))
    }

    /// p of "the centre is `center`", two-sided, that holds at whatever time one looked.
    pub fn p(&self, center: f64) -> f64 {
        let side = |sign: f64| self.side(center, sign).ln_fortune_max();
        (2.0 * (-side(1.0).max(side(-1.0))).exp()).min(1.0)
    }

    /// The interval of the centre that holds at all times together: what no look so far has
    /// rejected. `None` while that is the whole line.
    pub fn interval(&self, level: f64) -> Option<(f64, f64)> {
        let ln_bound = (2.0 / (1.0 - level).max(1e-12)).ln();
        if self.values.len() as f64 * LN_2 <= ln_bound + 1e-9 {
            return None;
        }
        let low = self.last_where(|c| self.side(c, 1.0).ln_fortune_max() >= ln_bound);
        let high = self.last_where(|c| self.side(c, -1.0).ln_fortune_max() < ln_bound);
        // Looks that contradict each other: a machine that changed. Then both ends are shown.
        Some((low.min(high), low.max(high)))
    }

    /// The bettor on "above" (sign 1) or "below" (sign -1) a centre.
    fn side(&self, center: f64, sign: f64) -> Bettor {
        let mut bettor = Bettor::default();
        for value in &self.values {
            bettor.push(sign * (value - center));
        }
        bettor
    }

    /// The largest centre of which something holds that holds up to a point and not beyond.
    fn last_where(&self, holds: impl Fn(f64) -> bool) -> f64 {
        let mut low = self.values.iter().copied().fold(f64::MAX, f64::min) - REACH;
        let mut high = self.values.iter().copied().fold(f64::MIN, f64::max) + REACH;
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if holds(middle) { low = middle } else { high = middle }
        }
        f64::midpoint(low, high)
    }
}

/// Fewest blocks with which `comparisons` can be claimed: each block says "twice as fast".
///
/// ```
/// use pickfs_analysis::sequential::blocks_needed;
/// assert_eq!((blocks_needed(1, 0.05), blocks_needed(3, 0.05)), (6, 8));
/// ```
pub fn blocks_needed(comparisons: usize, alpha: f64) -> u32 {
    let bound = 2.0 * comparisons.max(1) as f64 / alpha.clamp(1e-9, 1.0);
    let enough = |n: &u32| e_value(&vec![LN_2; *n as usize]) >= bound;
    (crate::BLOCKS_MIN..10_000).find(enough).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 1 + tanh z is 2 / (1 + e^-2z): at z = ln 2, 8/5; at z = -ln 2, 2/5.
    #[test]
    fn factors_by_hand() {
        for (z, expected) in [(0.0, 1.0), (LN_2, 1.6), (-LN_2, 0.4), (300.0, 2.0)] {
            assert!((ln_factor(z).exp() - expected).abs() < 1e-12, "{z}");
        }
        assert!((ln_factor(-300.0) - (LN_2 - 600.0)).abs() < 1e-9);
    }

    /// tanh(theta ln 2) is (4^theta - 1) / (4^theta + 1): 1/4, 1, 4, and nearly 1 beyond.
    #[test]
    fn one_block_by_hand() {
        let first = (2f64.sqrt() - 1.0) / (2f64.sqrt() + 1.0);
        let expected = 1.0 + (first + 2.0 * 3.0 / 5.0 + 4.0 * 255.0 / 257.0 + 5.0) / 12.0;
        assert!((e_value(&[LN_2]) - expected).abs() < 1e-9);
        assert!((e_value(&[]) - 1.0).abs() < 1e-12);
    }

    /// A fortune is fair: over all signs of the same sizes its mean is 1.
    #[test]
    fn the_bet_is_fair_whatever_the_sizes() {
        let sizes = [0.01, 3.0, 0.2, 0.002, 0.5, 0.1, 40.0, 0.07];
        let mut sum = 0.0;
        for signs in 0u32..1 << sizes.len() {
            let signed = |(i, size): (usize, &f64)| if signs >> i & 1 == 1 { *size } else { -size };
            sum += e_value(&sizes.iter().enumerate().map(signed).collect::<Vec<_>>());
        }
        assert!((sum / f64::from(1 << sizes.len() as u32) - 1.0).abs() < 1e-9, "{sum}");
    }

    #[test]
    fn six_large_blocks_claim_and_five_do_not() {
        let p = |n: usize| Sequential::new(&vec![LN_2; n]).expect("finite").p(0.0);
        assert!(p(5) > 0.05 && p(6) <= 0.05, "{} {}", p(5), p(6));
        let needed: Vec<_> = [1, 2, 3, 4, 8, 16].map(|m| blocks_needed(m, 0.05)).into();
        assert_eq!(needed, [6, 7, 8, 8, 9, 10]);
    }

    #[test]
    fn no_block_wins_more_than_a_factor_of_two() {
        let mut bettor = Bettor::default();
        assert!(bettor.push(1e9) <= LN_2 + 1e-12);
        assert_eq!(bettor.push(f64::NAN), 0.0);
        let top = bettor.ln_fortune_max();
        bettor.push(-1.0);
        assert!(bettor.ln_fortune() < top && bettor.ln_fortune_max() == top);
        assert_eq!([0.0, LN_2, 40f64.ln(), -1.0].map(blocks_to_gain), [0, 1, 6, 0]);
    }

    #[test]
    fn the_interval_holds_the_centre_of_a_symmetric_series() {
        let values = [3.0, 1.0, 2.0, 8.0, 5.0, 4.0, 7.0, 6.0].map(|value| value / 100.0);
        let sequence = Sequential::new(&values).expect("finite");
        assert!((sequence.estimate() - 0.045).abs() < 1e-9, "{}", sequence.estimate());
        let (low, high) = sequence.interval(0.95).expect("eight values");
        assert!((low + high - 0.09).abs() < 0.01 && low > -0.01 && high < 0.1, "{low} {high}");
        assert_eq!(Sequential::new(&values[..5]).expect("finite").interval(0.95), None);
        assert!(Sequential::new(&[]).is_none() && Sequential::new(&[f64::NAN]).is_none());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn test_and_sequence_agree(
            values in prop::collection::vec(-1.0f64..1.0, 1..40),
            center in -1.0f64..1.0,
        ) {
            let sequence = Sequential::new(&values).expect("finite");
            if let Some((low, high)) = sequence.interval(0.95) {
                prop_assert!(low <= high);
                let outside = center < low - 1e-6 || center > high + 1e-6;
                prop_assert!(!outside || sequence.p(center) <= 0.05 + 1e-9);
            }
        }
    }
}
