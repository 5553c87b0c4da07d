//! Symbols: short texts out of a domain of ten thousand, and the column that is drawn from it.
//! A symbol has four letters out of a..p, as in the original. That is 13 bits in 40, so a column of
//! plain symbols compresses whatever is drawn; only the draw differs from lane to lane.

use super::{
    layout::{Attribute, Header, Layout},
    shuffle::Shuffle,
    sizes::SYMBOLS,
};
use crate::journal::scrambled;

pub(super) const SYMBOL_LETTERS: usize = 4;
/// Four letters out of sixteen.
const TEXTS: u64 = 1 << 16;

#[derive(Debug)]
pub struct Domain {
    texts: Vec<[u8; SYMBOL_LETTERS]>,
}

impl Domain {
    pub fn new(seed: u64) -> Domain {
        let order = Shuffle::new(TEXTS, seed);
        Domain { texts: (0..SYMBOLS).map(|number| text(order.at(number))).collect() }
    }

    #[inline]
    pub fn text(&self, number: u32) -> &[u8; SYMBOL_LETTERS] {
        &self.texts[number as usize]
    }

    pub fn count(&self) -> u64 {
        self.texts.len() as u64
    }

    pub fn ranks(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.texts.len() as u32).collect();
        order.sort_unstable_by_key(|number| self.text(*number));
        let mut ranks = vec![0; order.len()];
        for (rank, number) in (0..).zip(&order) {
            ranks[*number as usize] = rank;
        }
        ranks
    }

    pub fn file(&self) -> Vec<u8> {
        let header = Header { attribute: Attribute::None, count: self.count() };
        let mut bytes = Layout::PlainSymbols.header(header);
        (0..self.texts.len() as u32).for_each(|number| push_plain(&mut bytes, self.text(number)));
        bytes
    }
}

fn text(number: u64) -> [u8; SYMBOL_LETTERS] {
    [12, 8, 4, 0].map(|shift| b'a' + (number >> shift & 15) as u8)
}

fn push_plain(bytes: &mut Vec<u8>, text: &[u8; SYMBOL_LETTERS]) {
    bytes.extend_from_slice(&[text[0], text[1], text[2], text[3], 0]);
}

/// Symbols drawn from the domain, each as likely as any other.
#[derive(Debug, Clone, Copy)]
pub struct Draw {
    pub count: u64,
    pub seed: u64,
}

impl Draw {
    #[inline]
    pub fn number(&self, index: u64) -> u32 {
        (((scrambled(self.seed, index) >> 32) * SYMBOLS) >> 32) as u32
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SymbolLayout {
    /// As text, five bytes each.
    Plain,
    /// As indexes of eight bytes.
    Enumerated,
}

impl SymbolLayout {
    pub fn layout(self) -> Layout {
        match self {
            SymbolLayout::Plain => Layout::PlainSymbols,
            SymbolLayout::Enumerated => Layout::EnumeratedSymbols,
        }
    }

    pub fn symbol_bytes(self) -> usize {
        match self {
            SymbolLayout::Plain => SYMBOL_LETTERS + 1,
            SymbolLayout::Enumerated => 8,
        }
    }

    pub fn bytes(self, domain: &Domain, numbers: impl Iterator<Item = u32>) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(numbers.size_hint().0 * self.symbol_bytes());
        for number in numbers {
            self.push(&mut bytes, domain, number);
        }
        bytes
    }

    #[inline]
    pub(super) fn push(self, bytes: &mut Vec<u8>, domain: &Domain, number: u32) {
        match self {
            SymbolLayout::Plain => push_plain(bytes, domain.text(number)),
            SymbolLayout::Enumerated => bytes.extend_from_slice(&u64::from(number).to_le_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn symbols_are_different_and_of_four_letters() {
        let domain = Domain::new(3);
        let all: HashSet<_> = (0..SYMBOLS as u32).map(|number| *domain.text(number)).collect();
        assert_eq!(all.len(), 10_000);
        assert!(all.iter().flatten().all(|letter| (b'a'..=b'p').contains(letter)));
    }

    #[test]
    fn ranks_are_the_order_of_the_letters() {
        let domain = Domain::new(3);
        let ranks = domain.ranks();
        let mut by_rank = vec![[0; 4]; ranks.len()];
        for (number, rank) in ranks.iter().enumerate() {
            by_rank[*rank as usize] = *domain.text(number as u32);
        }
        assert!(by_rank.is_sorted());
    }

    #[test]
    fn a_draw_uses_the_whole_domain_evenly() {
        let draw = Draw { count: 200_000, seed: 9 };
        let mut seen = vec![0u32; SYMBOLS as usize];
        (0..draw.count).for_each(|index| seen[draw.number(index) as usize] += 1);
        assert!(seen.iter().all(|count| (1..60).contains(count)), "twenty each, more or less");
    }

    #[test]
    fn both_layouts_hold_the_same_symbols() {
        let domain = Domain::new(3);
        let plain = SymbolLayout::Plain.bytes(&domain, [5, 7].into_iter());
        assert_eq!(plain, [&domain.text(5)[..], b"\0", domain.text(7), b"\0"].concat());
        let indexes = SymbolLayout::Enumerated.bytes(&domain, [5, 7].into_iter());
        assert_eq!(indexes, [5, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn the_domain_is_a_file_of_plain_symbols() {
        let bytes = Domain::new(3).file();
        let header = Layout::PlainSymbols.parse(&bytes).unwrap();
        assert_eq!((header.count, bytes.len()), (10_000, 8 + 50_000));
    }
}
