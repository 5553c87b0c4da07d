//! A test that may be looked at after every block, and its confidence sequence.
//!
//! It uses only the signs of the log-ratios within blocks. Under "no difference"
//! each sign is a fair coin whatever came before, because the order within a block
//! was drawn at random. A bettor who spreads his stake evenly over all biases of the
//! coin has, after k of n signs, the fortune E = 2^n / ((n + 1) C(n, k)) (H. Robbins,
//! "Statistical methods related to the law of the iterated logarithm", 1970). J. Ville
//! (1939) bounds the chance that E ever reaches 1/a by a: it may be looked at, and the
//! run stopped, at any time. Turning the test round gives an interval for the median.
//!
//! It pays for that freedom: eight equal signs where the fixed test needs six.
//!
//! ```
//! use pickfs_analysis::sequential::e_value;
//! assert!((e_value(8, 8) - 256.0 / 9.0).abs() < 1e-9);
//! ```

/// The bettor's fortune after `plus` of `n` signs; 1 when n is 0.
pub fn e_value(n: usize, plus: usize) -> f64 {
    ln_e(n, plus).exp()
}

fn ln_e(n: usize, plus: usize) -> f64 {
    let few = plus.min(n.saturating_sub(plus));
    let ln_choose: f64 = (0..few).map(|i| ((n - i) as f64).ln() - ((i + 1) as f64).ln()).sum();
    n as f64 * std::f64::consts::LN_2 - ((n + 1) as f64).ln() - ln_choose
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

    /// The median.
    pub fn estimate(&self) -> f64 {
        crate::summary::median(&self.values)
    }

    /// p of "the median is 0" that holds at whatever time one looked: the smallest
    /// 1/E so far, in (0, 1].
    pub fn p(&self) -> f64 {
        self.watched(1.0 - crate::ALPHA).p()
    }

    /// The interval of the median that holds at all times together: what no look
    /// so far has rejected. `None` while that is the whole line.
    pub fn interval(&self, level: f64) -> Option<(f64, f64)> {
        self.watched(level).interval()
    }

    fn watched(&self, level: f64) -> Watch {
        let mut watch = Watch::new(level);
        self.values.iter().for_each(|value| watch.push(*value));
        watch
    }
}

/// The same evidence, kept up to date value by value.
#[derive(Debug, Clone)]
pub struct Watch {
    ln_bound: f64,
    sorted: Vec<f64>,
    signs: usize,
    plus: usize,
    ln_e_max: f64,
    interval: Option<(f64, f64)>,
}

impl Watch {
    /// Nothing seen yet; `level` in (0, 1) is that of the interval.
    pub fn new(level: f64) -> Self {
        let ln_bound = -(1.0 - level).max(1e-12).ln();
        Watch { ln_bound, sorted: Vec::new(), signs: 0, plus: 0, ln_e_max: 0.0, interval: None }
    }

    /// Takes the next log-ratio; one that is not finite is passed over, a zero has no sign.
    pub fn push(&mut self, value: f64) {
        if !value.is_finite() {
            return;
        }
        self.sorted.insert(self.sorted.partition_point(|other| *other < value), value);
        if value != 0.0 {
            self.signs += 1;
            self.plus += usize::from(value > 0.0);
            self.ln_e_max = self.ln_e_max.max(ln_e(self.signs, self.plus));
        }
        if let Some(now) = interval_now(&self.sorted, self.ln_bound) {
            self.interval = Some(self.interval.map_or(now, |before| meet(before, now)));
        }
    }

    /// The smallest 1/E so far, in (0, 1].
    pub fn p(&self) -> f64 {
        (-self.ln_e_max).exp().min(1.0)
    }

    /// What no look so far has rejected; `None` while that is the whole line.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.interval
    }

    /// Values so far.
    pub fn count(&self) -> usize {
        self.sorted.len()
    }

    /// Whether more values are above 0 than below.
    pub fn is_mostly_above(&self) -> bool {
        2 * self.plus > self.signs
    }

    /// Fewest further values after which p could be at most `p`: all of one sign.
    pub fn needed(&self, p: f64) -> u32 {
        let more = |n: &u32| {
            let signs = self.signs + *n as usize;
            let best = ln_e(signs, self.plus + *n as usize).max(ln_e(signs, self.plus));
            self.ln_e_max.max(best) >= -p.max(1e-12).ln() - 1e-9
        };
        (0..10_000).find(more).unwrap_or(u32::MAX)
    }
}

