//! One state, by a short text that makes it again: `power-loss:any-order/4096/honest@1234+pieces-77`.

use std::{fmt, str::FromStr};

use crate::log::{Piece, Position, Remains};
use crate::model::{Crash, UnknownWord, Windows, unknown};

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    pub crash: Crash,
    /// Entries of the log before the crash.
    pub at: Position,
    pub kept: Kept,
}

/// What stays of the entries that may go. Entries are counted from the first of them, pieces too.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Kept {
    All,
    Nothing,
    /// By the seed.
    Pieces(u64),
    /// All pieces but these, rising.
    Without(Vec<usize>),
    /// Nothing since the start, whatever was flushed. No disk leaves it: a check that is content with it sees nothing.
    Start,
}

/// Longest list of lost pieces that is read.
const LOST_MAX: usize = 4 << 20;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    #[error(transparent)]
    Word(#[from] UnknownWord),
    #[error("position {at} is not between {start} and {end} of this recording")]
    Outside { at: usize, start: usize, end: usize },
    #[error("{state} cannot be: {crash} keeps everything before a write that it keeps")]
    Illegal { state: String, crash: Crash },
}

impl State {
    pub fn new(crash: Crash, at: Position, kept: Kept) -> Self {
        Self { crash, at, kept }
    }

    /// As a prober takes it.
    pub fn remains(&self, windows: &Windows<'_>) -> Result<Remains, StateError> {
        let (start, end) = (windows.start(), windows.log().end());
        if self.at < start || self.at > end {
            return Err(StateError::Outside { at: self.at.0, start: start.0, end: end.0 });
        }
        if self.kept == Kept::Start {
            return Ok(Remains { safe: start, crash: self.at, kept: Vec::new() });
        }
        let window = windows.at(self.at);
        let mut kept = Vec::new();
        let (mut index, mut is_short, mut has_hole) = (0, false, false);
        for entry in window.clone() {
            if windows.is_forced(entry) {
                let sectors = windows.log().entries[entry].sectors();
                kept.push(Piece { entry, sectors: 0..sectors.end - sectors.start });
            }
            let was_short = is_short;
            for piece in windows.pieces_of(entry) {
                match self.keeps(index) {
                    true => {
                        kept.push(piece);
                        has_hole |= was_short;
                    }
                    false => is_short = true,
                }
                index += 1;
            }
        }
        if windows.is_ordered() && has_hole {
            let (state, crash) = (self.to_string(), self.crash);
            return Err(StateError::Illegal { state, crash });
        }
        Ok(Remains { safe: Position(window.start), crash: self.at, kept })
    }

    fn keeps(&self, piece: usize) -> bool {
        match &self.kept {
            Kept::All => true,
            Kept::Nothing | Kept::Start => false,
            Kept::Pieces(seed) => is_chosen(*seed, piece),
            Kept::Without(lost) => lost.binary_search(&piece).is_err(),
        }
    }

    /// The same state by its lost pieces alone.
    pub fn lost(&self, windows: &Windows<'_>) -> Vec<usize> {
        let pieces = windows.pieces(windows.at(self.at));
        (0..pieces.len()).filter(|piece| !self.keeps(*piece)).collect()
    }
}

/// Half of them, most, few, or nearly all: the seed says which. The same for a piece whatever else there is.
pub(super) fn is_chosen(seed: u64, index: usize) -> bool {
    const SHARES: [u64; 4] = [128, 224, 32, 252];
    let share = SHARES[(seed % 4) as usize];
    mix(seed ^ mix(index as u64 + 1)) % 256 < share
}

/// Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
pub(crate) fn mix(value: u64) -> u64 {
    let mut x = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}+{}", self.crash, self.at.0, self.kept)
    }
}

impl serde::Serialize for State {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Nothing => f.write_str("nothing"),
            Self::Start => f.write_str("start"),
            Self::Pieces(seed) => write!(f, "pieces-{seed}"),
            Self::Without(lost) => write!(f, "without-{}", ranges(lost)),
        }
    }
}

impl Kept {
    /// An empty list has no text.
    pub fn without(lost: Vec<usize>) -> Self {
        if lost.is_empty() { Self::All } else { Self::Without(lost) }
    }

