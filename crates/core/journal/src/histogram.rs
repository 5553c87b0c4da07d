//! A histogram of durations with buckets that grow with the value: within 3.2 % of the truth over
//! the whole range, 1,920 counters, no allocation after it is made.

const STEPS: u64 = 32;
const STEP_BITS: u32 = STEPS.trailing_zeros();
const BUCKETS: usize = ((64 - STEP_BITS as usize) + 1) * STEPS as usize;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    counts: Box<[u64; BUCKETS]>,
    count: u64,
    sum_ns: u64,
    max_ns: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: Box::new([0; BUCKETS]), count: 0, sum_ns: 0, max_ns: 0 }
    }
}

impl Histogram {
    #[inline]
    pub fn record(&mut self, duration_ns: u64) {
        self.counts[bucket(duration_ns)] += 1;
        self.count += 1;
        self.sum_ns = self.sum_ns.saturating_add(duration_ns);
        self.max_ns = self.max_ns.max(duration_ns);
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn sum_ns(&self) -> u64 {
        self.sum_ns
    }

    /// Exact; 0 if there is none.
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// The smallest duration that at least this share (from 0 to 1) of all do not exceed; rounded up to
    /// its bucket, at most [`Self::max_ns`]; 0 if there is none.
    pub fn quantile_ns(&self, share: f64) -> u64 {
        let wanted = (share.clamp(0.0, 1.0) * self.count as f64).ceil().max(1.0) as u64;
        let mut below = 0;
        for (at, count) in self.counts.iter().enumerate() {
            below += count;
            if below >= wanted {
                return upper_ns(at).min(self.max_ns);
            }
        }
        self.max_ns
    }

    /// To the precision of a bucket.
    pub fn count_up_to(&self, limit_ns: u64) -> u64 {
        self.counts[..=bucket(limit_ns)].iter().sum()
    }

    pub fn add(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts.iter()) {
            *count += more;
        }
        self.count += other.count;
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    pub fn clear(&mut self) {
        self.counts.fill(0);
        (self.count, self.sum_ns, self.max_ns) = (0, 0, 0);
    }
}

fn bucket(value: u64) -> usize {
    let doublings = u64::from((value | (STEPS - 1)).ilog2() + 1 - STEP_BITS);
    // Below STEPS the bucket is the value itself; above, its first bits behind the leading one.
    let within = if doublings == 0 { value } else { (value >> (doublings - 1)) & (STEPS - 1) };
    (doublings * STEPS + within) as usize
}

fn upper_ns(bucket: usize) -> u64 {
    let (doublings, within) = (bucket as u64 / STEPS, bucket as u64 % STEPS);
    match doublings {
        0 => within,
        _ => {
            let lower = u128::from(STEPS + within) << (doublings - 1);
            let upper = lower + (1 << (doublings - 1)) - 1;
            u64::try_from(upper).unwrap_or(u64::MAX)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_a_bucket_whose_border_is_within_a_thirtysecond() {
        for shift in 0..64 {
            for value in [
                1 << shift,
                (1 << shift) + (1u64 << shift) / 3,
                (1u64 << shift).wrapping_mul(2).wrapping_sub(1),
            ] {
                let upper = upper_ns(bucket(value));
                assert!(upper >= value && upper - value <= value / 32, "{value} {upper}");
            }
        }
        assert_eq!(upper_ns(bucket(u64::MAX)), u64::MAX);
    }

    #[test]
    fn quantiles_and_the_exact_maximum() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile_ns(0.5), 0);
        (1..=1000).for_each(|value| histogram.record(value * 1000));
        let median = histogram.quantile_ns(0.5);
        assert!((500_000..516_000).contains(&median), "{median}");
        assert_eq!((histogram.max_ns(), histogram.count()), (1_000_000, 1000));
        assert_eq!(histogram.quantile_ns(1.0), 1_000_000);
        let mut twice = histogram.clone();
        twice.add(&histogram);
        assert_eq!((twice.count(), twice.quantile_ns(0.5)), (2000, median));
    }
}
