//! Racing: spend blocks only where they still decide (rule 9).
//!
//! After each block every pair of candidates is looked at with the always-valid test
//! of [`crate::sequential`]. A candidate that is behind another one drops out; it
//! comes back as a sentinel in every k-th block, so that a machine that changed is
//! noticed. The race is decided when one is left, or all that are left are tied
//! within the plan's margin. The reference keeps running until then: the report
//! gives ratios to it.
//!
//! The bound on each pair is `alpha / comparisons`. The best candidate is in
//! candidates - 1 pairs, and can only be lost through one of them, so the chance of a
//! wrong winner is at most `alpha` - at whatever block the race stops.

use std::collections::BTreeMap;

use pickfs_model::{
    CellId, Outcome, RunRecord,
    plan::{Metric, Statistic, StopRule},
};

use crate::{
    ALPHA,
    claims::values_by_block,
    panels::{Group, Robbed, applies, groups},
    sequential::Watch,
};

/// Blocks from one return of the dropped candidates to the next.
pub const SENTINEL_EVERY: u32 = 5;
/// Blocks in which every cell runs, whatever was seen.
pub const OPENING_BLOCKS: u32 = 3;

/// What a race goes by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// Chance of a wrong winner that is accepted, in (0, 1).
    pub alpha: f64,
    /// Comparisons that share `alpha`: candidates - 1, summed over all races of the run.
    pub comparisons: usize,
    /// Ratios closer to 1 than this are ties (0.05 = five per cent).
    pub tie_margin: f64,
    /// The candidate that runs until the end, if any.
    pub reference: Option<usize>,
}

impl Rules {
    fn bound(&self) -> f64 {
        self.alpha / self.comparisons.max(1) as f64
    }
}

/// Where a candidate stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Not behind anybody as far as one can tell.
    Racing,
    /// Claimed slower than another one.
    Behind {
        /// Index of the faster one.
        of: usize,
        /// Block that settled it, from 1.
        at_block: u32,
        /// Sentinel blocks since then in which both ran.
        sentinels: u32,
        /// How many of them said the opposite.
        contradicted: u32,
    },
}

/// A race with everything seen so far.
#[derive(Debug, Clone)]
pub struct Race {
    rules: Rules,
    standings: Vec<Standing>,
    pairs: BTreeMap<(usize, usize), Pair>,
    blocks: u32,
}

#[derive(Debug, Clone)]
struct Pair {
    watch: Watch,
    tied: bool,
}

impl Race {
    /// A race of so many candidates, before its first block.
    pub fn new(candidates: usize, rules: Rules) -> Self {
        let pair = || Pair { watch: Watch::new(1.0 - rules.bound()), tied: false };
        let pairs = (0..candidates).flat_map(|a| (a + 1..candidates).map(move |b| (a, b)));
        Race {
            rules,
            standings: vec![Standing::Racing; candidates],
            pairs: pairs.map(|key| (key, pair())).collect(),
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
        for (&(a, b), pair) in &mut self.pairs {
            let (Some(left), Some(right)) = (value(a), value(b)) else { continue };
            pair.watch.push((left / right).ln());
            let margin = (1.0 + self.rules.tie_margin.max(0.0)).ln();
            let within = |(low, high): (f64, f64)| low >= -margin && high <= margin;
            pair.tied |= pair.watch.interval().is_some_and(within);
        }
        self.drop_those_behind();
    }

    fn count_sentinels(&mut self, value: impl Fn(usize) -> Option<f64>) {
        for (index, standing) in self.standings.iter_mut().enumerate() {
            let Standing::Behind { of, sentinels, contradicted, .. } = standing else { continue };
            if let (Some(own), Some(faster)) = (value(index), value(*of)) {
                *sentinels += 1;
                *contradicted += u32::from(own < faster);
            }
        }
    }

    fn drop_those_behind(&mut self) {
        for (&(a, b), pair) in &self.pairs {
            if pair.watch.p() > self.rules.bound() {
                continue;
            }
            let (faster, slower) = if pair.watch.is_mostly_above() { (b, a) } else { (a, b) };
            if self.is_racing(faster) && self.is_racing(slower) {
                self.standings[slower] = Standing::Behind {
                    of: faster,
                    at_block: self.blocks,
                    sentinels: 0,
                    contradicted: 0,
                };
            }
        }
    }

    fn is_racing(&self, index: usize) -> bool {
        self.standings[index] == Standing::Racing
    }

    /// Where each candidate stands.
    pub fn standings(&self) -> &[Standing] {
        &self.standings
    }

    /// Candidates that are not behind, in their order.
    pub fn leaders(&self) -> Vec<usize> {
        (0..self.standings.len()).filter(|index| self.is_racing(*index)).collect()
    }

    /// One is left, or all that are left are tied within the margin.
    pub fn is_decided(&self) -> bool {
        self.open_pairs().next().is_none()
    }

    fn open_pairs(&self) -> impl Iterator<Item = &Pair> {
        self.pairs
            .iter()
            .filter(|((a, b), pair)| self.is_racing(*a) && self.is_racing(*b) && !pair.tied)
            .map(|(_, pair)| pair)
    }

    /// Who runs in the next block: leaders and reference; everybody in the opening and
    /// in every [`SENTINEL_EVERY`]th block.
    pub fn next(&self) -> Vec<usize> {
        let block = self.blocks + 1;
        let all = block <= OPENING_BLOCKS || block.is_multiple_of(SENTINEL_EVERY);
        let runs =
            |index: &usize| all || self.is_racing(*index) || self.rules.reference == Some(*index);
        (0..self.standings.len()).filter(runs).collect()
    }

    /// Fewest further blocks that could decide it: every open pair with equal signs from here.
    pub fn blocks_at_least(&self) -> u32 {
        let bound = self.rules.bound();
        self.open_pairs().map(|pair| pair.watch.needed(bound)).max().unwrap_or(0)
    }
}

/// What the lab does next in a run that stops when decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextBlock {
    /// Every race is decided; nothing needs to run.
    pub decided: bool,
    /// The cells of the next block, in plan order (shuffle them).
    pub cells: Vec<CellId>,
    /// Fewest further blocks that could decide everything.
    pub blocks_at_least: u32,
    /// Cells that dropped out or came back, in words.
    pub words: Vec<String>,
}

