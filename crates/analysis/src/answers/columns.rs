//! What stands in the blocks: one column of values per row.

use std::collections::BTreeMap;

use pickfs_model::{
    Outcome, TrialRecord,
    plan::{Metric, View},
    record::LoadRecord,
};

use crate::{
    doubts::{RATE_MISSED_SHARE, rate_missed_share},
    panels::{Group, Member, Robbed},
    phases::scale::are_alike,
    summary::{median, metric_value},
};

/// How the lab words the failure of a trial that somebody stopped: it says nothing of the candidate.
const INTERRUPTED: &str = "interrupted";

/// A metric of a row by block.
pub fn values_by_block(member: &Member<'_>, metric: &Metric, robbed: Robbed) -> BTreeMap<u32, f64> {
    let trials = member.chosen(robbed).into_iter();
    trials.filter_map(|trial| Some((trial.block, metric_value(trial, metric)?))).collect()
}

/// The same where it did the same work as the reference did; the first member with a trial stands in for a
/// reference that has none in the block.
pub(super) fn values(
    group: &Group<'_>,
    member: &Member<'_>,
    metric: &Metric,
    robbed: Robbed,
) -> BTreeMap<u32, f64> {
    let own = member.chosen(robbed);
    let reference = group.members.get(group.reference);
    let others: Vec<&TrialRecord> = reference
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
    let mut values = values_by_block(member, metric, robbed);
    values.retain(|block, _| is_alike(block));
    values
}

/// What a row has in each block, lower is better.
pub(super) fn column(
    group: &Group<'_>,
    index: usize,
    metric: &Metric,
    robbed: Robbed,
) -> BTreeMap<u32, f64> {
    let member = &group.members[index];
    let mut values = values(group, member, metric, robbed);
    if metric.statistic.is_better_higher() {
        values.values_mut().for_each(|value| *value = 1.0 / *value);
    }
    for trial in &member.trials {
        let failed = matches!(&trial.outcome, Outcome::Failed { reason } if reason != INTERRUPTED);
        if failed && member.chosen(Robbed::Kept).iter().all(|done| done.block != trial.block) {
            values.insert(trial.block, f64::INFINITY);
        }
    }
    values
}

pub(super) fn raw_of(metric: &Metric) -> Metric {
    Metric { view: View::RawResponse, ..metric.clone() }
}

/// Whether the driver's own stalls are within the margin of every row's response time: threads of the candidate on
/// the measuring processor stall the driver, too. Old files do not hold both.
pub(super) fn driver_is_quick(rows: &[&Member<'_>], metric: &Metric, margin: f64) -> bool {
    let raw = raw_of(metric);
    rows.iter().all(|row| {
        let trials = row.chosen(Robbed::Kept).into_iter();
        let ratios = trials.filter_map(|t| Some(metric_value(t, &raw)? / metric_value(t, metric)?));
        median(&ratios.collect::<Vec<_>>()) <= 1.0 + margin
    })
}

/// A row that missed its rate in most blocks stands in none before one that held it.
pub(super) fn put_missing_behind(rows: &[&Member<'_>], columns: &mut [BTreeMap<u32, f64>]) {
    let misses = |load: &LoadRecord| {
        load.missed > 0 || rate_missed_share(load).is_some_and(|share| share > RATE_MISSED_SHARE)
    };
    let missed: Vec<bool> = rows
        .iter()
        .map(|row| {
            let trials = row.chosen(Robbed::Kept);
            let missed = trials.iter().filter(|trial| trial.load.as_ref().is_some_and(misses));
            2 * missed.count() > trials.len()
        })
        .collect();
    let mut slowest: BTreeMap<u32, f64> = BTreeMap::new();
    for (column, _) in columns.iter().zip(&missed).filter(|(_, missed)| !**missed) {
        for (block, value) in column {
            let slowest = slowest.entry(*block).or_insert(*value);
            *slowest = slowest.max(*value);
        }
    }
    for (column, _) in columns.iter_mut().zip(&missed).filter(|(_, missed)| **missed) {
        for (block, value) in column {
            if slowest.get(block).is_some_and(|slowest| *value <= *slowest) {
                *value = f64::INFINITY;
            }
        }
    }
}
