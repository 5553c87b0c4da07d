use std::collections::BTreeMap;

use pickfs_record::{
    Metric, TrialRecord,
    plan::Statistic,
    quantity::{counted, duration_text, significant},
};

use super::{
    Claim, Measure, Outcome, Relation, apart,
    judge::{self, Ratio, gate},
    placed::{Desk, Placed},
};
use crate::{
    answers::Ranked,
    decide::Rules,
    panels::Disturbed,
    phases::rate_metric,
    summary::{largest_ns, median},
    wording::{blocks_text, list},
};

/// What decides nothing below this part of the slow time: it is there, and not the reason.
pub(super) const CAUSE_SHARE: f64 = 0.05;

/// What one row says: the outcome, how it was seen, the ratio that says it.
pub(super) type Said = (Outcome, String, Option<Ratio>);

pub(super) fn of_row(
    claim: &Claim,
    desk: &Desk<'_>,
    placed: &Placed<'_>,
    rules: Rules,
) -> Option<Said> {
    match (&claim.measure, claim.relation) {
        (Measure::Number(metric), Relation::Fails | Relation::Works) => {
            phase(metric, claim.relation, placed)
        }
        (Measure::Number(metric), Relation::Under(bound) | Relation::Over(bound))
            if claim.is_shown && metric.statistic == Statistic::Worst =>
        {
            seconds_over(desk, placed, metric, bound)
        }
        (Measure::Number(metric), Relation::Under(bound) | Relation::Over(bound)) => {
            beside(claim, desk, placed, (metric, bound as f64), rules)
        }
        (Measure::Number(metric), Relation::Reaches(bound)) => {
            beside(claim, desk, placed, (metric, 1.0 / bound), rules)
        }
        (Measure::Count(name), Relation::None | Relation::Some) => {
            let count = placed.row.counts.iter().find(|(known, _)| known == name)?.1;
            let trials = counted(placed.row.trials.into(), "trial");
            let text = format!("{name}: {} over {trials}", count.round());
            let holds = (count > 0.0) == (claim.relation == Relation::Some);
            Some((if holds { Outcome::Seen } else { Outcome::Opposite }, text, None))
        }
        (Measure::Cause { word, op }, Relation::Some) => {
            let of = |trial: &TrialRecord| slow(trial, word, op);
            share(claim, desk, placed, [word, &format!("the slow time of {op}")], of, rules)
        }
        (Measure::Time { one, other }, Relation::Some) => {
            let of = |trial: &TrialRecord| {
                Some((time_ns(trial, other)?, time_ns(trial, one)?, Vec::new()))
            };
            share(claim, desk, placed, [one, &format!("the time of {other}")], of, rules)
        }
        _ => None,
    }
}

fn phase(metric: &Metric, relation: Relation, placed: &Placed<'_>) -> Option<Said> {
    let phase = placed.op(metric)?;
    let cell = placed.phase(phase)?;
    let text = match &cell.failure {
        Some(reason) => {
            let all = cell.failed + cell.trials;
            format!("{phase}: {} of {all} trials failed: {reason}", cell.failed)
        }
        None => format!("{phase}: {} came to the end", counted(cell.trials.into(), "trial")),
    };
    Some((ended(relation, cell.trials, cell.failed), text, None))
}

fn ended(relation: Relation, trials: u32, failed: u32) -> Outcome {
    match (relation, trials, failed) {
        (_, 0, 0) => Outcome::NotDecided { blocks: 0, why: "the phase was not run".into() },
        (Relation::Fails, 0, _) | (Relation::Works, _, 0) => Outcome::Seen,
        (Relation::Fails, _, 0) | (Relation::Works, 0, _) => Outcome::Opposite,
        _ => Outcome::NotDecided {
            blocks: trials,
            why: "some trials failed and some did not".into(),
        },
    }
}

/// What is said of every second, or of any: how many of them had an operation over the bound.
fn seconds_over(
    desk: &Desk<'_>,
    placed: &Placed<'_>,
    metric: &Metric,
    bound_ns: u64,
) -> Option<Said> {
    let (group, index) = desk.place(&placed.row.cell)?;
    let (trials, op) = (group.members[index].chosen(Disturbed::Kept), placed.op(metric)?);
    let own = trials.iter().filter_map(|trial| trial.op(op));
    let seconds: Vec<f64> = own.flat_map(|own| largest_ns(own, metric.view)).collect();
    let largest = seconds.iter().copied().reduce(f64::max)?;
    let over = seconds.iter().filter(|ns| **ns > bound_ns as f64).count();
    let text = format!(
        "{over} of {} with an {op} over {} in {}, the largest {}",
        counted(seconds.len() as u64, "second"),
        duration_text(bound_ns as f64),
        counted(trials.len() as u64, "trial"),
        duration_text(largest)
    );
    let outcome = Outcome::Shown { why: apart::EXTREME.into() };
    Some((outcome, text, None))
}