/// Looks at a run after a whole block; one race per panel and primary metric.
pub fn next_block(run: &RunRecord) -> NextBlock {
    let groups = groups(run);
    let races = races(run, &groups);
    let blocks = last_block(run);
    let all = blocks < OPENING_BLOCKS || (blocks + 1).is_multiple_of(SENTINEL_EVERY);
    let decided = blocks > 0 && !races.is_empty() && races.iter().all(|r| r.race.is_decided());
    let wanted: Vec<&CellId> = races.iter().flat_map(Run::wanted).collect();
    let lost = |id: &CellId| blocks >= OPENING_BLOCKS && never_finished(run, id);
    let runs = |id: &&CellId| !decided && !lost(id) && (all || wanted.contains(id));
    NextBlock {
        decided,
        cells: run.cells.iter().map(|cell| &cell.id).filter(runs).cloned().collect(),
        blocks_at_least: races.iter().map(|r| r.race.blocks_at_least()).max().unwrap_or(0),
        words: races.iter().flat_map(Run::words).collect(),
    }
}

/// One race of a run.
struct Run<'a> {
    group: &'a Group<'a>,
    /// Indices of the group's members that race.
    members: Vec<usize>,
    race: Race,
}

impl<'a> Run<'a> {
    fn wanted(&self) -> Vec<&'a CellId> {
        if self.race.is_decided() {
            return Vec::new();
        }
        let next = self.race.next();
        next.into_iter().map(|index| &self.group.members[self.members[index]].cell.id).collect()
    }

    fn label(&self, index: usize) -> &str {
        &self.group.members[self.members[index]].label
    }

    fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        for (index, standing) in self.race.standings().iter().enumerate() {
            let Standing::Behind { of, at_block, sentinels, contradicted } = standing else {
                continue;
            };
            let (own, faster) = (self.label(index), self.label(*of));
            words.push(format!("{own} fell behind {faster} in block {at_block}"));
            if *contradicted >= 2 && 2 * contradicted > *sentinels {
                words.push(format!(
                    "{own} was ahead of {faster} in {contradicted} of {sentinels} sentinel blocks: \
                     the machine may have changed"
                ));
            }
        }
        words
    }
}

