//! Racing: spend blocks only where they still decide (rule 9).
//!
//! Per candidate a bettor of [`crate::sequential`] stakes on "somebody here is faster". In
//! each block the stake lies on the others by how well bets on them went before, so nearly
//! all of it on the best of them; nothing is staked before anything is known of them. If the
//! candidate is the best there is, or ties with it, each such bet is fair or worse, whenever
//! one looks.
//!
//! A fortune of 1 / alpha says "not the best". The best candidate is lost with a chance of at
//! most alpha, at whatever block the race stops, however many run. Where two are equally good
//! either may be lost: then the other is no worse, and the choice is not wrong. That one is
//! *faster* is more than that; the comparisons of the run say it or do not.
//!
//! Who reaches candidates / alpha gets no further blocks and comes back as a sentinel in every
//! [`SENTINEL_EVERY`]th one, so that a machine that changed is noticed. The race is decided
//! when one is left, or all that are left are tied within the plan's margin. The reference
//! gets no favour: when it is behind, blocks are spent elsewhere.

mod of_run;

use std::collections::BTreeMap;

use crate::sequential::{Bettor, blocks_to_gain};

pub use of_run::{NextBlock, next_block, results};

/// Blocks from one return of the dropped candidates to the next.
pub const SENTINEL_EVERY: u32 = 5;
/// Blocks in which every cell runs, whatever was seen: floors, too.
pub const OPENING_BLOCKS: u32 = 3;

/// How sharply the stake follows the best of the others: their fortunes to this power.
const FOLLOWING: f64 = 8.0;

/// What a race goes by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// Chance that is accepted of losing the best, in (0, 1); the races of a run share it.
    pub alpha: f64,
    /// Ratios closer to 1 than this are ties (0.05 = five per cent).
    pub tie_margin: f64,
}

/// Where a candidate stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Not behind anybody as far as one can tell.
    Racing,
    /// Not the best.
    Behind {
        /// Index of the one that spoke most clearly against it.
        of: usize,
        /// Block that settled it, from 1.
        at_block: u32,
        /// Blocks since then in which both ran.
        sentinels: u32,
        /// How many of them said the opposite.
        contradicted: u32,
    },
}

/// A race with everything seen so far.
#[derive(Debug, Clone)]
pub struct Race {
    rules: Rules,
    runners: Vec<Runner>,
    /// By the one that is bet against, then by the one that is bet on.
    bets: BTreeMap<(usize, usize), Bet>,
    blocks: u32,
}

#[derive(Debug, Clone, Copy)]
struct Runner {
    standing: Standing,
    /// Logarithm of the fortune of who stakes on "somebody is faster", now and at its best.
    ln_fortune: f64,
    ln_fortune_max: f64,
}

/// What one pair of candidates says, seen from the first of them.
#[derive(Debug, Clone, Default)]
struct Bet {
    /// On "the other is faster".
    behind: Bettor,
    /// On "the other is not faster by more than the margin".
    within: Bettor,
}

impl Race {
    /// A race of so many candidates, before its first block.
    pub fn new(candidates: usize, rules: Rules) -> Self {
        let runner = Runner { standing: Standing::Racing, ln_fortune: 0.0, ln_fortune_max: 0.0 };
        let pairs = (0..candidates).flat_map(|a| (0..candidates).map(move |b| (a, b)));
        Race {
            rules,
            runners: vec![runner; candidates],
            bets: pairs.filter(|(a, b)| a != b).map(|pair| (pair, Bet::default())).collect(),
            blocks: 0,
        }
    }

    /// The race after these blocks.
    pub fn replay(candidates: usize, rules: Rules, blocks: &[Vec<Option<f64>>]) -> Self {
        let mut race = Race::new(candidates, rules);
        blocks.iter().for_each(|block| race.push(block));
        race
    }

    /// Takes one block: per candidate its value (times: lower is better), or nothing.
    pub fn push(&mut self, values: &[Option<f64>]) {
        self.blocks += 1;
        let value = |index: usize| values.get(index).copied().flatten().filter(|v| *v > 0.0);
        self.count_sentinels(value);
        for index in 0..self.runners.len() {
            let gain = self.bet_against(index, value);
            let runner = &mut self.runners[index];
            runner.ln_fortune += gain;
            runner.ln_fortune_max = runner.ln_fortune_max.max(runner.ln_fortune);
        }
        self.drop_those_behind();
    }