    fn read(text: &str) -> Option<Self> {
        let (word, number) = text.rsplit_once('-').unwrap_or((text, ""));
        Some(match (text, word) {
            ("all", _) => Self::All,
            ("nothing", _) => Self::Nothing,
            ("start", _) => Self::Start,
            (_, "pieces") => Self::Pieces(number.parse().ok()?),
            _ => Self::Without(numbers(text.strip_prefix("without-")?)?),
        })
    }
}

/// `0-2,7`.
fn ranges(numbers: &[usize]) -> String {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for number in numbers {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => parts.push((*number, *number)),
        }
    }
    let text = |(first, last): &(usize, usize)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    parts.iter().map(text).collect::<Vec<_>>().join(",")
}

fn numbers(text: &str) -> Option<Vec<usize>> {
    let mut found: Vec<usize> = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        let is_rising = found.last().is_none_or(|before| *before < first) && first <= last;
        if !is_rising || last - first >= LOST_MAX || found.len() >= LOST_MAX {
            return None;
        }
        found.extend(first..=last);
    }
    Some(found)
}

impl FromStr for State {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        let parts = || {
            let (crash, rest) = text.split_once('@')?;
            let (at, kept) = rest.split_once('+')?;
            Some((crash, at.parse().ok()?, Kept::read(kept)?))
        };
        let (crash, at, kept) =
            parts().ok_or_else(|| unknown("state", text, "CRASH@POSITION+WHAT-STAYS"))?;
        Ok(Self { crash: crash.parse()?, at: Position(at), kept })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{Log, What};
    use proptest::prelude::*;

    /// Four writes of 8 KiB and nothing that covers them.
    fn log() -> Log {
        let write =
            |at: u64| What::Write { sector: at * 16, data: vec![1; 8192].into(), fua: at == 2 };
        Log::of(1 << 20, 0, (0..4).map(write))
    }

    fn kept(log: &Log, text: &str) -> Result<Vec<(usize, u64)>, StateError> {
        let state: State = text.parse()?;
        let windows = Windows::new(log, Position(0), state.crash);
        let remains = state.remains(&windows)?;
        Ok(remains.kept.iter().map(|piece| (piece.entry, piece.sectors.start / 8)).collect())
    }

    #[test]
    fn a_text_makes_its_state_and_what_was_forced_stays() {
        let log = log();
        let of =
            |end: &str| kept(&log, &format!("power-loss:any-order/4096/honest@4+{end}")).unwrap();
        assert_eq!(of("all"), [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (3, 0), (3, 1)]);
        assert_eq!(of("nothing"), [(2, 0)]);
        assert_eq!(of("without-0-2,5"), [(1, 1), (2, 0), (3, 0)]);
        assert_eq!(of("start"), []);
        assert_eq!(of("pieces-7"), of("pieces-7"));
    }

    #[test]
    fn an_ordered_disk_has_no_state_with_a_hole() {
        let log = log();
        let of = |end: &str| kept(&log, &format!("power-loss:ordered/4096/lying@4+{end}"));
        assert_eq!(of("without-3-7").unwrap(), [(0, 0), (0, 1), (1, 0)]);
        assert!(matches!(of("without-3"), Err(StateError::Illegal { .. })));
        assert!(of("without-7").is_ok() && of("without-6").is_ok());
    }

    #[test]
    fn words_of_strangers_are_refused() {
        let log = log();
        let wrong = "|power-loss@|power-loss@4+without-2,1|power-loss@4+without-0-99999999999|\
                     power-loss@4+pieces--1|kernel-crash@x+all";
        for wrong in wrong.split('|') {
            assert!(wrong.parse::<State>().is_err(), "{wrong}");
        }
        assert!(matches!(kept(&log, "power-loss@5+all"), Err(StateError::Outside { .. })));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[a-z0-9@+:,/-]{0,60}") {
            if let Ok(state) = text.parse::<State>() {
                prop_assert_eq!(state.to_string().parse(), Ok(state));
            }
        }

        #[test]
        fn a_state_is_the_same_by_its_lost_pieces(seed in any::<u64>()) {
            let log = log();
            let crash = "power-loss:any-order/512/lying".parse().unwrap();
            let windows = Windows::new(&log, Position(0), crash);
            let state = State::new(crash, Position(4), Kept::Pieces(seed));
            let kept = Kept::without(state.lost(&windows));
            let again = State { kept, ..state.clone() };
            prop_assert_eq!(again.to_string().parse(), Ok(again.clone()));
            prop_assert_eq!(again.remains(&windows), state.remains(&windows));
        }
    }
}