/// The common part of two intervals; the later one where they have none.
fn meet(before: (f64, f64), now: (f64, f64)) -> (f64, f64) {
    let both = (before.0.max(now.0), before.1.min(now.1));
    if both.0 <= both.1 { both } else { now }
}

fn interval_now(sorted: &[f64], ln_bound: f64) -> Option<(f64, f64)> {
    let n = sorted.len();
    let mut ln_e = n as f64 * std::f64::consts::LN_2 - ((n + 1) as f64).ln();
    let mut rejected = 0;
    while rejected <= n / 2 && ln_e >= ln_bound - 1e-12 {
        ln_e -= ((n - rejected) as f64 / (rejected + 1) as f64).ln();
        rejected += 1;
    }
    let low = *sorted.get(rejected.checked_sub(1)?)?;
    Some((low, sorted[n - rejected]))
}

/// Fewest blocks with which `comparisons` can be claimed: all signs equal.
///
/// ```
/// use pickfs_analysis::sequential::blocks_needed;
/// assert_eq!((blocks_needed(1, 0.05), blocks_needed(3, 0.05)), (8, 10));
/// ```
pub fn blocks_needed(comparisons: usize, alpha: f64) -> u32 {
    let bound = comparisons.max(1) as f64 / alpha.clamp(1e-9, 1.0);
    (crate::BLOCKS_MIN..).find(|&n| e_value(n as usize, 0) >= bound).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fortunes_by_hand() {
        assert_eq!(e_value(0, 0), 1.0);
        for (n, k, expected) in [(1, 0, 1.0), (4, 2, 16.0 / 30.0), (10, 1, 1024.0 / 110.0)] {
            assert!((e_value(n, k) - expected).abs() < 1e-12, "{n} {k}");
        }
    }

    /// A fortune is fair: its expectation over all signs is 1.
    #[test]
    fn the_bet_is_fair() {
        for n in 1..=12usize {
            let mean: f64 =
                (0..1usize << n).map(|signs| e_value(n, signs.count_ones() as usize)).sum::<f64>()
                    / (1usize << n) as f64;
            assert!((mean - 1.0).abs() < 1e-9, "{n} {mean}");
        }
    }

    #[test]
    fn eight_equal_signs_claim_and_seven_do_not() {
        let p = |n: usize| Sequential::new(&vec![0.1; n]).expect("finite").p();
        assert!(p(7) > 0.05 && p(8) <= 0.05);
        assert!((p(8) - 9.0 / 256.0).abs() < 1e-12);
    }

    #[test]
    fn what_is_needed_counts_the_signs_already_there() {
        let mut watch = Watch::new(0.95);
        assert_eq!(watch.needed(0.05), 8);
        (0..5).for_each(|_| watch.push(0.2));
        assert_eq!((watch.needed(0.05), watch.count(), watch.is_mostly_above()), (3, 5, true));
        watch.push(f64::NAN);
        watch.push(-0.1);
        // 2^12 / (13 x 12) is the first fortune over 20.
        assert_eq!(watch.needed(0.05), 6);
    }

    #[test]
    fn eight_values_have_the_smallest_and_the_largest_as_interval() {
        let values = [3.0, 1.0, 2.0, 8.0, 5.0, 4.0, 7.0, 6.0];
        let sequence = Sequential::new(&values).expect("finite");
        assert_eq!(sequence.interval(0.95), Some((1.0, 8.0)));
        assert_eq!(Sequential::new(&values[..7]).expect("finite").interval(0.95), None);
        assert_eq!(sequence.estimate(), 4.5);
    }

    proptest! {
        #[test]
        fn test_and_sequence_agree(values in prop::collection::vec(-1.0f64..1.0, 1..60)) {
            let sequence = Sequential::new(&values).expect("finite");
            let rejected = sequence.p() <= 0.05;
            let outside = sequence.interval(0.95).is_some_and(|(low, high)| low > 0.0 || high < 0.0);
            prop_assert!(!outside || rejected);
        }
    }
}