    /// Plays one block of the bets against a candidate and gives the logarithm of the factor
    /// that came of it. The weights are those of before the block: a bet may not see its draw.
    fn bet_against(&mut self, index: usize, value: impl Fn(usize) -> Option<f64>) -> f64 {
        let Some(own) = value(index) else { return 0.0 };
        let margin = (1.0 + self.rules.tie_margin.max(0.0)).ln();
        let mut weighted: Vec<(f64, f64)> = Vec::new();
        let mut known = false;
        for (&(_, other), bet) in self.bets.range_mut((index, 0)..=(index, usize::MAX)) {
            let Some(theirs) = value(other) else { continue };
            let ln_weight = FOLLOWING * bet.behind.ln_fortune();
            known |= bet.behind.count() > 0;
            let ratio = (own / theirs).ln();
            bet.within.push(margin - ratio);
            weighted.push((ln_weight, bet.behind.push(ratio).exp()));
        }
        if !known && weighted.len() > 1 {
            return 0.0;
        }
        let largest = weighted.iter().map(|(ln_weight, _)| *ln_weight).fold(f64::MIN, f64::max);
        let (mut weights, mut sum) = (0.0, 0.0);
        for (ln_weight, factor) in weighted {
            let weight = (ln_weight - largest).exp();
            weights += weight;
            sum += weight * factor;
        }
        if weights > 0.0 { (sum / weights).ln() } else { 0.0 }
    }

    fn count_sentinels(&mut self, value: impl Fn(usize) -> Option<f64>) {
        for (index, runner) in self.runners.iter_mut().enumerate() {
            let Standing::Behind { of, sentinels, contradicted, .. } = &mut runner.standing else {
                continue;
            };
            if let (Some(own), Some(faster)) = (value(index), value(*of)) {
                *sentinels += 1;
                *contradicted += u32::from(own < faster);
            }
        }
    }

    /// The clearest first; the last one stays, whatever is said against it.
    fn drop_those_behind(&mut self) {
        let mut order: Vec<usize> = (0..self.runners.len()).collect();
        let ln_max = |index: &usize| self.runners[*index].ln_fortune_max;
        order.sort_by(|a, b| ln_max(b).total_cmp(&ln_max(a)));
        for index in order {
            let says_so = self.runners[index].ln_fortune_max >= self.ln_bound();
            if says_so && self.is_racing(index) && self.leaders().len() > 1 {
                self.drop_one(index);
            }
        }
    }

    fn drop_one(&mut self, index: usize) {
        let others = (0..self.runners.len()).filter(|other| *other != index);
        let ln_fortune = |other: &usize| self.bets[&(index, *other)].behind.ln_fortune();
        let of = others.max_by(|a, b| ln_fortune(a).total_cmp(&ln_fortune(b)));
        self.runners[index].standing = Standing::Behind {
            of: of.unwrap_or(index),
            at_block: self.blocks,
            sentinels: 0,
            contradicted: 0,
        };
    }

    /// Bound for the choice: one candidate is the best, so one error may happen.
    fn ln_bound(&self) -> f64 {
        (1.0 / self.rules.alpha).ln()
    }

    /// Behind so clearly that no block is spent on it: enough for all candidates at once.
    fn is_out(&self, index: usize) -> bool {
        let ln_bound = (self.runners.len() as f64 / self.rules.alpha).ln();
        self.runners[index].ln_fortune_max >= ln_bound
    }

    fn is_racing(&self, index: usize) -> bool {
        self.runners[index].standing == Standing::Racing
    }

    /// Where each candidate stands.
    pub fn standings(&self) -> Vec<Standing> {
        self.runners.iter().map(|runner| runner.standing).collect()
    }

    /// Candidates that are not behind, in their order.
    pub fn leaders(&self) -> Vec<usize> {
        (0..self.runners.len()).filter(|index| self.is_racing(*index)).collect()
    }

    /// One is left, or all that are left are tied within the margin.
    pub fn is_decided(&self) -> bool {
        self.open_pairs().is_empty()
    }

    fn open_pairs(&self) -> Vec<(usize, usize)> {
        let leaders = self.leaders();
        let pairs = leaders.iter().flat_map(|a| leaders.iter().map(move |b| (*a, *b)));
        pairs.filter(|(a, b)| a < b && !self.is_tied(*a, *b)).collect()
    }

    /// Neither is faster than the other by more than the margin.
    fn is_tied(&self, a: usize, b: usize) -> bool {
        let comparisons = self.runners.len().saturating_sub(1).max(1);
        let ln_bound = (2.0 * comparisons as f64 / self.rules.alpha).ln();
        [(a, b), (b, a)].iter().all(|pair| self.bets[pair].within.ln_fortune_max() >= ln_bound)
    }