fn races<'a>(run: &RunRecord, groups: &'a [Group<'a>]) -> Vec<Run<'a>> {
    let tie_margin = match run.plan.design.stop {
        StopRule::Decided { tie_margin, .. } => tie_margin,
        StopRule::Blocks => 0.0,
    };
    let fields: Vec<(&Group<'a>, &Metric, Vec<usize>)> = groups
        .iter()
        .flat_map(|group| run.plan.design.primary.iter().map(move |metric| (group, metric)))
        .map(|(group, metric)| (group, metric, field(group, metric)))
        .filter(|(_, _, members)| members.len() > 1)
        .collect();
    let comparisons = fields.iter().map(|(_, _, members)| members.len() - 1).sum();
    let race = |(group, metric, members): (&'a Group<'a>, &Metric, Vec<usize>)| {
        let reference = members.iter().position(|member| *member == group.reference);
        let rules = Rules { alpha: ALPHA, comparisons, tie_margin, reference };
        let blocks = blocks(run, group, metric, &members);
        Run { group, race: Race::replay(members.len(), rules, &blocks), members }
    };
    fields.into_iter().map(race).collect()
}

/// Members that are asked for the metric, stand on the reference's backing and have a value.
fn field(group: &Group<'_>, metric: &Metric) -> Vec<usize> {
    let mut members = group.rivals();
    members.push(group.reference);
    members.sort_unstable();
    members.retain(|&index| {
        let Some(member) = group.members.get(index) else { return false };
        applies(metric, member.cell) && !values_by_block(member, metric, Robbed::Kept).is_empty()
    });
    members
}

fn blocks(
    run: &RunRecord,
    group: &Group<'_>,
    metric: &Metric,
    members: &[usize],
) -> Vec<Vec<Option<f64>>> {
    let higher_is_better = metric.statistic == Statistic::Rate;
    let columns: Vec<BTreeMap<u32, f64>> = members
        .iter()
        .map(|&index| values_by_block(&group.members[index], metric, Robbed::Kept))
        .collect();
    let turned = |value: &f64| if higher_is_better { 1.0 / value } else { *value };
    (1..=last_block(run))
        .map(|block| columns.iter().map(|column| column.get(&block).map(turned)).collect())
        .collect()
}

fn last_block(run: &RunRecord) -> u32 {
    run.trials.iter().map(|trial| trial.block).max().unwrap_or(0)
}

fn never_finished(run: &RunRecord, id: &CellId) -> bool {
    let mut trials = run.trials.iter().filter(|trial| trial.cell == *id);
    trials.all(|trial| trial.outcome != Outcome::Finished)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pickfs_testkit::{FakeRun, Mishap, fake_run};

    fn rules(comparisons: usize) -> Rules {
        Rules { alpha: 0.05, comparisons, tie_margin: 0.05, reference: Some(0) }
    }

    #[test]
    fn two_candidates_are_decided_after_eight_equal_signs() {
        let block = vec![Some(100.0), Some(90.0)];
        let race = |n: usize| Race::replay(2, rules(1), &vec![block.clone(); n]);
        assert!(!race(7).is_decided());
        assert_eq!(race(7).blocks_at_least(), 1);
        assert!(race(8).is_decided());
        assert_eq!(race(8).leaders(), [1]);
        let behind = Standing::Behind { of: 1, at_block: 8, sentinels: 0, contradicted: 0 };
        assert_eq!(race(8).standings()[0], behind);
    }

    #[test]
    fn equal_candidates_end_in_a_tie_within_the_margin() {
        let block =
            |i: usize| vec![Some(100.0), Some(if i.is_multiple_of(2) { 101.0 } else { 99.0 })];
        let blocks: Vec<_> = (0..8).map(block).collect();
        let race = Race::replay(2, rules(1), &blocks);
        assert!(race.is_decided());
        assert_eq!(race.leaders(), [0, 1]);
    }

    #[test]
    fn those_behind_return_as_sentinels_and_the_reference_stays() {
        let block = vec![Some(200.0), Some(100.0), Some(101.0), Some(300.0)];
        let mut race = Race::replay(4, rules(3), &vec![block.clone(); 10]);
        assert_eq!(race.leaders(), [1]);
        let near = vec![Some(200.0), Some(100.0), Some(100.0), Some(300.0)];
        race = Race::replay(4, rules(3), &vec![near.clone(); 10]);
        assert_eq!((race.leaders(), race.next()), (vec![1, 2], vec![0, 1, 2]));
        (0..4).for_each(|_| race.push(&[Some(200.0), Some(100.0), Some(100.0), None]));
        assert_eq!(race.next(), [0, 1, 2, 3]);
        race.push(&[Some(200.0), Some(100.0), Some(100.0), Some(50.0)]);
        let Standing::Behind { sentinels, contradicted, .. } = race.standings()[3] else {
            panic!("{:?}", race.standings());
        };
        assert_eq!((sentinels, contradicted), (1, 1));
    }

    #[test]
    fn nonsense_values_are_passed_over() {
        let mut race = Race::new(2, rules(1));
        race.push(&[Some(f64::NAN), Some(1.0)]);
        race.push(&[Some(0.0), None]);
        race.push(&[]);
        assert_eq!(race.leaders(), [0, 1]);
        assert!(Race::new(1, rules(0)).is_decided() && Race::new(0, rules(0)).is_decided());
    }

    fn race_of(blocks: u32, mishaps: Vec<Mishap>) -> NextBlock {
        let stop = StopRule::Decided { budget_s: 600.0, tie_margin: 0.05 };
        next_block(&fake_run(&FakeRun { blocks, stop, mishaps, ..FakeRun::default() }))
    }

    #[test]
    fn a_run_opens_with_all_cells_and_ends_when_every_race_has() {
        let opening = race_of(0, Vec::new());
        assert_eq!((opening.decided, opening.cells.len()), (false, 8));
        assert_eq!(race_of(3, Vec::new()).cells.len(), 6, "floors only with the sentinels");
        assert_eq!(race_of(4, Vec::new()).cells.len(), 8);
        let end = race_of(25, Vec::new());
        assert!(end.decided && end.cells.is_empty());
        assert!(end.words.iter().any(|words| words.starts_with("ext4:noatime fell behind xfs")));
    }

    #[test]
    fn a_cell_that_never_finished_is_not_tried_for_ever() {
        let mishaps = vec![Mishap::failed("btrfs:noatime", "none", 0, "ENOSPC")];
        assert_eq!(race_of(3, mishaps).cells.len(), 5);
    }
}
