//! Which states are looked at.
//!
//! An epoch is what may go together: the writes from one flush to the next. Where at most [`EXHAUSTIVE_PIECES`] pieces may
//! go, an epoch is taken whole, with every subset at its end, or not at all: a crash within it leaves one of these images,
//! and no more is due there. A longer epoch has states by seeds, at its end and within.

use std::collections::VecDeque;

use super::state::{Kept, State, is_chosen, mix};
use crate::log::{Piece, Position};
use crate::model::{Crash, Windows};

/// Of so many pieces all subsets are looked at.
const EXHAUSTIVE_PIECES: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// At most; fewer where no more are different.
    pub states: usize,
    pub seed: u64,
}

/// One at a time: only those of one epoch are in memory.
#[derive(Debug)]
pub struct States<'w, 'l> {
    windows: &'w Windows<'l>,
    seed: u64,
    epochs: Epochs<'w, 'l>,
    short: Share,
    long: Share,
    ready: VecDeque<State>,
    /// Epochs of which something may go.
    pub met: u64,
    /// Those of them with every subset.
    pub whole: u64,
}

/// So much of a total, spread evenly.
#[derive(Debug, Default)]
struct Share {
    budget: u64,
    total: u64,
    credit: u64,
    spent: u64,
}

impl Share {
    /// How much of a part of the total.
    fn of(&mut self, part: u64) -> u64 {
        self.credit += part * self.budget;
        let taken = self.credit / self.total.max(1);
        self.credit %= self.total.max(1);
        taken
    }

    /// A part as a whole, or nothing of it.
    fn takes(&mut self, part: u64) -> bool {
        self.credit += part * self.budget;
        let after = self.spent + part * self.total;
        // A large part is taken as often as a small one.
        let is_taken = self.credit >= self.spent && after <= self.budget * self.total;
        self.spent = if is_taken { after } else { self.spent };
        is_taken
    }
}

/// Positions with the same beginning of what may go, by the first and the last of them.
#[derive(Debug, Clone)]
struct Epochs<'w, 'l> {
    windows: &'w Windows<'l>,
    next: usize,
}

impl Iterator for Epochs<'_, '_> {
    type Item = Epoch;

    fn next(&mut self) -> Option<Epoch> {
        let first = self.next;
        if first > self.windows.log().end().0 {
            return None;
        }
        let last = (first..).find(|at| self.windows.ends_at(Position(*at)))?;
        self.next = last + 1;
        let entries = self.windows.at(Position(last));
        let mut pieces = Vec::new();
        // More are not needed to know that there are too many.
        for entry in entries.clone() {
            pieces.extend(self.windows.pieces_of(entry));
            if pieces.len() > EXHAUSTIVE_PIECES {
                break;
            }
        }
        Some(Epoch { last: Position(last), entries: entries.len(), pieces })
    }
}

struct Epoch {
    last: Position,
    entries: usize,
    /// Of a long one some.
    pieces: Vec<Piece>,
}

impl Epoch {
    fn is_long(&self) -> bool {
        self.pieces.len() > EXHAUSTIVE_PIECES
    }
}

impl Plan {
    pub fn states<'w, 'l>(self, windows: &'w Windows<'l>) -> States<'w, 'l> {
        let end = windows.log().end().0;
        let start = if windows.crash() == Crash::ProcessKill { end } else { windows.start().0 };
        let epochs = Epochs { windows, next: start };
        let (mut short, mut long) = (Share::default(), Share::default());
        for epoch in epochs.clone() {
            match epoch.is_long() {
                true => long.total += epoch.entries as u64,
                false => short.total += cost(windows, &epoch),
            }
        }
        let states = self.states as u64;
        if long.total > 0 {
            long.budget = states.saturating_sub(short.total).max(states / 2);
        }
        short.budget = (states - long.budget).min(short.total);
        let (seed, ready) = (self.seed, VecDeque::new());
        States { windows, seed, epochs, short, long, ready, met: 0, whole: 0 }
    }
}

/// States of a short epoch: its subsets, and all of it behind its flush, where more is due.
fn cost(windows: &Windows<'_>, epoch: &Epoch) -> u64 {
    let subsets = subsets(&epoch.pieces, windows.is_ordered()).len() as u64;
    subsets + u64::from(!epoch.pieces.is_empty())
}

