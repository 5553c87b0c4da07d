//! The races of a run: one per panel and primary metric. What runs next, and how they stand.
//!
//! A run that stops when decided asks [`next_block`] after each block; a report asks
//! [`results`]. Neither says more than the trials that are there.

use std::collections::BTreeMap;

use pickfs_model::{
    CellId, Durability, Outcome, RunRecord,
    finding::{FellBehind, RaceResult},
    plan::{Metric, Statistic, StopRule},
};

use super::{OPENING_BLOCKS, Race, Rules, SENTINEL_EVERY, Standing};
use crate::{
    ALPHA,
    claims::{Method, log_ratios, values_by_block},
    panels::{BY_CANDIDATE, Group, Robbed, applies, groups},
    phases::scale::are_alike,
    wording::{list, metric_name, percent_over_one},
};

/// What the lab does next in a run that stops when decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextBlock {
    /// Every race is decided; nothing needs to run.
    pub decided: bool,
    /// The cells of the next block, in plan order (shuffle them).
    pub cells: Vec<CellId>,
    /// Fewest further blocks that could decide everything.
    pub blocks_at_least: u32,
    /// How each race stands, in words.
    pub words: Vec<String>,
}

/// Looks at a run after a whole block.
pub fn next_block(run: &RunRecord) -> NextBlock {
    let groups = groups(run);
    let races = races(run, &groups);
    let blocks = last_block(run);
    let opening = blocks < OPENING_BLOCKS || (blocks + 1) % SENTINEL_EVERY == 0;
    let all = opening || races.is_empty();
    let decided = blocks > 0 && !races.is_empty() && races.iter().all(|r| r.race.is_decided());
    let wanted: Vec<&CellId> = races.iter().flat_map(OneRace::wanted).collect();
    let lost = |id: &CellId| blocks >= OPENING_BLOCKS && never_finished(run, id);
    let runs = |id: &&CellId| !decided && !lost(id) && (all || wanted.contains(id));
    NextBlock {
        decided,
        cells: run.cells.iter().map(|cell| &cell.id).filter(runs).cloned().collect(),
        blocks_at_least: races.iter().map(|r| r.race.blocks_at_least()).max().unwrap_or(0),
        words: races.iter().map(|race| race.result(run)).map(|result| words(&result)).collect(),
    }
}

/// How the races of a run ended; none where the plan asked for a fixed number of blocks.
pub fn results(run: &RunRecord, groups: &[Group<'_>]) -> Vec<RaceResult> {
    match run.plan.design.stop {
        StopRule::Blocks => Vec::new(),
        StopRule::Decided { .. } => {
            races(run, groups).iter().map(|race| race.result(run)).collect()
        }
    }
}

/// `sync=none, append p50: xfs is left` and the like.
fn words(result: &RaceResult) -> String {
    let metric = metric_name(&result.metric);
    let place = match result.panel.as_str() {
        "" => metric,
        panel => format!("{panel}, {metric}"),
    };
    let leaders = list(&result.leaders);
    match (result.leaders.len(), result.decided) {
        (1, _) => format!("{place}: {leaders} is left"),
        (_, true) => {
            let margin = percent_over_one(1.0 + result.tie_margin);
            format!("{place}: {leaders} are tied within {margin}")
        }
        (_, false) => format!("{place}: still open between {leaders}"),
    }
}

/// One race of a run.
struct OneRace<'a> {
    group: &'a Group<'a>,
    metric: &'a Metric,
    rules: Rules,
    /// Indices of the group's members that race.
    members: Vec<usize>,
    race: Race,
}

