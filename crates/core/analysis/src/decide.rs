//! The one decision: which of several candidates may still be the best.
//! Two candidates are compared by counting blocks: in how many was one slower than the other? Where
//! neither is slower in the typical block, each says so with a chance of at most one half, whatever
//! came before and whatever the shape of the noise: outliers, two modes and drift count for one
//! block each. So the number of such blocks has a binomial bound. The bound holds at every look
//! together: `alpha` is spent along the blocks, four fifths of it by the planned one and the rest
//! later, without an end (K. K. G. Lan and D. L. DeMets, "Discrete sequential boundaries for
//! clinical trials", 1983). It is computed exactly, path by path.
//! With `count` candidates of which `left` are left, one is out when another of those left is
//! faster by the bound at `alpha / (left * (count - 1))`. However many share the best place, that
//! is a chance of at most `alpha` in all that any of them is ever called out (Bonferroni over the
//! pairs that could err; S. Holm, 1979, for the steps). No candidate is a reference.
//! The interval of a ratio is what the same bound does not reject for the median of the blocks'
//! ratios, and the estimate is that median, so a ratio that is claimed never stands beside an
//! interval that holds 1.

use pickfs_record::finding::Claim;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// Chance of any wrong statement, in (0, 1).
    pub alpha: f64,
    /// Candidates whose ratio is closer to 1 than this are equal: 0.05 is five per cent.
    pub margin: f64,
    /// Blocks that were planned; fixed before the first one.
    pub planned: u32,
}

impl Rules {
    /// Of blocks with the logarithms of their ratios.
    pub fn duel(self, log_ratios: &[(u32, f64)]) -> Duel {
        self.judge(log_ratios).0
    }

    pub fn judge(self, log_ratios: &[(u32, f64)]) -> (Duel, Claim) {
        let ratios = log_ratios.iter().map(|(_, ln)| ln.exp());
        let blocks: Vec<_> = ratios.map(|ratio| vec![Some(ratio), Some(1.0)]).collect();
        let decision = decide(&blocks, self);
        (decision.duel(0, 1), decision.claim(0, 1))
    }
}