impl Iterator for States<'_, '_> {
    type Item = State;

    fn next(&mut self) -> Option<State> {
        while self.ready.is_empty() {
            let epoch = self.epochs.next()?;
            self.met += u64::from(!epoch.pieces.is_empty());
            match epoch.is_long() {
                true => {
                    let count = self.long.of(epoch.entries as u64);
                    (0..count).for_each(|turn| self.sample(&epoch, turn, count));
                }
                false if self.short.takes(cost(self.windows, &epoch)) => self.fill(&epoch),
                false => {}
            }
        }
        self.ready.pop_front()
    }
}

impl States<'_, '_> {
    fn push(&mut self, at: Position, kept: Kept) {
        self.ready.push_back(State::new(self.windows.crash(), at, kept));
    }

    fn fill(&mut self, epoch: &Epoch) {
        let is_ordered = self.windows.is_ordered();
        subsets(&epoch.pieces, is_ordered).into_iter().for_each(|kept| self.push(epoch.last, kept));
        if epoch.pieces.is_empty() {
            return;
        }
        self.whole += 1;
        let behind = Position(epoch.last.0 + 1);
        if behind <= self.windows.log().end() && self.windows.at(behind).is_empty() {
            self.push(behind, Kept::All);
        }
    }

    /// All and nothing once, and else what loses a part.
    fn sample(&mut self, epoch: &Epoch, turn: u64, count: u64) {
        if count > 8 && turn < 2 {
            return self.push(epoch.last, if turn == 0 { Kept::All } else { Kept::Nothing });
        }
        let seed = mix(self.seed ^ mix(epoch.last.0 as u64) ^ turn);
        let within = epoch.last.0 + 1 - epoch.entries + (seed >> 32) as usize % epoch.entries;
        let at = if turn % 2 == 0 { epoch.last } else { Position(within) };
        let pieces = self.windows.pieces(self.windows.at(at));
        if pieces.is_empty() {
            return self.push(at, Kept::All);
        }
        let one = pieces[(seed >> 8) as usize % pieces.len()].entry;
        let is_lost = |(at, piece): &(usize, &Piece)| match (seed % 6, self.windows.is_ordered()) {
            (0, _) => piece.entry >= one,
            // A part of the entry is torn away with everything behind it.
            (_, true) | (1, _) => {
                piece.entry > one || (piece.entry == one && !is_chosen(mix(seed), *at))
            }
            (2, _) => piece.entry == one,
            (3, _) => piece.entry != one,
            _ => !is_chosen(seed, *at),
        };
        let lost: Vec<_> = pieces.iter().enumerate().filter(is_lost).map(|(at, _)| at).collect();
        let kept = match seed % 6 {
            // The list may be long.
            4.. if !self.windows.is_ordered() && !lost.is_empty() => Kept::Pieces(seed),
            _ => Kept::without(lost),
        };
        self.push(at, kept);
    }
}

