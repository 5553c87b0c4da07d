use std::collections::BTreeMap;

use pickfs_record::{
    Outcome, TrialRecord,
    plan::{Metric, View},
    record::LoadRecord,
};

use crate::{
    decide::{Decision, Rules, decide_but},
    doubts::{RATE_MISSED_SHARE, RECORDS_LOST, rate_missed_share},
    gates::Facts,
    panels::{Disturbed, Group, Member},
    phases::scale::are_alike,
    summary::{median, metric_value, op_in},
};

pub fn values_by_block(
    member: &Member<'_>,
    metric: &Metric,
    disturbed: Disturbed,
) -> BTreeMap<u32, f64> {
    let trials = member.chosen(disturbed).into_iter();
    trials.filter_map(|trial| Some((trial.block, metric_value(trial, metric)?))).collect()
}

/// The same where it did the same work as the reference did; the first member with a trial stands in for a
/// reference that has none in the block.
pub(super) fn values(
    group: &Group<'_>,
    member: &Member<'_>,
    metric: &Metric,
    disturbed: Disturbed,
) -> BTreeMap<u32, f64> {
    let own = member.chosen(disturbed);
    let reference = group.members.get(group.reference);
    let others: Vec<&TrialRecord> = reference
        .into_iter()
        .chain(&group.members)
        .filter(|other| other.backing == member.backing)
        .flat_map(|other| other.chosen(Disturbed::Kept))
        .collect();
    let is_alike = |block: &u32| {
        let base = others.iter().find(|trial| trial.block == *block);
        let trial = own.iter().find(|trial| trial.block == *block);
        base.zip(trial).is_some_and(|(base, trial)| are_alike(base, trial))
    };
    let mut values = values_by_block(member, metric, disturbed);
    values.retain(|block, _| is_alike(block));
    values
}

/// A row of a table.
pub(crate) type Place<'a> = (&'a Group<'a>, usize);

/// What stands in the blocks of some rows by one metric, and what withholds a verdict between two of them. Every
/// verdict is made of this: answers, factors, choices, claims of articles.
pub(crate) struct Ranked {
    /// By row: lower is better, infinity where it failed or did not hold its rate.
    pub(crate) columns: Vec<BTreeMap<u32, f64>>,
    pub(crate) facts: Facts,
    /// What the columns hold: the view that ranks.
    pub(crate) metric: Metric,
    /// The response times rank with the driver's stalls, which are more than the margin of some row.
    pub(crate) raw: bool,
}

impl Ranked {
    pub(crate) fn new(
        group: &Group<'_>,
        members: &[usize],
        metric: &Metric,
        disturbed: Disturbed,
        margin: f64,
    ) -> Ranked {
        let places: Vec<Place<'_>> = members.iter().map(|index| (group, *index)).collect();
        Ranked::of(&places, metric, disturbed, margin)
    }