impl<'a> OneRace<'a> {
    fn wanted(&self) -> Vec<&'a CellId> {
        if self.race.is_decided() {
            return Vec::new();
        }
        let next = self.race.next();
        next.into_iter().map(|index| &self.group.members[self.members[index]].cell.id).collect()
    }

    fn label(&self, index: usize) -> String {
        self.group.members[self.members[index]].label.clone()
    }

    fn result(&self, run: &RunRecord) -> RaceResult {
        let standings = self.race.standings();
        let behind = standings.iter().enumerate();
        let blocks = last_block(run);
        RaceResult {
            panel: self.group.title.clone(),
            metric: self.metric.clone(),
            alpha: self.rules.alpha,
            tie_margin: self.rules.tie_margin,
            decided: self.race.is_decided(),
            leaders: self.race.leaders().into_iter().map(|index| self.label(index)).collect(),
            behind: behind.filter_map(|(index, standing)| self.fell(index, standing)).collect(),
            blocks,
            trials: self.trials(),
            trials_of_whole_blocks: blocks * self.members.len() as u32,
        }
    }

    fn trials(&self) -> u32 {
        let members = self.members.iter().map(|index| &self.group.members[*index]);
        members.map(|member| member.chosen(Robbed::Kept).len() as u32).sum()
    }

    fn fell(&self, index: usize, standing: &Standing) -> Option<FellBehind> {
        let Standing::Behind { of, at_block, sentinels, contradicted } = *standing else {
            return None;
        };
        let member = |index: usize| &self.group.members[self.members[index]];
        let ratios = log_ratios(member(index), member(of), self.metric, Robbed::Kept);
        let (slower, interval) = Method::Sequential.estimate_with_interval(&ratios);
        Some(FellBehind {
            label: self.label(index),
            of: self.label(of),
            at_block,
            slower_by: slower.exp(),
            interval: interval.map(|(low, high)| (low.exp(), high.exp())),
            sentinels,
            contradicted,
        })
    }
}

fn races<'a>(run: &'a RunRecord, groups: &'a [Group<'a>]) -> Vec<OneRace<'a>> {
    let tie_margin = match run.plan.design.stop {
        StopRule::Decided { tie_margin, .. } => tie_margin,
        StopRule::Blocks => 0.0,
    };
    let fields: Vec<(&Group<'a>, &Metric, Vec<usize>)> = groups
        .iter()
        .flat_map(|group| run.plan.design.primary.iter().map(move |metric| (group, metric)))
        .flat_map(|(group, metric)| {
            let fields = classes(group, field(group, metric), &run.plan.design.compare);
            fields.into_iter().map(move |members| (group, metric, members))
        })
        .filter(|(_, _, members)| members.len() > 1)
        .collect();
    let comparisons: usize = fields.iter().map(|(_, _, members)| members.len() - 1).sum();
    let race = |(group, metric, members): (&'a Group<'a>, &'a Metric, Vec<usize>)| {
        let share = (members.len() - 1) as f64 / comparisons as f64;
        let rules = Rules { alpha: ALPHA * share, tie_margin };
        let blocks = blocks(run, group, metric, &members);
        let race = Race::replay(members.len(), rules, &blocks);
        OneRace { group, metric, rules, members, race }
    };
    fields.into_iter().map(race).collect()
}
/// Members that are asked for the metric, stand on the reference's backing and have a value of
/// the same work as the reference's.
fn field(group: &Group<'_>, metric: &Metric) -> Vec<usize> {
    let mut members = group.rivals();
    members.push(group.reference);
    members.sort_unstable();
    members.retain(|&index| {
        let Some(member) = group.members.get(index) else { return false };
        applies(metric, member.cell) && !comparable(group, index, metric).is_empty()
    });
    members
}

/// Candidates that do not promise the same are no rivals: one race per class. The levels of an
/// axis are compared as they are.
fn classes(group: &Group<'_>, members: Vec<usize>, compare: &str) -> Vec<Vec<usize>> {
    if compare != BY_CANDIDATE {
        return vec![members];
    }
    let mut classes: BTreeMap<Durability, Vec<usize>> = BTreeMap::new();
    for index in members {
        classes.entry(group.members[index].cell.durability).or_default().push(index);
    }
    classes.into_values().collect()
}

/// A metric of a member by block, where it did the same work as the reference did; the first
/// member with a trial stands in for a reference that has none in the block.
fn comparable(group: &Group<'_>, index: usize, metric: &Metric) -> BTreeMap<u32, f64> {
    let Some(member) = group.members.get(index) else { return BTreeMap::new() };
    let own = member.chosen(Robbed::Kept);
    let reference = group.members.get(group.reference);
    let others: Vec<_> = reference
        .into_iter()
        .chain(&group.members)
        .filter(|other| other.backing == member.backing)
        .flat_map(|other| other.chosen(Robbed::Kept))
        .collect();
    let is_alike = |block: &u32| {
        let base = others.iter().find(|trial| trial.block == *block);
        let trial = own.iter().find(|trial| trial.block == *block);
        base.zip(trial).is_some_and(|(base, trial)| are_alike(base, trial))
    };
    let mut values = values_by_block(member, metric, Robbed::Kept);
    values.retain(|block, _| is_alike(block));
    values
}

