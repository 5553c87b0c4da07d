//! The lists that are written, each element worked out from its index: what was written can be
//! compared at any time without having been kept.
//!
//! ```text
//! original   | 0 .. N/4-1 | 42 ... | the first quarter in random order | random 0..9 | -42 for N mod 4 |
//! random     | 64 random bits for each element, others in every lane; floats are finite            |
//! ```
//!
//! Floats of the original: the same with 0.1 added, 42.2, two decimals up to 100, and -1089.3. Its huge
//! list counts from 0. All of that compresses well and is the same in every lane.

use pickfs_sys::huge_pages;

use super::shuffle::Shuffle;
use crate::journal::scrambled;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Bytes that do not compress, others in each lane.
    Random,
    Nano,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListKind {
    Long,
    Float,
    /// Whole numbers from 0 on, in the original's profile; else as long.
    Counting,
}

#[derive(Debug, Clone, Copy)]
pub struct List {
    kind: ListKind,
    profile: Profile,
    count: u64,
    seed: u64,
    quarter: Shuffle,
}

impl List {
    pub fn new(kind: ListKind, profile: Profile, count: u64, seed: u64) -> List {
        let quarter = Shuffle::new((count / 4).max(1), seed);
        List { kind, profile, count, seed, quarter }
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    /// The element at an index, as its 64 bits.
    #[inline]
    pub fn element(&self, index: u64) -> u64 {
        match (self.profile, self.kind) {
            (Profile::Random, ListKind::Float) => finite(scrambled(self.seed, index)),
            (Profile::Random, _) => scrambled(self.seed, index),
            (Profile::Nano, ListKind::Counting) => index,
            (Profile::Nano, ListKind::Long) => self.nano_long(index) as u64,
            (Profile::Nano, ListKind::Float) => self.nano_float(index).to_bits(),
        }
    }

    pub fn fill(&self, from: u64, into: &mut [u64]) {
        for (index, place) in (from..).zip(into) {
            *place = self.element(index);
        }
    }

    pub fn whole(&self) -> Vec<u64> {
        let mut all = vec![0; self.count as usize];
        huge_pages::ask_for(&mut all);
        self.fill(0, &mut all);
        all
    }

    fn nano_long(&self, index: u64) -> i64 {
        let quarter = self.count / 4;
        match index.checked_div(quarter) {
            Some(0) => index as i64,
            Some(1) => 42,
            Some(2) => self.quarter.at(index - 2 * quarter) as i64,
            Some(3) => (scrambled(self.seed, index) % 10) as i64,
            _ => -42,
        }
    }

    fn nano_float(&self, index: u64) -> f64 {
        let quarter = self.count / 4;
        match index.checked_div(quarter) {
            Some(0) => index as f64 + 0.1,
            Some(1) => 42.2,
            Some(2) => self.quarter.at(index - 2 * quarter) as f64 + 0.1,
            Some(3) => (scrambled(self.seed, index) % 10_010) as f64 / 100.0,
            _ => -1089.3,
        }
    }
}

/// Random bits as a number that is neither infinite nor NaN.
fn finite(bits: u64) -> u64 {
    const EXPONENT: u64 = 0x7ff << 52;
    if bits & EXPONENT == EXPONENT { bits ^ (1 << 52) } else { bits }
}

/// What a file is grown from by repeated appends: the original appends the same list each time; else each
/// append takes another window of a list four times as long, so that no two of them are equal.
#[derive(Debug)]
pub struct Windows {
    elements: Vec<u64>,
    length: usize,
    seed: u64,
}

impl Windows {
    pub fn new(profile: Profile, length: u64, seed: u64) -> Windows {
        let count = if profile == Profile::Nano { length } else { 4 * length };
        let list = List::new(ListKind::Long, profile, count, seed);
        Windows { elements: list.whole(), length: length as usize, seed }
    }

    #[inline]
    pub fn at(&self, append: u64) -> &[u64] {
        let places = (self.elements.len() - self.length + 1) as u64;
        let place = (scrambled(!self.seed, append) % places) as usize;
        &self.elements[place..place + self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_original_list_has_four_quarters_and_a_rest() {
        let list = List::new(ListKind::Long, Profile::Nano, 43, 7).whole();
        let signed: Vec<i64> = list.iter().map(|element| *element as i64).collect();
        assert!(signed[..10].iter().copied().eq(0..10));
        assert_eq!(signed[10..20], [42; 10]);
        let mut third = signed[20..30].to_vec();
        third.sort_unstable();
        assert!(third.into_iter().eq(0..10));
        assert!(signed[30..40].iter().all(|element| (0..10).contains(element)));
        assert_eq!(signed[40..], [-42; 3]);
    }

    #[test]
    fn the_original_floats_stand_a_tenth_above() {
        let list = List::new(ListKind::Float, Profile::Nano, 41, 7).whole();
        let floats: Vec<f64> = list.iter().map(|bits| f64::from_bits(*bits)).collect();
        assert_eq!((floats[0], floats[9], floats[10], floats[40]), (0.1, 9.1, 42.2, -1089.3));
        assert!(floats[30..40].iter().all(|float| (0.0..100.1).contains(float)));
    }

    #[test]
    fn random_lists_differ_by_seed_and_floats_are_numbers() {
        let list = |kind, seed| List::new(kind, Profile::Random, 10_000, seed).whole();
        assert_ne!(list(ListKind::Long, 1), list(ListKind::Long, 2));
        assert!(list(ListKind::Float, 3).iter().all(|bits| f64::from_bits(*bits).is_finite()));
        assert!(f64::from_bits(finite(u64::MAX)).is_finite());
        assert!(f64::from_bits(finite(0x7ff0 << 48)).is_finite());
    }

    #[test]
    fn a_part_is_the_same_part_of_the_whole() {
        for profile in [Profile::Random, Profile::Nano] {
            let list = List::new(ListKind::Counting, profile, 1000, 5);
            let mut part = [0; 10];
            list.fill(500, &mut part);
            assert_eq!(part, list.whole()[500..510]);
        }
        assert_eq!(List::new(ListKind::Counting, Profile::Nano, 5, 1).whole(), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn appends_of_the_original_are_equal_and_others_are_not() {
        let nano = Windows::new(Profile::Nano, 100, 1);
        assert_eq!((nano.at(0), nano.at(0).len()), (nano.at(9), 100));
        let random = Windows::new(Profile::Random, 100, 1);
        assert_ne!(random.at(0), random.at(1));
        assert_eq!(random.at(5).len(), 100);
    }

    #[test]
    fn tiny_counts_have_only_a_rest() {
        assert_eq!(List::new(ListKind::Long, Profile::Nano, 3, 1).whole(), [-42i64 as u64; 3]);
    }
}