    /// Who runs in the next block: the leaders; everybody in the opening and in every
    /// [`SENTINEL_EVERY`]th block.
    pub fn next(&self) -> Vec<usize> {
        let block = self.blocks + 1;
        let all = block <= OPENING_BLOCKS || block % SENTINEL_EVERY == 0;
        (0..self.runners.len()).filter(|index| all || !self.is_out(*index)).collect()
    }

    /// Fewest further blocks that could decide it, if each said the same as clearly as one can.
    pub fn blocks_at_least(&self) -> u32 {
        let ln_bound = self.ln_bound();
        let needed = |index: usize| blocks_to_gain(ln_bound - self.runners[index].ln_fortune);
        let pairs = self.open_pairs();
        pairs.into_iter().map(|(a, b)| needed(a).min(needed(b)).max(1)).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Rules = Rules { alpha: 0.05, tie_margin: 0.05 };

    #[test]
    fn two_candidates_are_decided_after_six_blocks_of_ten_per_cent() {
        let block = vec![Some(100.0), Some(90.0)];
        let race = |n: usize| Race::replay(2, RULES, &vec![block.clone(); n]);
        assert!(!race(5).is_decided());
        assert_eq!(race(5).blocks_at_least(), 1);
        assert!(race(6).is_decided());
        assert_eq!(race(6).leaders(), [1]);
        let behind = Standing::Behind { of: 1, at_block: 6, sentinels: 0, contradicted: 0 };
        assert_eq!(race(6).standings()[0], behind);
    }

    #[test]
    fn equal_candidates_end_in_a_tie_within_the_margin() {
        let block = |i: usize| vec![Some(100.0), Some(if i % 2 == 0 { 101.0 } else { 99.0 })];
        let blocks: Vec<_> = (0..10).map(block).collect();
        let race = Race::replay(2, RULES, &blocks);
        assert!(race.is_decided());
        assert_eq!(race.leaders(), [0, 1]);
        assert!(!Race::replay(2, Rules { tie_margin: 0.0, ..RULES }, &blocks).is_decided());
    }

    #[test]
    fn those_behind_return_as_sentinels() {
        let near = vec![Some(200.0), Some(100.0), Some(100.0), Some(300.0)];
        let mut race = Race::replay(4, RULES, &vec![near; 10]);
        assert_eq!((race.leaders(), race.next()), (vec![1, 2], vec![1, 2]));
        (0..4).for_each(|_| race.push(&[None, Some(100.0), Some(100.0), None]));
        assert_eq!(race.next(), [0, 1, 2, 3]);
        race.push(&[Some(200.0), Some(100.0), Some(100.0), Some(50.0)]);
        let Standing::Behind { sentinels, contradicted, .. } = race.standings()[3] else {
            panic!("{:?}", race.standings());
        };
        // Behind since block six; it ran in the other four of those ten, too.
        assert_eq!((sentinels, contradicted), (5, 1));
    }

    /// The machine changes so that each is beaten in turn: somebody is left all the same.
    #[test]
    fn somebody_is_left_whatever_happens() {
        let fast_first = vec![Some(100.0), Some(200.0)];
        let fast_second = vec![Some(200.0), Some(100.0)];
        let mut blocks = vec![fast_first; 8];
        blocks.extend(vec![fast_second; 40]);
        let race = Race::replay(2, RULES, &blocks);
        assert_eq!(race.leaders(), [0]);
        let Standing::Behind { sentinels, contradicted, .. } = race.standings()[1] else {
            panic!("{:?}", race.standings());
        };
        assert_eq!((sentinels, contradicted), (43, 40), "behind after five");
    }

    /// One large ratio is one block: heavy tails do not decide.
    #[test]
    fn a_single_stall_drops_nobody() {
        let mut blocks = vec![vec![Some(100.0), Some(101.0)], vec![Some(101.0), Some(100.0)]];
        blocks.push(vec![Some(1e9), Some(100.0)]);
        let race = Race::replay(2, RULES, &blocks);
        assert_eq!(race.leaders(), [0, 1]);
    }

    #[test]
    fn nonsense_values_are_passed_over() {
        let mut race = Race::new(2, RULES);
        race.push(&[Some(f64::NAN), Some(1.0)]);
        race.push(&[Some(0.0), None]);
        race.push(&[]);
        assert_eq!(race.leaders(), [0, 1]);
        assert!(Race::new(1, RULES).is_decided() && Race::new(0, RULES).is_decided());
    }
}
