//! Symbols of a column as ranks in the order of their letters, and the stable order of the rows that
//! follows from them: a counting sort, shared among threads.
//!
//! ```text
//! column   c a b a        distinct a b c        ranks   2 0 1 0        grade   1 3 2 0
//! ```
//!
//! A symbol of up to seven bytes is packed into a number, first letter highest, so that numbers compare
//! as texts do. Longer ones are not written by this workload and are refused.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
    ops::Range,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    thread,
};

/// Most bytes of a symbol.
pub const SYMBOL_BYTES_MAX: usize = 7;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SymbolError {
    /// No zero byte where one must be.
    #[error("a symbol at byte {offset_bytes} has no end within {SYMBOL_BYTES_MAX} bytes")]
    TooLong { offset_bytes: usize },
    /// More rows than the grade can number.
    #[error("{rows} rows are more than the 4,294,967,295 that can be sorted")]
    TooMany { rows: u64 },
    #[error("row {row} has index {index}, and the domain has {domain} symbols")]
    Index { row: u64, index: u64, domain: u64 },
}

#[derive(Debug)]
pub struct Ranks {
    pub distinct: Vec<u64>,
    /// Rank of each row, in pieces that were worked on by one thread each.
    pieces: Vec<Vec<u32>>,
}

/// Reads one symbol and the zero behind it; gives it packed, and where the next one begins.
#[inline]
pub fn next_symbol(bytes: &[u8], from: usize) -> Result<(u64, usize), SymbolError> {
    let word = match bytes.get(from..from + 8) {
        Some(eight) => u64::from_le_bytes(eight.try_into().expect("eight bytes")),
        None => last_word(&bytes[from..]),
    };
    let zeros = word.wrapping_sub(0x0101_0101_0101_0101) & !word & 0x8080_8080_8080_8080;
    let length = (zeros.trailing_zeros() / 8) as usize;
    if length > SYMBOL_BYTES_MAX || from + length >= bytes.len() {
        return Err(SymbolError::TooLong { offset_bytes: from });
    }
    let letters = word & ((1 << (8 * length)) - 1);
    Ok((letters.swap_bytes(), from + length + 1))
}

