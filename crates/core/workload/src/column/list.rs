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

use std::ops::Range;

use pickfs_sys::huge_pages;

use super::shuffle::Shuffle;
use crate::journal::scrambled;

const ELEMENT_BYTES: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListKind {
    Long,
    Float,
    /// Whole numbers from 0 on, in the original; else as long.
    Counting,
}

#[derive(Debug, Clone, Copy)]
pub struct List {
    kind: ListKind,
    /// As the original has it.
    is_nano: bool,
    pub count: u64,
    seed: u64,
    quarter: Shuffle,
}

impl List {
    pub fn new(kind: ListKind, is_nano: bool, count: u64, seed: u64) -> List {
        let quarter = Shuffle::new((count / 4).max(1), seed);
        List { kind, is_nano, count, seed, quarter }
    }

    /// The element at an index, as its 64 bits.
    #[inline]
    pub fn element(&self, index: u64) -> u64 {
        match (self.is_nano, self.kind) {
            (false, ListKind::Float) => finite(scrambled(self.seed, index)),
            (false, _) => scrambled(self.seed, index),
            (true, ListKind::Counting) => index,
            (true, ListKind::Long) => self.nano_long(index) as u64,
            (true, ListKind::Float) => self.nano_float(index).to_bits(),
        }
    }

    /// The elements of a range of indexes.
    pub fn bytes(&self, range: Range<u64>) -> Vec<u8> {
        let mut bytes = vec![0; (range.end - range.start) as usize * ELEMENT_BYTES];
        huge_pages::ask_for(&mut bytes);
        for (index, place) in range.zip(bytes.chunks_exact_mut(ELEMENT_BYTES)) {
            place.copy_from_slice(&self.element(index).to_le_bytes());
        }
        bytes
    }

    pub fn whole(&self) -> Vec<u8> {
        self.bytes(0..self.count)
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
    bytes: Vec<u8>,
    length: u64,
    seed: u64,
}

impl Windows {
    pub fn new(is_nano: bool, length: u64, seed: u64) -> Windows {
        let count = if is_nano { length } else { 4 * length };
        let bytes = List::new(ListKind::Long, is_nano, count, seed).whole();
        Windows { bytes, length, seed }
    }

    #[inline]
    pub fn at(&self, append: u64) -> &[u8] {
        let places = (self.bytes.len() / ELEMENT_BYTES) as u64 - self.length + 1;
        let place = (scrambled(!self.seed, append) % places) as usize;
        &self.bytes[ELEMENT_BYTES * place..][..ELEMENT_BYTES * self.length as usize]
    }

    /// One element of what an append takes.
    pub fn element(&self, append: u64, index: u64) -> u64 {
        let element = &self.at(append)[ELEMENT_BYTES * index as usize..][..ELEMENT_BYTES];
        u64::from_le_bytes(element.try_into().expect("eight bytes"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elements(list: List) -> Vec<u64> {
        (0..list.count).map(|index| list.element(index)).collect()
    }

    #[test]
    fn the_original_list_has_four_quarters_and_a_rest() {
        let list = elements(List::new(ListKind::Long, true, 43, 7));
        let signed: Vec<i64> = list.iter().map(|element| *element as i64).collect();
        assert!(signed[..10].iter().copied().eq(0..10));
        assert_eq!(signed[10..20], [42; 10]);
        let mut third = signed[20..30].to_vec();
        third.sort_unstable();
        assert!(third.into_iter().eq(0..10));
        assert!(signed[30..40].iter().all(|element| (0..10).contains(element)));
        assert_eq!(signed[40..], [-42; 3]);
        assert_eq!(elements(List::new(ListKind::Long, true, 3, 1)), [-42i64 as u64; 3]);
        assert_eq!(elements(List::new(ListKind::Counting, true, 5, 1)), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn the_original_floats_stand_a_tenth_above() {
        let list = elements(List::new(ListKind::Float, true, 41, 7));
        let floats: Vec<f64> = list.iter().map(|bits| f64::from_bits(*bits)).collect();
        assert_eq!((floats[0], floats[9], floats[10], floats[40]), (0.1, 9.1, 42.2, -1089.3));
        assert!(floats[30..40].iter().all(|float| (0.0..100.1).contains(float)));
    }

    #[test]
    fn random_lists_differ_by_seed_and_floats_are_numbers() {
        let list = |kind, seed| elements(List::new(kind, false, 10_000, seed));
        assert_ne!(list(ListKind::Long, 1), list(ListKind::Long, 2));
        assert!(list(ListKind::Float, 3).iter().all(|bits| f64::from_bits(*bits).is_finite()));
        assert!(f64::from_bits(finite(u64::MAX)).is_finite());
        assert!(f64::from_bits(finite(0x7ff0 << 48)).is_finite());
    }

    #[test]
    fn appends_of_the_original_are_equal_and_others_are_not() {
        let nano = Windows::new(true, 100, 1);
        assert_eq!((nano.at(0), nano.at(0).len()), (nano.at(9), 800));
        let random = Windows::new(false, 100, 1);
        assert_ne!(random.at(0), random.at(1));
        assert_eq!(random.at(5)[8..16], random.element(5, 1).to_le_bytes());
    }
}