/// Fewest blocks in which the slower of two, beaten in each of them, can be told to be out, where
/// so many candidates and questions share an error of `alpha`.
pub fn blocks_needed(alpha: f64, candidates: usize, questions: usize) -> u32 {
    let pairs = candidates.max(2) * (candidates.max(2) - 1);
    let level = alpha / (pairs * questions.max(1)) as f64;
    let is_enough = |blocks: &u32| {
        wins_needed(level, *blocks, *blocks as usize).last().is_some_and(|wins| wins <= blocks)
    };
    (1..1_000).find(is_enough).unwrap_or(1_000)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Left,
    Out {
        by: usize,
        /// The block that settled it, from 1.
        at_block: u32,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    Winner(usize),
    Equal(Vec<usize>),
    Open(Vec<usize>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Duel {
    pub blocks: u32,
    pub slower: u32,
    /// Median over the blocks of first / second; infinite where the first failed in most.
    pub ratio: f64,
    /// Interval of that median at the level of the decision; infinite ends are open.
    pub interval: (f64, f64),
}

#[derive(Debug, Clone)]
pub struct Decision {
    rules: Rules,
    /// By candidate, then by opponent: (block from 1, ln of own value / theirs).
    pairs: Vec<Vec<Vec<(u32, f64)>>>,
    standings: Vec<Standing>,
    /// By candidate, then by opponent: since which block the first is slower by less than the margin.
    within: Vec<Vec<Option<u32>>>,
    /// Pairs between which nothing is said.
    withheld: Vec<(usize, usize)>,
}

/// Decides after these blocks. A block holds a value per candidate, lower is better: infinity where it failed,
/// nothing where it did not run.
pub fn decide(blocks: &[Vec<Option<f64>>], rules: Rules) -> Decision {
    decide_but(blocks, rules, Vec::new())
}

/// The same where nothing may be said between some pairs, each given both ways: neither is out by the other, nor
/// are they equal.
pub fn decide_but(
    blocks: &[Vec<Option<f64>>],
    rules: Rules,
    withheld: Vec<(usize, usize)>,
) -> Decision {
    let count = blocks.iter().map(Vec::len).max().unwrap_or(0);
    let value = |block: &[Option<f64>], index: usize| block.get(index).copied().flatten();
    let series = |a: usize, b: usize| -> Vec<(u32, f64)> {
        let each = (1..).zip(blocks).filter_map(|(number, block)| {
            let ratio = value(block, a)? / value(block, b)?;
            (ratio >= 0.0).then_some((number, ratio.ln()))
        });
        each.collect()
    };
    let pairs: Vec<Vec<Vec<(u32, f64)>>> =
        (0..count).map(|a| (0..count).map(|b| series(a, b)).collect()).collect();
    of_pairs(pairs, rules, withheld)
}

/// The same of values that stand in pairs alone: by candidate, then by opponent, (block from 1, ln of own / theirs).
pub(crate) fn of_pairs(
    pairs: Vec<Vec<Vec<(u32, f64)>>>,
    rules: Rules,
    withheld: Vec<(usize, usize)>,
) -> Decision {
    let count = pairs.len();
    let last = pairs.iter().flatten().filter_map(|series| series.last()).map(|(block, _)| *block);
    let blocks = last.max().unwrap_or(0);
    let margin = rules.margin.max(0.0).ln_1p();
    let needed = wins_needed(rules.alpha / count as f64, rules.planned, blocks as usize);
    let within = |pair: &Vec<_>| reached(pair, &needed, |ratio| ratio < margin);
    let within = pairs.iter().map(|row| row.iter().map(within).collect()).collect();
    let standings = vec![Standing::Left; count];
    let mut decision = Decision { rules, pairs, standings, within, withheld };
    decision.play(blocks);
    decision
}

impl Duel {
    /// The ratio, where neither failed in more than half of the blocks.
    pub fn finite(&self) -> Option<f64> {
        Some(self.ratio).filter(|ratio| *ratio > 0.0 && ratio.is_finite())
    }

    /// The interval, where it is closed on both sides.
    pub fn closed(&self) -> Option<(f64, f64)> {
        let (low, high) = self.interval;
        (low > 0.0 && high.is_finite()).then_some((low, high))
    }
}

impl Decision {
    pub fn margin(&self) -> f64 {
        self.rules.margin
    }

    pub fn standings(&self) -> &[Standing] {
        &self.standings
    }

    pub fn left(&self) -> Vec<usize> {
        let is_left = |index: &usize| self.standings[*index] == Standing::Left;
        (0..self.standings.len()).filter(is_left).collect()
    }

    pub fn end(&self) -> End {
        let left = self.left();
        match left[..] {
            [only] if self.standings.len() > 1 => End::Winner(only),
            [_, _, ..] if self.are_equal(&left) => End::Equal(left),
            _ => End::Open(left),
        }
    }

    pub fn duel(&self, a: usize, b: usize) -> Duel {
        let series = &self.pairs[a][b];
        let needed = wins_needed(self.level(self.left().len()), self.rules.planned, series.len());
        let interval = match self.is_withheld(a, b) {
            true => (f64::NEG_INFINITY, f64::INFINITY),
            false => interval(series, &needed),
        };
        Duel {
            blocks: series.len() as u32,
            slower: series.iter().filter(|(_, ratio)| *ratio > 0.0).count() as u32,
            ratio: self.middle(a, b).exp(),
            interval: (interval.0.exp(), interval.1.exp()),
        }
    }

    pub fn claim(&self, reference: usize, other: usize) -> Claim {
        let is_left = |index: usize| self.standings[index] == Standing::Left;
        let (is_equal, margin) = (self.are_equal(&[reference, other]), self.rules.margin);
        match self.duel(reference, other).interval {
            _ if is_equal && is_left(reference) && is_left(other) => Claim::Equal { margin },
            (low, _) if low > 1.0 => Claim::Faster,
            (_, high) if high < 1.0 => Claim::Slower,
            _ if is_equal => Claim::Equal { margin },
            _ => Claim::Open,
        }
    }

    /// Candidates from the fastest to the slowest: by the number of others that they beat in more than half of
    /// the blocks, then by their ratio to the first of the list.
    pub fn ranking(&self) -> Vec<usize> {
        let count = self.standings.len();
        let beaten = |a: usize| {
            let is_ahead = |b: &usize| *b != a && self.middle(a, *b) < 0.0;
            (0..count).filter(is_ahead).count()
        };
        let mut order: Vec<usize> = (0..count).collect();
        let is_out = |index: usize| self.standings[index] != Standing::Left;
        order.sort_by(|a, b| {
            let by_standing = is_out(*a).cmp(&is_out(*b));
            by_standing.then(beaten(*b).cmp(&beaten(*a)))
        });
        order
    }

    /// About how many more blocks would settle what is open, if they went on as they did; nothing where they
    /// would not within a thousand.
    pub fn more_blocks(&self) -> Option<u32> {
        let left = self.left();
        let best = *self.ranking().first()?;
        let level = self.level(left.len());
        let needed = wins_needed(level, self.rules.planned, 1_000);
        let others = left.into_iter().filter(|other| *other != best);
        let more = others.map(|other| {
            let series = &self.pairs[other][best];
            let won = series.iter().filter(|(_, ratio)| *ratio > 0.0).count() as f64;
            let share = (won + 0.5) / (series.len() as f64 + 1.0);
            let seen = series.len();
            let reaches = |n: &usize| won + share * (*n - seen) as f64 >= f64::from(needed[n - 1]);
            (seen + 1..=1_000).find(reaches).map(|n| (n - seen) as u32)
        });
        more.collect::<Option<Vec<u32>>>()?.into_iter().max()
    }

    /// Blocks after a given one that hold both, and in how many of these the first was faster.
    pub fn since(&self, a: usize, b: usize, block: u32) -> (u32, u32) {
        let later = self.pairs[a][b].iter().filter(|(number, _)| *number > block);
        let faster = later.clone().filter(|(_, ratio)| *ratio < 0.0);
        (later.count() as u32, faster.count() as u32)
    }

    /// The logarithms of the blocks' ratios; none where nothing may be said of the pair.
    pub(crate) fn series(&self, a: usize, b: usize) -> &[(u32, f64)] {
        if self.is_withheld(a, b) { &[] } else { &self.pairs[a][b] }
    }

    fn is_withheld(&self, a: usize, b: usize) -> bool {
        self.withheld.contains(&(a, b))
    }

    /// Chance of one error that is allowed to one pair while so many are left.
    fn level(&self, left: usize) -> f64 {
        self.rules.alpha / (left.max(2) * (self.standings.len().max(2) - 1)) as f64
    }

    fn play(&mut self, blocks: u32) {
        let count = self.standings.len();
        // By the number that are left: who is slower than whom, and since which block.
        let settled: Vec<Vec<Vec<Option<u32>>>> = (0..=count)
            .map(|left| {
                let needed = wins_needed(self.level(left), self.rules.planned, blocks as usize);
                let since = |a: usize, b: usize| reached(&self.pairs[a][b], &needed, |r| r > 0.0);
                (0..count).map(|a| (0..count).map(|b| since(a, b)).collect()).collect()
            })
            .collect();
        for block in 1..=blocks {
            loop {
                let left = self.left();
                let by_now = |since: Option<u32>| since.is_some_and(|since| since <= block);
                // Whoever looked here was told that these two are equal: that stands at every later look.
                let equal =
                    |a: usize, b: usize| by_now(self.within[a][b]) && by_now(self.within[b][a]);
                let slower = |a: usize, b: usize| by_now(settled[left.len()][a][b]) && !equal(a, b);
                let pairs = left.iter().flat_map(|a| left.iter().map(|b| (*a, *b)));
                let clearest = pairs
                    .filter(|(a, b)| a != b && !self.is_withheld(*a, *b) && slower(*a, *b))
                    .max_by(|x, y| self.middle(x.0, x.1).total_cmp(&self.middle(y.0, y.1)));
                let Some((out, by)) = clearest else { break };
                self.standings[out] = Standing::Out { by, at_block: block };
            }
        }
    }

    fn middle(&self, a: usize, b: usize) -> f64 {
        let mut sorted: Vec<f64> = self.pairs[a][b].iter().map(|(_, ratio)| *ratio).collect();
        sorted.sort_by(f64::total_cmp);
        crate::summary::middle(&sorted)
    }

    pub fn are_equal(&self, left: &[usize]) -> bool {
        let is_equal = |a: usize, b: usize| !self.is_withheld(a, b) && self.within[a][b].is_some();
        left.iter().all(|a| left.iter().all(|b| a == b || is_equal(*a, *b)))
    }
}

/// How many of the first k blocks must say the same, for k = 1 ..= `blocks`, so that a fair coin does it in any of
/// them with a chance of at most `level`; k + 1 where no number is enough.
pub fn wins_needed(level: f64, planned: u32, blocks: usize) -> Vec<u32> {
    // Chances of the numbers of wins, of those paths that have not reached the bound.
    let mut chances = vec![0.0; blocks + 1];
    chances[0] = 1.0;
    let mut spent = 0.0;
    let each = (1..=blocks).map(|k| {
        for wins in (0..=k).rev() {
            let won = if wins > 0 { chances[wins - 1] } else { 0.0 };
            chances[wins] = f64::midpoint(chances[wins], won);
        }
        let allowed = level * spent_share(k, planned) - spent;
        let (mut needed, mut chance) = (k + 1, 0.0);
        while needed > 0 && chance + chances[needed - 1] <= allowed {
            needed -= 1;
            chance += chances[needed];
            chances[needed] = 0.0;
        }
        spent += chance;
        needed as u32
    });
    each.collect()
}

/// Share of the error that may be spent by block k: four fifths at the planned one.
fn spent_share(k: usize, planned: u32) -> f64 {
    let part = (k as f64 / f64::from(planned.max(1))).powi(3);
    part / (part + 0.25)
}

fn reached(series: &[(u32, f64)], needed: &[u32], says_so: impl Fn(f64) -> bool) -> Option<u32> {
    let mut wins = 0;
    series.iter().zip(needed).find_map(|((block, ratio), needed)| {
        wins += u32::from(says_so(*ratio));
        (wins >= *needed).then_some(*block)
    })
}

/// The medians that no look has rejected on either side.
fn interval(series: &[(u32, f64)], needed: &[u32]) -> (f64, f64) {
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
    let mut sorted: Vec<f64> = Vec::new();
    for ((_, ratio), needed) in series.iter().zip(needed) {
        sorted.insert(sorted.partition_point(|other| other < ratio), *ratio);
        if let Some(from_end) = sorted.len().checked_sub(*needed as usize) {
            low = low.max(sorted[from_end]);
            high = high.min(sorted[sorted.len() - 1 - from_end]);
        }
    }
    // A machine that changed: looks contradict each other, or the median has left them. All are shown.
    let half = sorted.len() / 2;
    let medians = sorted.get(sorted.len().saturating_sub(1) / 2..=half).unwrap_or_default();
    let ends = || [low, high].into_iter().chain(medians.iter().copied());
    (ends().fold(f64::INFINITY, f64::min), ends().fold(f64::NEG_INFINITY, f64::max))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Rules = Rules { alpha: 0.05, margin: 0.05, planned: 15 };

    fn blocks(count: usize, values: &[f64]) -> Vec<Vec<Option<f64>>> {
        vec![values.iter().map(|value| Some(*value)).collect(); count]
    }

    #[test]
    fn an_interval_holds_the_median_also_of_a_machine_that_changed() {
        let steady: Vec<(u32, f64)> = (1..=20).map(|block| (block, 0.1)).collect();
        let needed = wins_needed(RULES.alpha, RULES.planned, steady.len());
        assert_eq!(interval(&steady, &needed), (0.1, 0.1));
        let later = |(block, ratio)| (block, if block > 8 { ratio + 0.2 } else { ratio });
        let changed: Vec<_> = steady.into_iter().map(later).collect();
        let (low, high) = interval(&changed, &needed);
        assert!(low <= 0.1 && (high - 0.3).abs() < 1e-9, "{low} to {high}");
        assert_eq!(interval(&[], &needed), (f64::NEG_INFINITY, f64::INFINITY));
    }

    #[test]
    fn the_bound_is_kept_by_every_path_of_a_fair_coin() {
        for (level, planned) in [(0.025, 12), (0.05, 5), (0.004, 12)] {
            let needed = wins_needed(level, planned, 14);
            let crosses = |coins: u32| {
                (1..=14).any(|k| (coins & ((1 << k) - 1)).count_ones() >= needed[k as usize - 1])
            };
            let chance = (0..1u32 << 14).filter(|coins| crosses(*coins)).count() as f64 / 16384.0;
            assert!(chance <= level && chance > 0.3 * level, "{level} {planned}: {chance}");
        }
    }

    #[test]
    fn the_faster_of_two_wins_with_its_ratio_and_an_interval_that_leaves_one_out() {
        let mut played = blocks(8, &[1.2, 1.0]);
        played.push(vec![Some(1.3), Some(1.0)]);
        let decision = decide(&played, RULES);
        assert_eq!(decision.end(), End::Winner(1));
        let Standing::Out { by: 1, at_block } = decision.standings()[0] else { panic!() };
        assert!((6..=9).contains(&at_block), "{at_block}");
        let duel = decision.duel(0, 1);
        assert_eq!((duel.blocks, duel.slower), (9, 9));
        assert!((duel.ratio - 1.2).abs() < 1e-9 && duel.interval.0 > 1.0, "{duel:?}");
        let turned = decision.duel(1, 0);
        assert!((turned.interval.1 * duel.interval.0 - 1.0).abs() < 1e-9, "{turned:?}");
    }

    #[test]
    fn the_order_of_the_candidates_changes_no_standing() {
        let values = [1.3, 1.0, 2.0, 1.02];
        let jitter = |block: usize, index: usize| 1.0 + 0.01 * ((block * 7 + index * 3) % 5) as f64;
        let turns: Vec<Vec<usize>> = vec![vec![0, 1, 2, 3], vec![3, 2, 1, 0], vec![2, 0, 3, 1]];
        let outs: Vec<Vec<bool>> = turns
            .iter()
            .map(|order| {
                let block =
                    |b: usize| order.iter().map(|i| Some(values[*i] * jitter(b, *i))).collect();
                let decision = decide(&(0..15).map(block).collect::<Vec<_>>(), RULES);
                let is_out = |i: usize| {
                    let place = order.iter().position(|at| *at == i).expect("each is there");
                    decision.standings()[place] != Standing::Left
                };
                (0..4).map(is_out).collect()
            })
            .collect();
        assert_eq!(outs[0], [true, false, true, false]);
        assert!(outs.iter().all(|out| *out == outs[0]), "{outs:?}");
    }

    #[test]
    fn few_blocks_leave_it_open_and_say_how_many_more() {
        let decision = decide(&blocks(3, &[1.5, 1.0]), RULES);
        assert_eq!(decision.end(), End::Open(vec![0, 1]));
        assert!(decision.more_blocks().is_some_and(|more| (2..20).contains(&more)));
        assert_eq!(decision.ranking(), [1, 0]);
        assert_eq!(decision.duel(0, 1).interval, (0.0, f64::INFINITY));
        assert_eq!(decide(&blocks(3, &[1.0, 1.0]), RULES).more_blocks(), None);
    }

    #[test]
    fn equal_ones_are_called_equal_only_within_the_margin() {
        let near = |by: f64| -> Vec<Vec<Option<f64>>> {
            (0..30).map(|b| vec![Some(1.0), Some(if b % 2 == 0 { by } else { 1.0 / by })]).collect()
        };
        assert_eq!(decide(&near(1.01), RULES).end(), End::Equal(vec![0, 1]));
        assert_eq!(decide(&near(1.08), RULES).end(), End::Open(vec![0, 1]));
    }

    /// Slower by less than the margin in each block: both bounds are met at one look, and no later one turns it.
    #[test]
    fn a_difference_within_the_margin_is_equal_at_every_look() {
        for others in [&[1.0][..], &[1.0, 1.3], &[1.0, 1.02, 1.08]] {
            let block = |b: u32| {
                let all = std::iter::once(1.03).chain(others.iter().copied());
                all.map(|truth| Some(truth + 0.001 * f64::from(b % 5))).collect()
            };
            let played: Vec<_> = (0..60).map(block).collect();
            let end = |looks: usize| decide(&played[..looks], RULES).end();
            let ends: Vec<End> = (1..=60).map(end).collect();
            let first = ends.iter().position(|end| !matches!(end, End::Open(_))).expect("an end");
            assert!(ends[first..].iter().all(|end| *end == ends[first]), "{ends:?}");
            assert!(matches!(&ends[59], End::Equal(of) if of[..2] == [0, 1]), "{ends:?}");
            let decision = decide(&played, RULES);
            assert_eq!(decision.claim(0, 1), Claim::Equal { margin: 0.05 });
        }
    }

    #[test]
    fn a_failed_trial_is_worse_than_any_and_two_failures_say_nothing() {
        let failed = decide(&blocks(12, &[f64::INFINITY, 9.0]), RULES);
        assert_eq!(failed.end(), End::Winner(1));
        assert_eq!((failed.duel(0, 1).ratio, failed.duel(0, 1).finite()), (f64::INFINITY, None));
        let both = decide(&blocks(12, &[f64::INFINITY, f64::INFINITY]), RULES);
        assert_eq!((both.end(), both.duel(0, 1).blocks), (End::Open(vec![0, 1]), 0));
    }

    #[test]
    fn nobody_and_one_alone_win_nothing() {
        assert_eq!(decide(&[], RULES).end(), End::Open(vec![]));
        assert_eq!(decide(&blocks(20, &[1.0]), RULES).end(), End::Open(vec![0]));
    }
}
