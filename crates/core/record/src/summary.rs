use hdrhistogram::{
    Histogram,
    serialization::{Serializer, V2DeflateSerializer},
};

use crate::episode::EpisodeCounter;

/// Longest latency that a histogram holds: one minute.
pub const LONGEST_NS: u64 = 60_000_000_000;

/// Significant digits of every histogram: a value is off by 0.1 % at most.
pub const DIGITS: u8 = 3;

pub fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST_NS, DIGITS).expect("constant bounds are legal")
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Summary {
    pub count: u64,
    pub mean_ns: f64,
    /// Standard deviation (n - 1), to the histogram's precision.
    pub sd_ns: f64,
    pub min_ns: u64,
    pub max_ns: u64,
    pub quantiles: Vec<QuantileValue>,
    /// Laps longer than [`LONGEST_NS`].
    pub overflow: u64,
    /// HdrHistogram V2 + DEFLATE.
    pub encoded: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuantileValue {
    /// Share of the laps at or below.
    pub q: f64,
    pub value_ns: u64,
    /// Episodes beyond it; over several threads or lanes a lower bound (see `merge`).
    pub episodes: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Exact {
    pub sum_ns: u64,
    /// Smallest lap; `u64::MAX` when there is none.
    pub min_ns: u64,
    pub max_ns: u64,
    /// Laps longer than [`LONGEST_NS`].
    pub overflow: u64,
}

impl Summary {
    pub fn of(
        histogram: &Histogram<u64>,
        exact: Exact,
        episodes: &EpisodeCounter,
        quantiles: &[f64],
    ) -> Summary {
        let count = histogram.len();
        if count == 0 {
            return Summary::default();
        }
        let quantile = |q: &f64| {
            let value_ns = histogram.value_at_quantile(*q).clamp(exact.min_ns, exact.max_ns);
            QuantileValue { q: *q, value_ns, episodes: episodes.beyond(value_ns) }
        };
        let bessel = (count as f64 / (count - 1).max(1) as f64).sqrt();
        Summary {
            count,
            mean_ns: exact.sum_ns as f64 / count as f64,
            sd_ns: histogram.stdev() * bessel,
            min_ns: exact.min_ns,
            max_ns: exact.max_ns,
            quantiles: quantiles.iter().map(quantile).collect(),
            overflow: exact.overflow,
            encoded: encode(histogram),
        }
    }
}

pub(crate) fn encode(histogram: &Histogram<u64>) -> Vec<u8> {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .expect("writing to memory does not fail");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_never_exceed_the_exact_maximum() {
        let mut laps = histogram();
        let mut episodes = EpisodeCounter::default();
        for lap in [100_001u64, 100_003, 7_000_009] {
            laps.saturating_record(lap);
            episodes.lap(lap);
        }
        let exact = Exact { sum_ns: 7_200_013, min_ns: 100_001, max_ns: 7_000_009, overflow: 0 };
        let summary = Summary::of(&laps, exact, &episodes, &[0.001, 0.5, 0.99999]);
        assert!((100_001..100_101).contains(&summary.quantiles[0].value_ns));
        assert_eq!(summary.quantiles[2].value_ns, 7_000_009);
        assert_eq!(summary.quantiles[1].episodes, 1);
        assert!((summary.mean_ns - 2_400_004.333).abs() < 0.01);
        assert!((summary.sd_ns / 3_983_720.0 - 1.0).abs() < 0.01, "{}", summary.sd_ns);
    }

    #[test]
    fn nothing_measured_is_all_zero() {
        let summary =
            Summary::of(&histogram(), Exact::default(), &EpisodeCounter::default(), &[0.5]);
        assert_eq!(summary, Summary::default());
    }
}