fn last_word(bytes: &[u8]) -> u64 {
    let mut word = [0xff; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

/// The letters of a packed symbol, with the zero behind them.
pub fn symbol_text(packed: u64) -> Vec<u8> {
    let mut text: Vec<u8> =
        packed.to_be_bytes().into_iter().take_while(|byte| *byte != 0).collect();
    text.push(0);
    text
}

/// Hashes one number: a multiplication is enough for a table of symbols.
#[derive(Default)]
struct OneNumber(u64);

impl Hasher for OneNumber {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        let mixed = (self.0 ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ mixed >> 32;
    }
}

#[derive(Default)]
pub struct Interned {
    numbers: HashMap<u64, u32, BuildHasherDefault<OneNumber>>,
}

impl Interned {
    #[inline]
    pub fn number(&mut self, packed: u64) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry(packed).or_insert(next)
    }

    pub fn count(&self) -> usize {
        self.numbers.len()
    }
}

impl Ranks {
    pub fn of_plain(bytes: &[u8], threads: usize) -> Result<Ranks, SymbolError> {
        let pieces = in_parallel(symbol_pieces(bytes, threads), |piece| intern(bytes, piece));
        let pieces: Vec<(Vec<u32>, Interned)> = pieces.into_iter().collect::<Result<_, _>>()?;
        let symbols = pieces.iter().flat_map(|(_, interned)| interned.numbers.keys().copied());
        let mut distinct: Vec<u64> = symbols.collect();
        distinct.sort_unstable();
        distinct.dedup();
        let pieces = in_parallel(pieces, |(mut rows, interned)| {
            let mut ranks = vec![0; interned.count()];
            for (packed, number) in &interned.numbers {
                let rank = distinct.binary_search(packed).expect("each symbol is among them");
                ranks[*number as usize] = rank as u32;
            }
            rows.iter_mut().for_each(|row| *row = ranks[*row as usize]);
            rows
        });
        Ranks { distinct, pieces }.checked()
    }

    /// `domain` has the packed symbols by index.
    pub fn of_indexes(
        indexes: &[u64],
        domain: &[u64],
        threads: usize,
    ) -> Result<Ranks, SymbolError> {
        let mut distinct = domain.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let rank = |packed: &u64| distinct.binary_search(packed).expect("it is there") as u32;
        let ranks: Vec<u32> = domain.iter().map(rank).collect();
        let pieces = in_parallel(even_pieces(indexes.len(), threads), |piece| {
            let looked_up = piece.clone().zip(&indexes[piece]).map(|(row, index)| {
                let (row, index, domain) = (row as u64, *index, ranks.len() as u64);
                let rank = ranks.get(index as usize).copied();
                rank.ok_or(SymbolError::Index { row, index, domain })
            });
            looked_up.collect::<Result<Vec<u32>, SymbolError>>()
        });
        let pieces = pieces.into_iter().collect::<Result<_, _>>()?;
        Ranks { distinct, pieces }.checked()
    }

    fn checked(self) -> Result<Ranks, SymbolError> {
        let rows = self.rows();
        if rows > u64::from(u32::MAX) { Err(SymbolError::TooMany { rows }) } else { Ok(self) }
    }

    pub fn rows(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.len() as u64).sum()
    }

    pub fn counts(&self) -> Vec<u32> {
        let mut sums = vec![0; self.distinct.len()];
        for counts in self.counts_by_piece() {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        sums
    }

    fn counts_by_piece(&self) -> Vec<Vec<u32>> {
        in_parallel(self.pieces.iter().collect(), |piece| {
            let mut counts = vec![0; self.distinct.len()];
            piece.iter().for_each(|rank| counts[*rank as usize] += 1);
            counts
        })
    }

    /// The rows in ascending order of their symbols; equal ones in the order in which they stand.
    pub fn grade(&self) -> Vec<u32> {
        let mut places = self.counts_by_piece();
        let mut next = 0;
        for rank in 0..self.distinct.len() {
            for piece in &mut places {
                next += std::mem::replace(&mut piece[rank], next);
            }
        }
        let grade: Vec<AtomicU32> = (0..self.rows()).map(|_| AtomicU32::new(0)).collect();
        let starts = self.pieces.iter().scan(0u32, |row, piece| {
            let start = *row;
            *row += piece.len() as u32;
            Some(start)
        });
        let work: Vec<_> = self.pieces.iter().zip(places).zip(starts).collect();
        in_parallel(work, |((piece, mut places), start)| {
            for (row, rank) in (start..).zip(piece) {
                let place = &mut places[*rank as usize];
                grade[*place as usize].store(row, Relaxed);
                *place += 1;
            }
        });
        grade.into_iter().map(AtomicU32::into_inner).collect()
    }
}

fn intern(bytes: &[u8], piece: Range<usize>) -> Result<(Vec<u32>, Interned), SymbolError> {
    let mut interned = Interned::default();
    let mut rows = Vec::with_capacity(piece.len() / 5 + 1);
    let mut at = piece.start;
    while at < piece.end {
        let (packed, next) = next_symbol(bytes, at)?;
        rows.push(interned.number(packed));
        at = next;
    }
    Ok((rows, interned))
}

/// About equal ranges of bytes, each of which ends behind a zero.
fn symbol_pieces(bytes: &[u8], count: usize) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut start = 0;
    for piece in even_pieces(bytes.len(), count) {
        let rest = &bytes[piece.end.max(start)..];
        let is_end = piece.end == bytes.len();
        let to_zero = rest.iter().position(|byte| *byte == 0).map_or(rest.len(), |at| at + 1);
        let end = if is_end { bytes.len() } else { piece.end.max(start) + to_zero };
        pieces.push(start..end);
        start = end;
    }
    pieces
}

pub(super) fn even_pieces(length: usize, count: usize) -> Vec<Range<usize>> {
    let count = count.max(1);
    (0..count).map(|piece| length * piece / count..length * (piece + 1) / count).collect()
}

