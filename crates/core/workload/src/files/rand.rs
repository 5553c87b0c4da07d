//! Not a good generator, and not used where nobody compares.
//! Source: random(3); the additive feedback generator of degree 31 (TYPE_3) with the trinomial
//! `x^31 + x^3 + 1`, seeded by the Lehmer generator 16807 mod 2^31 - 1. The expected values of the
//! tests were printed by the C library itself.

const DEGREE: usize = 31;
/// How far the two taps are apart.
const SEPARATION: usize = 3;
/// Numbers that are thrown away after seeding.
const DISCARDED: u32 = 310;

#[derive(Debug, Clone)]
pub(super) struct CRand {
    state: [u32; DEGREE],
    back: usize,
}

impl CRand {
    /// What `srand(seed)` leaves behind; a seed of 0 is taken as 1.
    pub(super) fn new(seed: u32) -> CRand {
        let mut state = [0; DEGREE];
        let mut word = if seed == 0 { 1 } else { seed as i32 };
        for place in &mut state {
            *place = word as u32;
            word = lehmer(word);
        }
        let mut stream = CRand { state, back: 0 };
        stream.skip(DISCARDED);
        stream
    }

    pub(super) fn skip(&mut self, count: u32) {
        for _ in 0..count {
            self.next();
        }
    }

    #[inline]
    pub(super) fn next(&mut self) -> u32 {
        let front = (self.back + SEPARATION) % DEGREE;
        let sum = self.state[front].wrapping_add(self.state[self.back]);
        self.state[front] = sum;
        self.back = if self.back + 1 == DEGREE { 0 } else { self.back + 1 };
        sum >> 1
    }

    #[inline]
    pub(super) fn below(&mut self, modulus: u32) -> u32 {
        self.next() % modulus
    }
}

/// 16807 x word mod 2^31 - 1 in signed arithmetic, as the C library computes it: a negative
/// remainder is lifted by the modulus.
fn lehmer(word: i32) -> i32 {
    let (high, low) = (word / 127_773, word % 127_773);
    let next = 16_807i32.wrapping_mul(low).wrapping_sub(2_836i32.wrapping_mul(high));
    if next < 0 { next.wrapping_add(i32::MAX) } else { next }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(seed: u32) -> [u32; 8] {
        let mut stream = CRand::new(seed);
        std::array::from_fn(|_| stream.next())
    }

    #[test]
    fn the_first_numbers_are_those_of_the_c_library() {
        let of_42 = [
            71_876_166,
            708_592_740,
            1_483_128_881,
            907_283_241,
            442_951_012,
            537_146_758,
            1_366_999_021,
            1_854_614_940,
        ];
        let of_7 = [
            1_045_618_677,
            1_863_967_299,
            1_272_579_899,
            461_085_871,
            21_961_325,
            1_105_564_443,
            2_138_782_586,
            68_574_097,
        ];
        assert_eq!(first(42), of_42);
        assert_eq!(first(7), of_7);
    }

    #[test]
    fn a_long_way_in_it_is_still_the_same() {
        let mut stream = CRand::new(42);
        let last = (0..100_000).map(|_| stream.next()).last();
        assert_eq!(last, Some(1_947_218_706));
    }

    #[test]
    fn seeds_beyond_the_signed_range_and_zero_are_taken_as_the_c_library_takes_them() {
        assert_eq!(first(0), first(1));
        assert_eq!(first(3_000_000_000), OF_3_000_000_000);
        assert_eq!(first(u32::MAX), OF_THE_LARGEST);
    }

    const OF_3_000_000_000: [u32; 8] = [
        2_058_147_116,
        854_483_408,
        922_419_988,
        286_396_165,
        2_068_523_933,
        1_172_167_191,
        573_677_598,
        1_899_216_469,
    ];
    const OF_THE_LARGEST: [u32; 8] = [
        254_925_627,
        1_205_188_300,
        366_127_624,
        1_401_405_153,
        76_053_476,
        1_604_170_158,
        1_302_235_366,
        362_229_243,
    ];
}
