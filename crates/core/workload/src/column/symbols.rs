//! Symbols: short texts out of a domain of ten thousand, and the column that is drawn from it.
//! A symbol has four letters out of a..p, as in the original. That is 13 bits in 40, so a column of
//! plain symbols compresses whatever is drawn; only the draw differs from lane to lane.

use super::{
    layout::{Attribute, Layout},
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
        let text =
            |number| [12, 8, 4, 0].map(|shift| b'a' + (order.at(number) >> shift & 15) as u8);
        Domain { texts: (0..SYMBOLS).map(text).collect() }
    }

    /// Their numbers in the order of their letters.
    pub fn sorted(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.texts.len() as u32).collect();
        order.sort_unstable_by_key(|number| self.texts[*number as usize]);
        order
    }

    pub fn file(&self) -> Vec<u8> {
        let texts = self.column(Layout::PlainSymbols, 0..SYMBOLS as u32);
        [Layout::PlainSymbols.header(Attribute::None, SYMBOLS), texts].concat()
    }

    /// The elements of a column: texts, or indexes into the domain.
    pub fn column(&self, layout: Layout, numbers: impl Iterator<Item = u32>) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(numbers.size_hint().0 * layout.element_bytes() as usize);
        for number in numbers {
            if layout == Layout::PlainSymbols {
                let text = self.texts[number as usize];
                bytes.extend_from_slice(&[text[0], text[1], text[2], text[3], 0]);
            } else {
                bytes.extend_from_slice(&u64::from(number).to_le_bytes());
            }
        }
        bytes
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_different_texts_of_four_letters_in_both_layouts() {
        let domain = Domain::new(3);
        let mut sorted: Vec<_> =
            domain.sorted().iter().map(|number| domain.texts[*number as usize]).collect();
        assert!(sorted.is_sorted());
        sorted.dedup();
        assert_eq!(sorted.len(), 10_000);
        assert!(sorted.iter().flatten().all(|letter| (b'a'..=b'p').contains(letter)));
        let plain = domain.column(Layout::PlainSymbols, [5, 7].into_iter());
        assert_eq!(plain, [&domain.texts[5][..], b"\0", &domain.texts[7], b"\0"].concat());
        let indexes = domain.column(Layout::EnumeratedSymbols, [5, 7].into_iter());
        assert_eq!(indexes, [5, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn a_draw_uses_the_whole_domain_evenly() {
        let draw = Draw { count: 200_000, seed: 9 };
        let mut seen = vec![0u32; SYMBOLS as usize];
        (0..draw.count).for_each(|index| seen[draw.number(index) as usize] += 1);
        assert!(seen.iter().all(|count| (1..60).contains(count)), "twenty each, more or less");
    }
}