/// Each piece of work on a thread of its own; the first one on this thread.
pub(super) fn in_parallel<W: Send, R: Send>(work: Vec<W>, each: impl Fn(W) -> R + Sync) -> Vec<R> {
    let each = &each;
    thread::scope(|scope| {
        let mut work = work.into_iter();
        let first = work.next();
        // The caller may be pinned to one CPU; these threads may use all that it was given.
        let unpinned = |piece| {
            let _ = crate::placement::pin(None);
            each(piece)
        };
        let others: Vec<_> = work.map(|piece| scope.spawn(move || unpinned(piece))).collect();
        let own = first.map(each);
        let joined = others.into_iter().map(|thread| match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        own.into_iter().chain(joined).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(symbols: &[&str]) -> Vec<u8> {
        symbols.iter().flat_map(|symbol| [symbol.as_bytes(), b"\0"].concat()).collect()
    }

    #[test]
    fn packed_symbols_compare_as_their_letters_do() {
        let bytes = plain(&["b", "", "ab", "abcdefg", "a"]);
        let (mut at, mut packed) = (0, Vec::new());
        while at < bytes.len() {
            let (symbol, next) = next_symbol(&bytes, at).unwrap();
            packed.push(symbol);
            at = next;
        }
        let texts: Vec<Vec<u8>> = packed.iter().map(|symbol| symbol_text(*symbol)).collect();
        assert_eq!(texts.concat(), bytes);
        let mut sorted = packed.clone();
        sorted.sort_unstable();
        let sorted: Vec<Vec<u8>> = sorted.into_iter().map(symbol_text).collect();
        assert_eq!(sorted.concat(), plain(&["", "a", "ab", "abcdefg", "b"]));
    }

    #[test]
    fn symbols_without_an_end_are_refused() {
        for (bytes, offset_bytes) in
            [(&b"abc"[..], 0), (b"ab\0abcdefgh\0", 3), (b"ab\0abcdefg", 3), (b"abcdefgh", 0)]
        {
            let error = Ranks::of_plain(bytes, 1).unwrap_err();
            assert_eq!(error, SymbolError::TooLong { offset_bytes }, "{bytes:?}");
        }
    }

    #[test]
    fn the_grade_is_stable_and_complete_with_any_number_of_threads() {
        let symbols: Vec<String> = (0..5000u32).map(|n| format!("s{}", n * 7919 % 97)).collect();
        let texts: Vec<&str> = symbols.iter().map(String::as_str).collect();
        let mut expected: Vec<u32> = (0..5000).collect();
        expected.sort_by_key(|row| texts[*row as usize]);
        for threads in [1, 2, 3, 8] {
            let ranks = Ranks::of_plain(&plain(&texts), threads).unwrap();
            assert_eq!(ranks.grade(), expected, "{threads} threads");
            assert_eq!((ranks.rows(), ranks.distinct.len()), (5000, 97));
            assert_eq!(ranks.counts().iter().sum::<u32>(), 5000);
        }
    }

    #[test]
    fn indexes_are_ordered_by_the_letters_of_their_domain() {
        let domain: Vec<u64> =
            ["c", "a", "b"].iter().map(|text| next_symbol(&plain(&[text]), 0).unwrap().0).collect();
        for threads in [1, 4] {
            let ranks = Ranks::of_indexes(&[0, 1, 2, 1], &domain, threads).unwrap();
            assert_eq!(ranks.grade(), [1, 3, 2, 0]);
        }
        let error = Ranks::of_indexes(&[0, 3], &domain, 1).unwrap_err();
        assert_eq!(error, SymbolError::Index { row: 1, index: 3, domain: 3 });
    }

    #[test]
    fn more_threads_than_rows_do_no_harm() {
        assert_eq!(Ranks::of_plain(&plain(&["b", "a"]), 8).unwrap().grade(), [1, 0]);
        assert_eq!(Ranks::of_plain(b"", 8).unwrap().grade(), [0u32; 0]);
    }
}
