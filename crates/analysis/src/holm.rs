//! Holm's correction: several comparisons, one error rate for all of them.
//!
//! S. Holm, "A simple sequentially rejective multiple test procedure",
//! Scandinavian Journal of Statistics 6 (1979). Not for exploratory
//! comparisons: they are shown without a claim.
//!
//! ```
//! let adjusted = pickfs_analysis::holm::adjusted(&[0.01, 0.04, 0.03]);
//! assert_eq!(adjusted, [0.03, 0.06, 0.06]);
//! ```

/// p values after the correction, in the given order. Each lies in [0, 1];
/// what is not a number counts as 1.
pub fn adjusted(p: &[f64]) -> Vec<f64> {
    let clean: Vec<f64> =
        p.iter().map(|&p| if p.is_nan() { 1.0 } else { p.clamp(0.0, 1.0) }).collect();
    let mut order: Vec<usize> = (0..clean.len()).collect();
    order.sort_by(|&a, &b| clean[a].total_cmp(&clean[b]));
    let mut adjusted = vec![1.0; clean.len()];
    let mut largest = 0.0f64;
    for (rank, &index) in order.iter().enumerate() {
        let factor = (clean.len() - rank) as f64;
        largest = largest.max((clean[index] * factor).min(1.0));
        adjusted[index] = largest;
    }
    adjusted
}

/// How many comparisons stay open at `alpha`: the factor at which the procedure stopped.
///
/// No open comparison has a p of `alpha` divided by this number or less, so an
/// interval at the level 1 - `alpha` / open holds "no difference" for each of them.
pub fn open(adjusted: &[f64], alpha: f64) -> usize {
    adjusted.iter().filter(|&&p| p > alpha).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Worked by hand: 0.005 x 4, 0.01 x 3, 0.03 x 2, then 0.04 x 1 raised to 0.06.
    #[test]
    fn four_values_by_hand() {
        let adjusted = adjusted(&[0.01, 0.04, 0.03, 0.005]);
        for (found, expected) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found - expected).abs() < 1e-12, "{adjusted:?}");
        }
        assert_eq!(open(&adjusted, 0.05), 2);
    }

    #[test]
    fn nothing_in_gives_nothing_out_and_nan_is_no_evidence() {
        assert!(adjusted(&[]).is_empty());
        assert_eq!(adjusted(&[f64::NAN, 0.01]), [1.0, 0.02]);
    }

    proptest! {
        #[test]
        fn corrected_values_are_no_smaller_and_keep_their_order(
            p in prop::collection::vec(0.0f64..=1.0, 0..12)
        ) {
            let adjusted = adjusted(&p);
            for (i, j) in (0..p.len()).flat_map(|i| (0..p.len()).map(move |j| (i, j))) {
                prop_assert!(adjusted[i] >= p[i] && adjusted[i] <= 1.0);
                prop_assert!(p[i] > p[j] || adjusted[i] <= adjusted[j]);
            }
            let open = open(&adjusted, 0.05);
            for (p, adjusted) in p.iter().zip(&adjusted) {
                prop_assert!(*adjusted <= 0.05 || *p * open as f64 > 0.05);
            }
        }
    }
}