    /// The same of rows that may stand in several groups or runs.
    pub(crate) fn of(
        places: &[Place<'_>],
        metric: &Metric,
        disturbed: Disturbed,
        margin: f64,
    ) -> Ranked {
        let rows: Vec<_> = places.iter().map(|(group, index)| &group.members[*index]).collect();
        let mut ranked = Ranked::as_measured(places, metric, disturbed, margin);
        put_missing_behind(&rows, &mut ranked.columns);
        ranked
    }

    /// Rows that are no rivals: one that missed its rate keeps its times.
    pub(crate) fn as_measured(
        places: &[Place<'_>],
        metric: &Metric,
        disturbed: Disturbed,
        margin: f64,
    ) -> Ranked {
        let rows: Vec<_> = places.iter().map(|(group, index)| &group.members[*index]).collect();
        let metric = settled(metric, &rows);
        let raw = metric.view == View::Response && !driver_is_quick(&rows, &metric, margin);
        let ranked = if raw { raw_of(&metric) } else { metric.clone() };
        let columns = places.iter().map(|(group, index)| column(group, *index, &ranked, disturbed));
        let columns = columns.collect();
        let trials: Vec<_> = rows.iter().map(|row| (row.cell, row.chosen(disturbed))).collect();
        Ranked { columns, facts: Facts::of(&trials, &metric), metric: ranked, raw }
    }

    /// The weighted geometric mean of several, block by block; a block that one of them lacks is none.
    pub(crate) fn mean(parts: Vec<(f64, Ranked)>) -> Option<Ranked> {
        let weights: f64 = parts.iter().map(|(weight, _)| weight).sum();
        let mut parts = parts.into_iter();
        let (weight, mut sum) = parts.next()?;
        let logarithms = |column: &mut BTreeMap<u32, f64>, weight: f64| {
            column.values_mut().for_each(|value| *value = weight / weights * value.ln());
        };
        sum.columns.iter_mut().for_each(|column| logarithms(column, weight));
        for (weight, part) in parts {
            for (column, mut own) in sum.columns.iter_mut().zip(part.columns) {
                logarithms(&mut own, weight);
                column.retain(|block, _| own.contains_key(block));
                column.iter_mut().for_each(|(block, value)| *value += own[block]);
            }
            sum.facts.join(part.facts);
            sum.raw |= part.raw;
        }
        let values = sum.columns.iter_mut().flat_map(BTreeMap::values_mut);
        values.for_each(|value| *value = value.exp());
        Some(sum)
    }

    pub(crate) fn blocks(&self) -> Vec<Vec<Option<f64>>> {
        let last = self.columns.iter().filter_map(|column| column.keys().last()).max();
        let block = |number: u32| self.columns.iter().map(|c| c.get(&number).copied()).collect();
        (1..=last.copied().unwrap_or(1)).map(block).collect()
    }

    pub(crate) fn decision(&self, rules: Rules) -> Decision {
        decide_but(&self.blocks(), rules, self.facts.withheld())
    }
}

/// The response time where each row has one, else the service time.
pub(crate) fn settled(metric: &Metric, rows: &[&Member<'_>]) -> Metric {
    let is_open = |trial: &&TrialRecord| {
        let op = op_in(trial, metric).and_then(|name| trial.op(name));
        op.is_none_or(|op| op.response.is_some())
    };
    match rows.iter().all(|row| row.chosen(Disturbed::Kept).iter().all(is_open)) {
        true => metric.clone(),
        false => Metric { view: View::Service, ..metric.clone() },
    }
}

/// What a row has in each block, lower is better.
pub(crate) fn column(
    group: &Group<'_>,
    index: usize,
    metric: &Metric,
    disturbed: Disturbed,
) -> BTreeMap<u32, f64> {
    let member = &group.members[index];
    let mut values = values(group, member, metric, disturbed);
    if metric.statistic.is_better_higher() {
        values.values_mut().for_each(|value| *value = 1.0 / *value);
    }
    let lost = |trial: &&TrialRecord| trial.flags.iter().any(|flag| flag.kind == RECORDS_LOST);
    // Once is enough: what is fast and loses records is not chosen for its other blocks.
    let has_lost = member.trials.iter().any(lost);
    for trial in &member.trials {
        if has_lost {
            values.insert(trial.block, f64::INFINITY);
            continue;
        }
        let failed = matches!(trial.outcome, Outcome::Failed { .. }) && !trial.is_interrupted();
        if failed && member.chosen(Disturbed::Kept).iter().all(|done| done.block != trial.block) {
            values.insert(trial.block, f64::INFINITY);
        }
    }
    values
}

fn raw_of(metric: &Metric) -> Metric {
    Metric { view: View::RawResponse, ..metric.clone() }
}

/// Whether the driver's own stalls are within the margin of every row's response time: threads of the candidate on
/// the measuring processor stall the driver, too. Old files do not hold both.
fn driver_is_quick(rows: &[&Member<'_>], metric: &Metric, margin: f64) -> bool {
    let raw = raw_of(metric);
    rows.iter().all(|row| {
        let trials = row.chosen(Disturbed::Kept).into_iter();
        let ratios = trials.filter_map(|t| Some(metric_value(t, &raw)? / metric_value(t, metric)?));
        median(&ratios.collect::<Vec<_>>()) <= 1.0 + margin
    })
}

pub(crate) fn misses_its_rate(row: &Member<'_>) -> bool {
    let misses = |load: &LoadRecord| {
        load.missed > 0 || rate_missed_share(load).is_some_and(|share| share > RATE_MISSED_SHARE)
    };
    let trials = row.chosen(Disturbed::Kept);
    let missed = trials.iter().filter(|trial| trial.load.as_ref().is_some_and(misses));
    2 * missed.count() > trials.len()
}

/// A row that missed its rate in most blocks stands in none before one that held it.
fn put_missing_behind(rows: &[&Member<'_>], columns: &mut [BTreeMap<u32, f64>]) {
    let missed: Vec<bool> = rows.iter().map(|row| misses_its_rate(row)).collect();
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

#[cfg(test)]
mod tests {
    use pickfs_record::{
        CellId,
        finding::{AnswerEnd, Ending},
    };
    use pickfs_testkit::{FakeCandidate, FakeRun, fake_run};

    use super::*;
    use crate::findings;

    fn by_response(mut change: impl FnMut(&mut TrialRecord)) -> Ending {
        let named =
            ["ext4:noatime", "xfs:noatime"].map(|name| FakeCandidate::new(name, 500.0, 150_000.0));
        let candidates = named.map(|one| FakeCandidate { noise: 0.01, ..one }).into();
        let mut primary = FakeRun::default().primary;
        primary.retain(|metric| metric.op == "durable");
        primary[0].view = View::Response;
        let mut run = fake_run(&FakeRun { candidates, primary, blocks: 20, ..FakeRun::default() });
        let xfs = |cell: &&pickfs_record::Cell| cell.candidate.label == "xfs:noatime";
        let cells: Vec<CellId> = run.cells.iter().filter(xfs).map(|cell| cell.id.clone()).collect();
        let trials = run.trials.iter_mut().filter(|trial| cells.contains(&trial.cell));
        trials.for_each(&mut change);
        findings(&run).endings.remove(0)
    }

    /// Workers of xfs run on the measuring processor between two calls: only the raw response holds them.
    #[test]
    fn the_raw_response_ranks_where_the_drivers_stalls_are_more_than_the_margin() {
        let equal = by_response(|_| ());
        assert_eq!(equal.end, AnswerEnd::Equal);
        assert!(!equal.sentence.contains("raw"), "{}", equal.sentence);
        let stalled = by_response(|trial| {
            let raw = trial.ops.iter_mut().filter_map(|op| op.raw_response.as_mut());
            raw.flat_map(|raw| &mut raw.quantiles).for_each(|row| row.value_ns *= 2);
        });
        assert_eq!(stalled.end, AnswerEnd::Winner, "{}", stalled.sentence);
        let said = "Raw: with the delays of pickfs itself, which make some row over 5 % slower.";
        assert!(stalled.sentence.starts_with("ext4:noatime: 2.0"), "{}", stalled.sentence);
        assert!(
            stalled.sentence.contains("median raw response time of durable appends"),
            "{}",
            stalled.sentence
        );
        assert!(stalled.sentence.ends_with(said), "{}", stalled.sentence);
    }

    fn faster(trial: &mut TrialRecord) {
        let response = trial.ops.iter_mut().filter_map(|op| op.response.as_mut());
        response.flat_map(|times| &mut times.quantiles).for_each(|row| row.value_ns /= 2);
        trial.ops.iter_mut().for_each(|op| op.raw_response = op.response.clone());
    }

    #[test]
    fn who_lost_an_acknowledged_record_once_is_never_ahead() {
        let once = by_response(|trial| {
            faster(trial);
            if trial.block == 7 {
                let kind = RECORDS_LOST.to_owned();
                trial.flags.push(pickfs_record::record::Flag { kind, text: "3 lost".into() });
                trial.outcome = Outcome::Failed { reason: "3 lost".into() };
            }
        });
        let said = "ext4:noatime: xfs:noatime failed";
        assert!(once.sentence.starts_with(said), "{}", once.sentence);
    }

    #[test]
    fn a_row_that_misses_its_rate_is_not_ahead_of_one_that_holds_it() {
        assert_eq!(by_response(faster).sentence.split(':').next(), Some("xfs"));
        let missing = by_response(|trial| {
            faster(trial);
            trial.load.as_mut().expect("a load").achieved_per_s *= 0.9;
        });
        let said = "ext4:noatime: xfs:noatime failed or missed its rate where ext4:noatime did not";
        assert!(missing.sentence.starts_with(said), "{}", missing.sentence);
    }

    /// Behind its schedule a row has one slow episode, which carries no quantile: it is behind all the same.
    #[test]
    fn a_row_in_one_long_stall_is_behind_one_that_holds_its_rate() {
        let behind = by_response(|trial| {
            trial.load.as_mut().expect("a load").achieved_per_s *= 0.4;
            let times =
                trial.ops.iter_mut().flat_map(|op| [&mut op.response, &mut op.raw_response]);
            let rows = times.flatten().flat_map(|times| &mut times.quantiles);
            rows.for_each(|row| (row.value_ns, row.episodes) = (400_000_000, 1));
            trial.ops.iter_mut().for_each(|op| op.service.quantiles[0].episodes = 1);
        });
        assert_eq!(behind.end, AnswerEnd::Winner, "{}", behind.sentence);
        assert!(behind.sentence.starts_with("ext4:noatime: 2"), "{}", behind.sentence);
    }
}