/// A value beside a bound, block by block; of a rate the time for one.
fn beside(
    claim: &Claim,
    desk: &Desk<'_>,
    placed: &Placed<'_>,
    (metric, bound): (&Metric, f64),
    rules: Rules,
) -> Option<Said> {
    let place = desk.place(&placed.row.cell)?;
    let values =
        Ranked::as_measured(&[place], metric, Disturbed::Kept, rules.margin).columns.remove(0);
    let withheld = gate(desk, [placed, placed], metric);
    let found = judge::beside_bound(&values, bound, rules, withheld)?;
    let outcome = match placed.doubt(metric) {
        Some(why) => Outcome::NotDecided { blocks: found.blocks, why },
        None => judge::of_ratio(as_speed(claim.relation), &found)?,
    };
    let is_time = metric.statistic.is_time();
    let text = |value: f64| match is_time {
        true => duration_text(value),
        false => format!("{}/s", significant(value)),
    };
    let word = |ratio: f64| text(if is_time { bound / ratio } else { ratio / bound });
    // As its row says it: half way between two ratios lies another value than between two rates.
    let finite = values.values().filter(|value| value.is_finite());
    let own: Vec<f64> = finite.map(|value| if is_time { *value } else { 1.0 / value }).collect();
    let own = match own.len() {
        // All failed, or some lost what was acknowledged.
        0 => " has no value".into(),
        all if all == values.len() => format!(" {}", text(median(&own))),
        some => format!(" {} of {} that finished", text(median(&own)), blocks_text(some as u32)),
    };
    // The slowest first, as times are written from the shortest.
    let (low, high) = found.interval().map_or((None, None), |(low, high)| (Some(low), Some(high)));
    let ends = if is_time { [high, low] } else { [low, high] };
    let interval = match ends {
        [Some(from), Some(to)] => format!(" [{}, {}]", word(from), word(to)),
        _ => String::new(),
    };
    let text = format!("{metric}{own}{interval}; {}", blocks_text(found.blocks));
    Some((outcome, text, Some(found)))
}

/// Who stays under a bound is faster than it.
fn as_speed(relation: Relation) -> Relation {
    if matches!(relation, Relation::Over(_)) { Relation::Slower } else { Relation::Faster }
}

/// Nanoseconds of a trial's slow operations: all, those by causes or holders with a word; and these causes.
type Slow = (u64, u64, Vec<String>);

fn slow(trial: &TrialRecord, word: &str, op: &str) -> Option<Slow> {
    let record = trial.stalls.as_ref()?;
    let ledger = record.ops.iter().find(|own| own.op == op && own.total_ns > 0)?;
    let rows =
        ledger.causes.iter().filter(|row| row.cause.contains(word) || row.who.contains(word));
    let title = |cause: &str| record.words(cause).map_or(cause.to_owned(), |own| own.title.clone());
    let of_word = rows.clone().map(|row| row.total_ns).sum();
    Some((ledger.total_ns, of_word, rows.map(|row| title(&row.cause)).collect()))
}

/// Of a phase, as its lanes took it, or `cpu of` it.
fn time_ns(trial: &TrialRecord, name: &str) -> Option<u64> {
    let (cpu, name) = name.strip_prefix("cpu of ").map_or((false, name), |name| (true, name));
    let phase = trial.phases.iter().find(|phase| phase.phase == name && phase.is_finished())?;
    Some(if cpu { phase.cpu_user_ns + phase.cpu_system_ns } else { phase.elapsed_mean_ns })
}

/// Whether causes or holders with a word have their part of the slow time in the typical block, or a phase is longer
/// than another.
fn share(
    claim: &Claim,
    desk: &Desk<'_>,
    placed: &Placed<'_>,
    [own, whole]: [&str; 2],
    of: impl Fn(&TrialRecord) -> Option<Slow>,
    rules: Rules,
) -> Option<Said> {
    let (least, phase) = match &claim.measure {
        Measure::Time { one, .. } => (1.0, one.strip_prefix("cpu of ").or(Some(one))),
        _ => (CAUSE_SHARE, None),
    };
    let withheld = phase.and_then(|phase| gate(desk, [placed, placed], &rate_metric(phase)));
    let (group, index) = desk.place(&placed.row.cell)?;
    let trials = group.members[index].chosen(Disturbed::Kept);
    let found: Vec<(u32, Slow)> =
        trials.iter().filter_map(|trial| Some((trial.block, of(trial)?))).collect();
    // Lower is better: the inverse of the share.
    let inverse = |all: u64, own: u64| all as f64 / own.max(1) as f64;
    let values: BTreeMap<u32, f64> =
        found.iter().map(|(block, (all, own, _))| (*block, inverse(*all, *own))).collect();
    let ratio = judge::beside_bound(&values, 1.0 / least, rules, withheld)?;
    let outcome = judge::of_ratio(Relation::Faster, &ratio)?;
    let sum = |part: fn(&Slow) -> u64| -> u64 { found.iter().map(|(_, slow)| part(slow)).sum() };
    let share = 100.0 * sum(|slow| slow.1) as f64 / sum(|slow| slow.0).max(1) as f64;
    let mut titles: Vec<String> = found.iter().flat_map(|(_, slow)| slow.2.clone()).collect();
    titles.sort();
    titles.dedup();
    let by = if titles.is_empty() { String::new() } else { format!(" ({})", list(&titles)) };
    let having = found.iter().filter(|(_, slow)| slow.1 > 0).count();
    let blocks = blocks_text(ratio.blocks);
    let text = format!("{own}: {share:.0} % of {whole}{by}, in {having} of {blocks}");
    Some((outcome, text, Some(ratio)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_fails_or_works_in_all_trials_or_is_open() {
        let said = |relation, trials, failed| ended(relation, trials, failed).words();
        assert_eq!(said(Relation::Fails, 0, 3), "seen here");
        assert_eq!(said(Relation::Fails, 3, 0), "opposite here");
        assert_eq!(said(Relation::Works, 3, 0), "seen here");
        assert_eq!(said(Relation::Works, 0, 3), "opposite here");
        assert_eq!(said(Relation::Works, 2, 1), "not decided");
        assert_eq!(said(Relation::Fails, 0, 0), "not decided");
    }
}
