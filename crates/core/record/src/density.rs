//! How many operations of each second lay in each band of time, from the log that is kept by the second.

use std::collections::BTreeMap;

use base64::{Engine, prelude::BASE64_STANDARD};
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

use crate::times::decoded;

/// Bands of a factor of ten.
pub const BANDS_PER_DECADE: f64 = 6.0;

/// Operations by second and band; what cannot be read is left out.
pub fn density(interval_log: &str, tag: &str) -> BTreeMap<(u32, u32), u64> {
    let mut found = BTreeMap::new();
    for entry in IntervalLogIterator::new(interval_log.as_bytes()) {
        let Ok(LogEntry::Interval(interval)) = entry else { continue };
        if interval.tag().is_none_or(|own| own.as_str() != tag) {
            continue;
        }
        let bytes = BASE64_STANDARD.decode(interval.encoded_histogram()).unwrap_or_default();
        let Ok(histogram) = decoded(&bytes) else { continue };
        let second = interval.start_timestamp().as_secs() as u32;
        for value in histogram.iter_recorded() {
            let band = (value.value_iterated_to().max(1) as f64).log10() * BANDS_PER_DECADE;
            *found.entry((second, band as u32)).or_insert(0) += value.count_at_value();
        }
    }
    found
}
