use base64::{Engine, engine::general_purpose::STANDARD};
use hdrhistogram::{
    Histogram,
    serialization::{Serializer, V2DeflateSerializer},
};

use crate::{
    episode::EpisodeCounter,
    packed::counted_in,
    record::{QUANTILES, QuantileRow, Times},
};

/// Longest latency that a histogram holds: one minute.
pub const LONGEST_NS: u64 = 60_000_000_000;

/// Significant digits of every histogram: a value is off by 0.1 % at most.
pub const DIGITS: u8 = 3;

pub fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST_NS, DIGITS).expect("constant bounds are legal")
}

/// Times as they come in: a histogram, and beside it what it would round.
#[derive(Debug, Clone)]
pub struct Track {
    pub(crate) operations: Histogram<u64>,
    pub sum_ns: u128,
    /// `u64::MAX` when there is none.
    pub(crate) min_ns: u64,
    pub(crate) max_ns: u64,
    overflow: u64,
}

impl Default for Track {
    fn default() -> Track {
        Track { operations: histogram(), sum_ns: 0, min_ns: u64::MAX, max_ns: 0, overflow: 0 }
    }
}

impl Track {
    /// One whose pages have been written, so that an operation never faults one in.
    pub(crate) fn prefaulted() -> Track {
        let mut touched = Track::default();
        let mut value_ns = 1;
        while value_ns < LONGEST_NS {
            touched.operations.saturating_record(value_ns);
            value_ns += (value_ns / 512).max(1);
        }
        touched.clear();
        touched
    }

    pub(crate) fn clear(&mut self) {
        self.operations.reset();
        (self.sum_ns, self.min_ns, self.max_ns, self.overflow) = (0, u64::MAX, 0, 0);
    }

    #[inline]
    pub fn keep(&mut self, latency_ns: u64) {
        self.keep_times(latency_ns, 1);
    }

    #[inline]
    pub(crate) fn keep_times(&mut self, latency_ns: u64, times: u64) {
        self.operations.saturating_record_n(latency_ns, times);
        self.sum_ns += u128::from(latency_ns) * u128::from(times);
        self.min_ns = self.min_ns.min(latency_ns);
        self.max_ns = self.max_ns.max(latency_ns);
        self.overflow += times * u64::from(latency_ns > LONGEST_NS);
    }

    pub(crate) fn add(&mut self, other: &Track) -> Result<(), String> {
        self.operations.add(&other.operations).map_err(|error| error.to_string())?;
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.overflow += other.overflow;
        Ok(())
    }

    pub fn times(&self, episodes: &EpisodeCounter) -> Times {
        self.times_with(|_, value_ns| episodes.beyond(value_ns))
    }

    /// `episodes` says how many there are beyond a quantile's value.
    pub(crate) fn times_with(&self, episodes: impl Fn(f64, u64) -> u64) -> Times {
        let count = self.operations.len();
        if count == 0 {
            return Times::default();
        }
        let quantile = |&q: &f64| {
            let value_ns = self.operations.value_at_quantile(q).clamp(self.min_ns, self.max_ns);
            QuantileRow { q, value_ns, episodes: episodes(q, value_ns) }
        };
        let bessel = (count as f64 / (count - 1).max(1) as f64).sqrt();
        let mut encoded = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&self.operations, &mut encoded)
            .expect("writing to memory does not fail");
        Times {
            count,
            mean_ns: self.sum_ns as f64 / count as f64,
            sd_ns: self.operations.stdev() * bessel,
            min_ns: self.min_ns,
            max_ns: self.max_ns,
            quantiles: QUANTILES.iter().map(quantile).collect(),
            overflow: self.overflow,
            histogram: STANDARD.encode(encoded),
        }
    }

    fn of(times: &Times) -> Result<Track, String> {
        let counted = counted_in(&times.histogram)
            .map_err(|error| format!("a histogram cannot be read back: {error}"))?;
        let mut operations = histogram();
        for one in counted {
            operations.saturating_record_n(one.middle, one.times);
        }
        Ok(Track {
            operations,
            sum_ns: (times.mean_ns * times.count as f64).round() as u128,
            min_ns: times.min_ns,
            max_ns: times.max_ns,
            overflow: times.overflow,
        })
    }
}

impl Times {
    /// With what lanes are merged from: how often each time was seen.
    #[must_use]
    pub fn seen(self, times: impl Iterator<Item = (u64, u64)>) -> Times {
        let mut track = Track::default();
        times.for_each(|(time_ns, times)| track.keep_times(time_ns, times));
        Times { histogram: track.times_with(|_, _| 0).histogram, ..self }
    }

    /// Of several threads or lanes of one trial, from their histograms. Never over trials (validity
    /// rule 16).
    pub fn merged(parts: &[&Times]) -> Result<Times, String> {
        let mut all = Track::default();
        for part in parts.iter().filter(|part| part.count > 0) {
            all.add(&Track::of(part)?)?;
        }
        Ok(all.times_with(|q, value_ns| episodes_at_least(parts, q, value_ns)))
    }
}

/// Episodes beyond a merged quantile, at least: those of the one part that had most. A part whose own
/// quantile is lower counted shorter operations, too, and says nothing; some part's is never lower, but for
/// the rounding of the histogram.
fn episodes_at_least(parts: &[&Times], q: f64, value_ns: u64) -> u64 {
    let floor_ns = value_ns - value_ns / 500;
    let rows = parts.iter().filter_map(|part| part.quantile(q));
    rows.filter(|row| row.value_ns >= floor_ns).map(|row| row.episodes).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_never_exceed_the_exact_maximum() {
        let (mut operations, mut episodes) = (Track::default(), EpisodeCounter::default());
        for operation in [100_001u64, 100_003, 7_000_009] {
            operations.keep(operation);
            episodes.record(operation);
        }
        let times = operations.times(&episodes);
        let at = |q| times.quantile(q).expect("recorded");
        assert!((100_001..100_101).contains(&at(0.001).value_ns));
        assert_eq!((at(0.99999).value_ns, at(0.5).episodes), (7_000_009, 1));
        assert!((times.mean_ns - 2_400_004.333).abs() < 0.01);
        assert!((times.sd_ns / 3_983_720.0 - 1.0).abs() < 0.01, "{}", times.sd_ns);
        assert_eq!(Track::default().times(&episodes), Times::default());
    }
}
