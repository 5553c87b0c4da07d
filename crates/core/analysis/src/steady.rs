//! Its first third against its last third (rule 3).

use pickfs_record::record::Second;

use crate::summary::spread;

pub const UNSTEADY_RATIO: f64 = 1.1;
/// Seconds that the test needs: three thirds of two.
pub const SECONDS_MIN: usize = 6;

/// Median of the last third over the median of the first third of the seconds'
/// medians; absent under six seconds with operations.
pub fn thirds_ratio(rows: &[Second]) -> Option<f64> {
    let (first, last) = thirds(rows)?;
    Some(spread(&last).median / spread(&first).median)
}

/// Whether the trial moved: the thirds differ by more than [`UNSTEADY_RATIO`] and no
/// second of the one lies among the seconds of the other.
pub fn is_unsteady(rows: &[Second]) -> bool {
    let Some((first, last)) = thirds(rows) else { return false };
    let (first, last) = (spread(&first), spread(&last));
    let apart = first.high < last.low || last.high < first.low;
    let ratio = last.median / first.median;
    apart && !(1.0 / UNSTEADY_RATIO..=UNSTEADY_RATIO).contains(&ratio)
}

fn thirds(rows: &[Second]) -> Option<(Vec<f64>, Vec<f64>)> {
    let medians: Vec<f64> = rows
        .iter()
        .filter(|row| row.count > 0 && row.service_p50_ns > 0)
        .map(|row| row.service_p50_ns as f64)
        .collect();
    if medians.len() < SECONDS_MIN {
        return None;
    }
    let third = medians.len() / 3;
    Some((medians[..third].to_vec(), medians[medians.len() - third..].to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(medians: &[u64]) -> Vec<Second> {
        let row = |(second, &service_p50_ns): (usize, &u64)| Second {
            second: second as u32,
            count: 10,
            service_min_ns: 1,
            service_p50_ns,
            service_max_ns: service_p50_ns * 9,
            response_max_ns: 0,
        };
        medians.iter().enumerate().map(row).collect()
    }

    #[test]
    fn a_step_is_seen_and_its_ratio_is_exact() {
        let step = rows(&[300, 310, 290, 250, 200, 205, 195, 200, 200]);
        assert_eq!(thirds_ratio(&step), Some(200.0 / 300.0));
        assert!(is_unsteady(&step));
    }

    #[test]
    fn one_slow_second_is_no_trend_and_short_trials_are_not_judged() {
        assert!(!is_unsteady(&rows(&[200, 201, 199, 200, 200, 200, 200, 600, 200])));
        assert!(!is_unsteady(&rows(&[100, 100, 900, 900, 900])));
        assert_eq!(thirds_ratio(&rows(&[0; 9])), None);
    }
}