fn blocks(
    run: &RunRecord,
    group: &Group<'_>,
    metric: &Metric,
    members: &[usize],
) -> Vec<Vec<Option<f64>>> {
    let higher_is_better = metric.statistic == Statistic::Rate;
    let columns: Vec<BTreeMap<u32, f64>> =
        members.iter().map(|&index| comparable(group, index, metric)).collect();
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

    fn run_of(blocks: u32, mishaps: Vec<Mishap>) -> RunRecord {
        let stop = StopRule::Decided { budget_s: 600.0, tie_margin: 0.05 };
        fake_run(&FakeRun { blocks, stop, mishaps, ..FakeRun::default() })
    }

    #[test]
    fn a_run_opens_with_all_cells_and_ends_when_every_race_has() {
        let opening = next_block(&run_of(0, Vec::new()));
        assert_eq!((opening.decided, opening.cells.len()), (false, 8));
        let later = next_block(&run_of(3, Vec::new()));
        assert_eq!(later.cells.len(), 6, "floors only with the sentinels");
        assert!(later.words[0].starts_with("sync=none, append p50: still open between ext4"));
        assert_eq!(next_block(&run_of(4, Vec::new())).cells.len(), 8);
        let end = next_block(&run_of(25, Vec::new()));
        assert!(end.decided && end.cells.is_empty());
        assert_eq!(end.words[1], "sync=fdatasync, durable p50: xfs:noatime is left");
    }

    #[test]
    fn the_reference_runs_no_longer_than_others_when_it_is_behind() {
        let run = run_of(25, Vec::new());
        let results = results(&run, &groups(&run));
        let durable = &results[1];
        assert_eq!(
            (durable.decided, durable.leaders.as_slice()),
            (true, &["xfs:noatime".into()][..])
        );
        assert_eq!((durable.blocks, durable.trials, durable.trials_of_whole_blocks), (25, 75, 75));
        let ext4 = durable.behind.iter().find(|one| one.label == "ext4:noatime").expect("behind");
        assert_eq!(ext4.of, "xfs:noatime");
        let (low, high) = ext4.interval.expect("25 blocks");
        assert!(low > 1.0 && low < ext4.slower_by && ext4.slower_by < high, "{ext4:?}");
        assert!((durable.alpha - 0.025).abs() < 1e-12, "two races share the error");
    }

    #[test]
    fn candidates_that_do_not_survive_the_same_do_not_race_each_other() {
        let mut run = run_of(25, Vec::new());
        for cell in run.cells.iter_mut().filter(|cell| cell.candidate.label == "xfs:noatime") {
            cell.durability = Durability::Nothing;
        }
        let durable = &results(&run, &groups(&run))[1];
        assert_eq!(durable.leaders, ["ext4:noatime"]);
        assert_eq!(durable.behind.len(), 1, "{durable:?}");
    }

    #[test]
    fn a_candidate_that_did_other_work_neither_wins_nor_falls_behind() {
        let mut run = run_of(25, Vec::new());
        let id = |run: &RunRecord, label: &str| -> Vec<CellId> {
            let cells = run.cells.iter().filter(|cell| cell.candidate.label == label);
            cells.map(|cell| cell.id.clone()).collect()
        };
        let small = id(&run, "xfs:noatime");
        for trial in &mut run.trials {
            let scale = if small.contains(&trial.cell) { 0.15 } else { 0.2 };
            trial.counts.insert(crate::phases::scale::SCALE_KEY.into(), scale);
        }
        for result in results(&run, &groups(&run)) {
            assert!(!result.leaders.contains(&"xfs:noatime".into()), "{result:?}");
            let mut behind = result.behind.iter();
            assert!(behind.all(|one| one.label != "xfs:noatime" && one.of != "xfs:noatime"));
        }
    }

    #[test]
    fn without_a_race_every_block_is_whole() {
        let mut run = run_of(6, Vec::new());
        run.plan.design.primary.clear();
        let next = next_block(&run);
        assert_eq!((next.decided, next.cells.len()), (false, 8));
    }

    #[test]
    fn a_run_of_planned_blocks_is_no_race() {
        let run = fake_run(&FakeRun { blocks: 8, ..FakeRun::default() });
        assert!(results(&run, &groups(&run)).is_empty());
    }

    #[test]
    fn a_cell_that_never_finished_is_not_tried_for_ever() {
        let mishaps = vec![Mishap::failed("btrfs:noatime", "none", 0, "ENOSPC")];
        assert_eq!(next_block(&run_of(3, mishaps)).cells.len(), 5);
    }
}
