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
const SYMBOL_BYTES_MAX: usize = 7;

#[derive(Debug)]
pub(super) struct Ranks {
    /// Symbols, packed, in the order of their letters.
    pub(super) distinct: Vec<u64>,
    /// Rank of each row, in pieces that were worked on by one thread each.
    pieces: Vec<Vec<u32>>,
}

/// Reads one symbol and the zero behind it; gives it packed, and where the next one begins. `None` where no zero stands
/// within eight bytes.
#[inline]
fn next_symbol(bytes: &[u8], from: usize) -> Option<(u64, usize)> {
    let word = match bytes.get(from..from + 8) {
        Some(eight) => u64::from_le_bytes(eight.try_into().expect("eight bytes")),
        None => last_word(&bytes[from..]),
    };
    let zeros = word.wrapping_sub(0x0101_0101_0101_0101) & !word & 0x8080_8080_8080_8080;
    let length = (zeros.trailing_zeros() / 8) as usize;
    if length > SYMBOL_BYTES_MAX || from + length >= bytes.len() {
        return None;
    }
    let letters = word & ((1 << (8 * length)) - 1);
    Some((letters.swap_bytes(), from + length + 1))
}

fn last_word(bytes: &[u8]) -> u64 {
    let mut word = [0xff; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

/// The packed symbols of a range of bytes.
#[inline]
pub(super) fn packed(
    bytes: &[u8],
    range: Range<usize>,
) -> impl Iterator<Item = Result<u64, String>> + use<'_> {
    let mut at = range.start;
    std::iter::from_fn(move || {
        if at >= range.end {
            return None;
        }
        let Some((packed, next)) = next_symbol(bytes, at) else {
            let text = format!("a symbol at byte {at} has no end within {SYMBOL_BYTES_MAX} bytes");
            at = range.end;
            return Some(Err(text));
        };
        at = next;
        Some(Ok(packed))
    })
}

/// The letters of a packed symbol, with the zero behind them.
pub(super) fn symbol_text(packed: u64) -> Vec<u8> {
    let letters = packed.to_be_bytes().into_iter().take_while(|byte| *byte != 0);
    letters.chain([0]).collect()
}

/// Hashes one number: a multiplication is enough for a table of symbols.
#[derive(Default)]
pub(super) struct OneNumber(u64);

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

/// Numbers in the order in which packed symbols were met.
pub(super) type Interned = HashMap<u64, u32, BuildHasherDefault<OneNumber>>;

impl Ranks {
    pub(super) fn of_plain(bytes: &[u8], threads: usize) -> Result<Ranks, String> {
        let pieces = in_parallel(symbol_pieces(bytes, threads), |piece| intern(bytes, piece));
        let pieces: Vec<(Vec<u32>, Interned)> = pieces.into_iter().collect::<Result<_, _>>()?;
        let symbols = pieces.iter().flat_map(|(_, interned)| interned.keys().copied());
        let distinct = sorted(symbols.collect());
        let pieces = in_parallel(pieces, |(mut rows, interned)| {
            let mut ranks = vec![0; interned.len()];
            for (packed, number) in &interned {
                ranks[*number as usize] = rank(&distinct, packed);
            }
            rows.iter_mut().for_each(|row| *row = ranks[*row as usize]);
            rows
        });
        Ranks { distinct, pieces }.checked()
    }

    /// `domain` has the packed symbols by index.
    pub(super) fn of_indexes(
        indexes: &[u64],
        domain: &[u64],
        threads: usize,
    ) -> Result<Ranks, String> {
        let distinct = sorted(domain.to_vec());
        let ranks: Vec<u32> = domain.iter().map(|packed| rank(&distinct, packed)).collect();
        let pieces = in_parallel(even_pieces(indexes.len(), threads), |piece| {
            let looked_up = indexes[piece].iter().map(|index| {
                let unknown = || format!("index {index} in a domain of {} symbols", domain.len());
                ranks.get(*index as usize).copied().ok_or_else(unknown)
            });
            looked_up.collect::<Result<Vec<u32>, String>>()
        });
        let pieces = pieces.into_iter().collect::<Result<_, _>>()?;
        Ranks { distinct, pieces }.checked()
    }

    /// The grade numbers rows with 32 bits.
    fn checked(self) -> Result<Ranks, String> {
        let rows = self.rows();
        let many = || format!("{rows} rows are more than the 4,294,967,295 that can be sorted");
        if rows > u64::from(u32::MAX) { Err(many()) } else { Ok(self) }
    }

    pub(super) fn rows(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.len() as u64).sum()
    }

    /// How often each rank stands in each piece.
    pub(super) fn counts(&self) -> Vec<Vec<u32>> {
        in_parallel(self.pieces.iter().collect(), |piece| {
            let mut counts = vec![0; self.distinct.len()];
            piece.iter().for_each(|rank| counts[*rank as usize] += 1);
            counts
        })
    }

    /// The rows in ascending order of their symbols; equal ones in the order in which they stand.
    pub(super) fn grade(&self) -> Vec<u32> {
        let mut places = self.counts();
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

fn sorted(mut symbols: Vec<u64>) -> Vec<u64> {
    symbols.sort_unstable();
    symbols.dedup();
    symbols
}

fn rank(distinct: &[u64], packed: &u64) -> u32 {
    distinct.binary_search(packed).expect("each symbol is among them") as u32
}

fn intern(bytes: &[u8], piece: Range<usize>) -> Result<(Vec<u32>, Interned), String> {
    let mut interned = Interned::default();
    let mut rows = Vec::with_capacity(piece.len() / 5 + 1);
    for symbol in packed(bytes, piece) {
        let next = interned.len() as u32;
        rows.push(*interned.entry(symbol?).or_insert(next));
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

    fn all(bytes: &[u8]) -> Vec<u64> {
        packed(bytes, 0..bytes.len()).collect::<Result<_, _>>().unwrap()
    }

    fn texts(packed: &[u64]) -> Vec<u8> {
        packed.iter().flat_map(|symbol| symbol_text(*symbol)).collect()
    }

    #[test]
    fn packed_symbols_compare_as_their_letters_do() {
        let bytes = plain(&["b", "", "ab", "abcdefg", "a"]);
        assert_eq!(texts(&all(&bytes)), bytes);
        assert_eq!(texts(&sorted(all(&bytes))), plain(&["", "a", "ab", "abcdefg", "b"]));
    }

    #[test]
    fn symbols_without_an_end_are_refused() {
        for (bytes, at) in
            [(&b"abc"[..], 0), (b"ab\0abcdefgh\0", 3), (b"ab\0abcdefg", 3), (b"abcdefgh", 0)]
        {
            let error = Ranks::of_plain(bytes, 1).unwrap_err();
            assert_eq!(error, format!("a symbol at byte {at} has no end within 7 bytes"));
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
            assert_eq!(ranks.counts().concat().iter().sum::<u32>(), 5000);
        }
        assert_eq!(Ranks::of_plain(&plain(&["b", "a"]), 8).unwrap().grade(), [1, 0]);
        assert_eq!(Ranks::of_plain(b"", 8).unwrap().grade(), [0u32; 0]);
    }

    #[test]
    fn indexes_are_ordered_by_the_letters_of_their_domain() {
        let domain = all(&plain(&["c", "a", "b"]));
        for threads in [1, 4] {
            let ranks = Ranks::of_indexes(&[0, 1, 2, 1], &domain, threads).unwrap();
            assert_eq!(ranks.grade(), [1, 3, 2, 0]);
        }
        let error = Ranks::of_indexes(&[0, 3], &domain, 1).unwrap_err();
        assert_eq!(error, "index 3 in a domain of 3 symbols");
    }
}