fn subsets(pieces: &[Piece], is_ordered: bool) -> Vec<Kept> {
    let lost = |mask: usize| (0..pieces.len()).filter(move |piece| mask & (1 << piece) != 0);
    // In order, what is behind the entry of the first lost piece is lost.
    let is_legal = |mask: &usize| {
        let first = lost(*mask).next().map(|piece| pieces[piece].entry);
        let mut behind =
            (0..pieces.len()).filter(|at| first.is_some_and(|e| pieces[*at].entry > e));
        !is_ordered || behind.all(|at| mask & (1 << at) != 0)
    };
    let kept = |mask: usize| match mask {
        0 => Kept::All,
        _ if mask + 1 == 1 << pieces.len() => Kept::Nothing,
        _ => Kept::Without(lost(mask).collect()),
    };
    (0..1usize << pieces.len()).filter(is_legal).map(kept).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::log::{Log, What};

    /// Blocks of 4096 bytes in each epoch, and a flush behind it.
    fn log(epochs: &[usize]) -> Log {
        let mut entries = Vec::new();
        for writes in epochs {
            for at in 0..*writes as u64 {
                let data = vec![at as u8; 4096].into();
                entries.push(What::Write { sector: at * 8, data, fua: false });
            }
            entries.push(What::Flush);
        }
        Log::of(1 << 30, 0, entries)
    }

    fn windows<'l>(log: &'l Log, crash: &str) -> Windows<'l> {
        Windows::new(log, Position(0), crash.parse().unwrap())
    }

    const ANY: &str = "power-loss:any-order/4096/honest";

    #[test]
    fn short_epochs_have_every_subset_or_none() {
        let log = log(&[1, 2, 3, 1, 2, 3, 1, 2, 3]);
        let windows = windows(&log, ANY);
        for (states, whole) in [(1000, 9), (30, 4)] {
            let mut planned = Plan { states, seed: 1 }.states(&windows);
            let all: Vec<_> = planned.by_ref().collect();
            assert!((planned.met, planned.whole) == (9, whole), "{states}: {}", planned.whole);
            let ends = |at| all.iter().filter(|state| state.at == Position(at)).count();
            let of_two = [4, 13, 22].map(ends);
            assert!(of_two.iter().all(|count| [0, 4].contains(count)), "{of_two:?}");
            assert!(all.len() <= states);
        }
    }

    #[test]
    fn an_ordered_disk_is_asked_for_its_legal_states_alone() {
        let log = log(&[5, 40]);
        for crash in ["power-loss:ordered/512/honest", "power-loss:ordered/4096/lying"] {
            let windows = windows(&log, crash);
            let states: Vec<_> = Plan { states: 3000, seed: 5 }.states(&windows).collect();
            assert!(states.len() > 500 && states.len() <= 3000, "{}", states.len());
            // Of an entry that is torn any number of its eight sectors stays.
            let kept = states.iter().map(|state| state.remains(&windows).unwrap().kept.len() % 8);
            assert_eq!(kept.collect::<HashSet<_>>().len(), 8);
        }
        let whole = windows(&log, "power-loss:ordered/request/honest");
        let plan = Plan { states: 10_000, seed: 1 };
        let ends = plan.states(&whole).filter(|state| state.at == Position(5));
        assert_eq!(ends.count(), 6, "so many prefixes");
    }

    #[test]
    fn a_hundred_thousand_states_are_legal_repeatable_and_no_more() {
        let log = log(&[200; 40]);
        let windows = windows(&log, "power-loss:any-order/4096/honest");
        let plan = Plan { states: 100_000, seed: 9 };
        let states = || plan.states(&windows);
        let count = states().count();
        assert!((90_000..=100_000).contains(&count), "{count}");
        assert!(states().step_by(997).eq(states().step_by(997)));
        for state in states().step_by(1999) {
            assert_eq!(state.to_string().parse(), Ok(state.clone()));
            assert!(state.remains(&windows).is_ok(), "{state}");
        }
        let other = Plan { seed: 10, ..plan };
        assert!(!other.states(&windows).take(5000).eq(states().take(5000)));
    }

    /// As of a disk that lies: one epoch, and fewer states than crash points.
    #[test]
    fn few_states_of_a_long_epoch_lose_a_part_at_crash_points_everywhere() {
        let log = log(&[500]);
        for cache in ["any-order", "ordered"] {
            let windows = windows(&log, &format!("power-loss:{cache}/4096/lying"));
            let states: Vec<_> = Plan { states: 60, seed: 1 }.states(&windows).collect();
            let lose = states.iter().filter(|state| !state.lost(&windows).is_empty()).count();
            assert!(states.len() == 60 && lose > 50, "{cache}: {lose} of {}", states.len());
            let points: HashSet<_> = states.iter().map(|state| state.at.0 / 100).collect();
            assert!(points.len() >= 5, "{points:?}");
        }
    }

    #[test]
    fn a_kernel_crash_keeps_all_and_a_killed_process_leaves_the_end() {
        let log = log(&[2, 2]);
        let plan = Plan { states: 100, seed: 3 };
        let killed: Vec<_> = plan.states(&windows(&log, "process-kill")).collect();
        assert_eq!(killed.iter().map(State::to_string).collect::<Vec<_>>(), ["process-kill@6+all"]);
        let crashed: Vec<_> = plan.states(&windows(&log, "kernel-crash")).collect();
        assert!(crashed.iter().all(|state| state.kept == Kept::All));
        assert_eq!(crashed.len(), 7);
    }
}
