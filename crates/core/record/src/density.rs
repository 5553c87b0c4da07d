//! How many operations of each second lay in each band of time, from the log that is kept by the second.

use std::collections::BTreeMap;

use crate::interval_log::intervals;

/// Bands of a factor of ten.
pub const BANDS_PER_DECADE: f64 = 6.0;

/// Longer than any trial: a log may come from an enemy.
const SECONDS_MAX: u32 = 10_000_000;

/// Operations by second and band; what cannot be read is left out.
pub fn density(interval_log: &str, tag: &str) -> BTreeMap<(u32, u32), u64> {
    let mut found = BTreeMap::new();
    for (_, interval) in intervals(interval_log).flatten().filter(|(_, own)| own.tag == tag) {
        let second = interval.start_s as u32;
        if second >= SECONDS_MAX {
            continue;
        }
        for one in interval.counted().unwrap_or_default() {
            let band = (one.middle.max(1) as f64).log10() * BANDS_PER_DECADE;
            let cell: &mut u64 = found.entry((second, band as u32)).or_insert(0);
            *cell = cell.saturating_add(one.times);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use pickfs_testkit::hdr_log;

    #[test]
    fn a_second_that_no_trial_has_is_left_out() {
        let of_second = |second| density(&hdr_log(&[("service", second, &[1_000])]), "service");
        assert_eq!(of_second(3).into_iter().collect::<Vec<_>>(), [((3, 18), 1)]);
        for second in [u64::from(u32::MAX), u64::from(u32::MAX) + 4, 10_000_000] {
            assert!(of_second(second).is_empty(), "{second}");
        }
    }
}
