//! Permutations without a list: the place of each number under a random order of `0..count`, worked
//! out when it is asked for.
//! A Feistel network over the next power of four, walked until the number is in range (Black and
//! Rogaway, Ciphers with Arbitrary Finite Domains, 2002).

use crate::journal::scrambled;

const ROUNDS: u64 = 4;

#[derive(Debug, Clone, Copy)]
pub(super) struct Shuffle {
    count: u64,
    seed: u64,
    half_bits: u32,
}

impl Shuffle {
    /// `count` is at most 2^62.
    pub(super) fn new(count: u64, seed: u64) -> Shuffle {
        let bits = u64::BITS - count.saturating_sub(1).leading_zeros();
        Shuffle { count, seed, half_bits: bits.div_ceil(2).max(1) }
    }

    #[inline]
    pub(super) fn at(&self, place: u64) -> u64 {
        assert!(place < self.count, "place {place} of {}", self.count);
        let mut number = self.step(place);
        while number >= self.count {
            number = self.step(number);
        }
        number
    }

    pub(super) fn first(&self, length: u64) -> Vec<u64> {
        (0..length.min(self.count)).map(|place| self.at(place)).collect()
    }

    #[inline]
    fn step(&self, number: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let (mut left, mut right) = (number >> self.half_bits, number & mask);
        for round in 0..ROUNDS {
            let mixed = scrambled(self.seed ^ (round << 56), right) >> 32;
            (left, right) = (right, left ^ (mixed & mask));
        }
        left << self.half_bits | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_stands_at_one_place() {
        for count in [1, 2, 3, 5, 16, 17, 1000, 65_536] {
            let mut all = Shuffle::new(count, 7).first(count);
            all.sort_unstable();
            assert!(all.into_iter().eq(0..count), "{count}");
        }
    }

    #[test]
    fn orders_of_other_seeds_are_others_and_no_order_is_the_plain_one() {
        let order = |seed| Shuffle::new(1000, seed).first(1000);
        assert_ne!(order(1), order(2));
        let fixed = order(1).iter().enumerate().filter(|(at, n)| *at as u64 == **n).count();
        assert!(fixed < 10, "{fixed} of 1000 stand where they stood");
    }

    #[test]
    fn a_short_beginning_is_spread_over_the_whole() {
        let first = Shuffle::new(1 << 20, 3).first(1000);
        let upper = first.iter().filter(|number| **number >= 1 << 19).count();
        assert!((400..600).contains(&upper), "{upper} of 1000 in the upper half");
    }
}
