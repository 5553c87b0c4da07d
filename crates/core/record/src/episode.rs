//! Episodes: runs of adjacent slow operations, counted for every threshold at once
//! (validity rule 7: ten episodes, not ten samples).
//!
//! An operation opens an episode at each threshold that lies above the operation before and at or
//! below itself. Buckets are a sixteenth of an octave, so one difference array of
//! counts answers for all thresholds, and an operation costs two additions at most.

const SUB_BITS: u32 = 4;
const BUCKETS: usize = 64 << SUB_BITS;

#[derive(Debug, Clone)]
pub struct EpisodeCounter {
    /// Opened at this bucket's threshold minus opened at the bucket before.
    steps: Box<[i64]>,
    previous: usize,
}

impl Default for EpisodeCounter {
    fn default() -> Self {
        EpisodeCounter { steps: vec![0; BUCKETS + 1].into_boxed_slice(), previous: 0 }
    }
}

impl EpisodeCounter {
    #[inline]
    pub fn record(&mut self, latency_ns: u64) {
        let bucket = bucket_of(latency_ns);
        if bucket > self.previous {
            self.steps[self.previous + 1] += 1;
            self.steps[bucket + 1] -= 1;
        }
        self.previous = bucket;
    }

    /// Episodes of operations above `threshold_ns`, to the precision of a bucket (6 %).
    pub fn beyond(&self, threshold_ns: u64) -> u64 {
        let above = (bucket_of(threshold_ns) + 1).min(BUCKETS);
        self.steps[..=above].iter().sum::<i64>().max(0) as u64
    }
}

#[inline]
fn bucket_of(latency_ns: u64) -> usize {
    let value = latency_ns | 1;
    let octave = 63 - value.leading_zeros();
    let sub = if octave >= SUB_BITS {
        (value >> (octave - SUB_BITS)) & ((1 << SUB_BITS) - 1)
    } else {
        (value << (SUB_BITS - octave)) & ((1 << SUB_BITS) - 1)
    };
    ((octave as usize) << SUB_BITS) + sub as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(operations: &[u64]) -> EpisodeCounter {
        let mut counter = EpisodeCounter::default();
        operations.iter().for_each(|operation| counter.record(*operation));
        counter
    }

    #[test]
    fn adjacent_slow_operations_are_one_episode() {
        let counter = counted(&[100, 100, 9_000, 8_000, 9_500, 100, 100, 7_000, 100]);
        assert_eq!(counter.beyond(1_000), 2);
        assert_eq!(counter.beyond(20_000), 0);
    }

    #[test]
    fn a_step_within_an_episode_opens_one_only_above_it() {
        let counter = counted(&[100, 5_000, 50_000, 5_000, 50_000, 100]);
        assert_eq!(counter.beyond(1_000), 1);
        assert_eq!(counter.beyond(10_000), 2);
    }

    #[test]
    fn a_naive_count_agrees_at_every_threshold() {
        let mut rng = fastrand::Rng::with_seed(3);
        let mut operation = || {
            let bits = rng.u32(4..30);
            rng.u64(1..=1 << bits)
        };
        let operations: Vec<u64> = (0..5_000).map(|_| operation()).collect();
        let counter = counted(&operations);
        for threshold in [20u64, 1 << 10, 3 << 14, 1 << 22, 1 << 29] {
            let edge = bucket_of(threshold);
            let mut naive = 0;
            let mut inside = false;
            for operation in &operations {
                let slow = bucket_of(*operation) > edge;
                naive += u64::from(slow && !inside);
                inside = slow;
            }
            assert_eq!(counter.beyond(threshold), naive, "threshold {threshold}");
        }
    }

    #[test]
    fn buckets_rise_with_the_value() {
        let mut previous = 0;
        for shift in 0..640 {
            let bucket = bucket_of((1u128 << (shift / 10)) as u64);
            assert!(bucket >= previous && bucket < BUCKETS);
            previous = bucket;
        }
        assert!(bucket_of(u64::MAX) < BUCKETS);
    }
}
