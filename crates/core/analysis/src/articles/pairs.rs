use pickfs_record::{Metric, Scope, finding::Panel};

use super::{
    Claim, Evidence, Measure, Outcome, RunAnswer,
    judge::{self, Ratio},
    placed::{Desk, Placed},
    several, value,
};
use crate::{
    budget,
    decide::Rules,
    wording::{blocks_text, interval_text, percent_over_one, times},
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Miss {
    /// How far the search came: the larger, the nearer it was.
    pub(super) step: u8,
    pub(super) reason: String,
}

pub(super) fn miss<T>(step: u8, reason: impl Into<String>) -> Result<T, Miss> {
    Err(Miss { step, reason: reason.into() })
}

pub(super) fn run_answer(
    claim: &Claim,
    desk: &Desk<'_>,
    rows: &[Placed<'_>],
) -> Result<RunAnswer, Miss> {
    if let Measure::Unkept(what) = &claim.measure {
        return miss(9, format!("runs hold no comparison of {what}"));
    }
    let subjects = fitting(claim, desk, rows, &claim.subject)?;
    let evidence = match claim.relation.compares() {
        false => alone(claim, &subjects)?,
        true => {
            let objects = fitting(claim, desk, rows, &claim.object)?;
            together(claim, desk, &subjects, &objects)?
        }
    };
    let worst = evidence.iter().max_by_key(|evidence| evidence.outcome.weight());
    let outcome = worst.map_or(Outcome::not_testable("no rows"), |worst| worst.outcome.clone());
    Ok(RunAnswer {
        run: desk.run.name.clone(),
        outcome: coarsest(outcome, &evidence),
        without: without(claim, rows),
        conditions: conditions(&subjects[0]),
        evidence,
    })
}

/// A claim over several pairs could have seen what its coarsest pair could.
fn coarsest(outcome: Outcome, evidence: &[Evidence]) -> Outcome {
    let ratios = evidence.iter().filter_map(|evidence| match evidence.outcome {
        Outcome::NoDifference { visible_ratio } => Some(visible_ratio),
        _ => None,
    });
    match outcome {
        Outcome::NoDifference { .. } => {
            Outcome::NoDifference { visible_ratio: ratios.fold(1.0, f64::max) }
        }
        other => other,
    }
}

fn fitting<'a>(
    claim: &Claim,
    desk: &Desk<'_>,
    rows: &[Placed<'a>],
    selector: &Scope,
) -> Result<Vec<Placed<'a>>, Miss> {
    let named: Vec<_> = rows.iter().filter(|row| row.is(selector)).collect();
    if named.is_empty() {
        return miss(1, absent(desk, selector));
    }
    let placed: Vec<_> = named.iter().filter(|row| row.is(&claim.at)).collect();
    let Some(first) = placed.first() else {
        let (name, condition, found) = named[0].unfit(&claim.at, Some("0")).expect("no row fits");
        let found = found.map_or("not set".into(), |found| format!("here {found}"));
        return miss(2, format!("no row with {} ({found})", condition.of(name)));
    };
    if let Some((name, condition, found)) = first.unfit(&claim.needs, None) {
        let found = found.unwrap_or("not known".into());
        return miss(3, format!("needs {}, here {found}", condition.of(name)));
    }
    Ok(placed
        .into_iter()
        .map(|row| **row)
        .filter(|row| row.unfit(&claim.needs, None).is_none())
        .collect())
}

fn absent(desk: &Desk<'_>, selector: &Scope) -> String {
    let fs = selector.get("fs").map(|condition| condition.words().join(" or "));
    let others = selector.iter().filter(|(name, _)| *name != "fs");
    let others: Vec<String> = others.map(|(name, condition)| condition.of(name)).collect();
    let words: Vec<String> = fs.into_iter().chain(others).collect();
    let is_it = |fs: &str| selector.get("fs").is_some_and(|condition| condition.holds(fs));
    let skipped = desk.run.skipped.iter().find(|skipped| is_it(&skipped.cell.candidate.fs));
    let why = skipped.map_or(String::new(), |skipped| format!(" ({})", skipped.reason));
    format!("no row of {}{why}", words.join(" with "))
}

fn without(claim: &Claim, rows: &[Placed<'_>]) -> Vec<String> {
    let named = claim.object.get("fs").map_or(&[] as &[String], |condition| condition.words());
    let is_there = |fs: &&String| rows.iter().any(|row| row.property("fs").as_ref() == Some(fs));
    named.iter().filter(|fs| !is_there(fs)).cloned().collect()
}

fn conditions(placed: &Placed<'_>) -> Vec<String> {
    let kernel = placed.property("kernel").map(|kernel| format!("Linux {kernel}"));
    let device = ["device.model", "device.link"].into_iter().find_map(|key| placed.property(key));
    std::iter::once(placed.row.backing.to_string()).chain(device).chain(kernel).collect()
}

fn alone(claim: &Claim, subjects: &[Placed<'_>]) -> Result<Vec<Evidence>, Miss> {
    let evidence = |placed: &Placed<'_>| {
        let (outcome, text) = value::of_row(&claim.measure, claim.relation, placed)?;
        let label = &placed.row.label;
        Some(Evidence {
            panel: placed.panel.title.clone(),
            subject: label.clone(),
            object: String::new(),
            ratio: None,
            interval: None,
            blocks: placed.row.trials,
            is_planned: false,
            text: format!("{label}{}: {text}", place(placed.panel)),
            outcome,
        })
    };
    let found: Vec<_> = subjects.iter().filter_map(evidence).collect();
    match found.is_empty() {
        true => miss(4, format!("{} was not measured", claim.measure)),
        false => Ok(found),
    }
}

pub(super) fn place(panel: &Panel) -> String {
    if panel.title.is_empty() { String::new() } else { format!(" ({})", panel.title) }
}

fn together(
    claim: &Claim,
    desk: &Desk<'_>,
    subjects: &[Placed<'_>],
    objects: &[Placed<'_>],
) -> Result<Vec<Evidence>, Miss> {
    let mut found = Vec::new();
    let mut nearest = Miss { step: 5, reason: "the two stand in no table together".into() };
    let is_object = |subject: &Placed<'_>, object: &Placed<'_>| {
        std::ptr::eq(object.panel, subject.panel) && object.row.cell != subject.row.cell
    };
    let of = |subject| objects.iter().map(move |object| [subject, object]);
    let pairs = subjects.iter().flat_map(of).filter(|[one, other]| is_object(one, other));
    let pairs: Vec<[&Placed<'_>; 2]> = pairs.collect();
    let rules = budget::claim(&desk.run.plan);
    let rules = Rules { alpha: rules.alpha / pairs.len().max(1) as f64, ..rules };
    for two in pairs {
        match pair(claim, desk, two, rules) {
            Ok(evidence) => found.push(evidence),
            Err(miss) if miss.step > nearest.step => nearest = miss,
            Err(_) => {}
        }
    }
    if found.is_empty() { Err(nearest) } else { Ok(found) }
}

fn pair(
    claim: &Claim,
    desk: &Desk<'_>,
    [subject, object]: [&Placed<'_>; 2],
    rules: Rules,
) -> Result<Evidence, Miss> {
    if subject.row.backing != object.row.backing {
        let (one, other) = (subject.row.backing, object.row.backing);
        return miss(6, format!("rows on {one} and on {other} are not compared"));
    }
    if let Some(row) = [subject, object].into_iter().find(|row| row.row.trials == 0) {
        return miss(8, format!("{} has no result: {}", row.row.label, reason(row)));
    }
    match &claim.measure {
        Measure::Number(metric) if !metric.statistic.is_ranked() => {
            miss(9, "the largest and the smallest of n operations are shown and never ranked")
        }
        Measure::Number(metric) => of_metric(claim, desk, metric, [subject, object], rules),
        Measure::Table(rows) => several::mean(claim, desk, rows, [subject, object], rules),
        Measure::Phases(rows) => several::each(claim, desk, rows, [subject, object], rules),
        other => miss(9, format!("{other} is not compared between rows")),
    }
}

fn of_metric(
    claim: &Claim,
    desk: &Desk<'_>,
    metric: &Metric,
    [subject, object]: [&Placed<'_>; 2],
    rules: Rules,
) -> Result<Evidence, Miss> {
    let planned = planned(desk, metric, [subject, object]);
    let rules = planned.map_or(rules, |alpha| Rules { alpha, ..rules });
    let Some(found) = judge::ratio(desk, [subject, object], &[metric], rules) else {
        return miss(6, format!("{metric} was not measured"));
    };
    let outcome = match subject.doubt(metric).or_else(|| object.doubt(metric)) {
        Some(why) => Some(Outcome::NotDecided { blocks: found.blocks, why }),
        None => judge::of_ratio(claim.relation, &found),
    };
    match outcome {
        Some(outcome) => {
            let name = metric.to_string();
            Ok(evidence(&name, found, outcome, [subject, object], planned.is_some()))
        }
        None => miss(9, format!("`{}` says nothing of {metric}", claim.relation)),
    }
}

/// What each pair of an answer that the plan named may err, where it holds both: its error is spent already.
fn planned(desk: &Desk<'_>, metric: &Metric, two: [&Placed<'_>; 2]) -> Option<f64> {
    let view = two[0].operations(metric).map(|operations| operations.view);
    let answer = desk.findings.answers.iter().find(|answer| {
        let own = &answer.metric;
        let labels = || answer.left.iter().chain(answer.out.iter().map(|out| &out.label));
        answer.panel == two[0].panel.title
            && own.statistic == metric.statistic
            && metric.ops().any(|op| op == own.op)
            && view.is_none_or(|view| view == own.view)
            && two.iter().all(|row| labels().any(|label| *label == row.row.label))
    })?;
    let rows = answer.left.len() + answer.out.len();
    Some(answer.alpha / (rows * (rows - 1) / 2).max(1) as f64)
}

fn reason(placed: &Placed<'_>) -> String {
    placed.row.failure.clone().unwrap_or("no trial came to its end".into())
}

pub(super) fn evidence(
    name: &str,
    found: Ratio,
    outcome: Outcome,
    [subject, object]: [&Placed<'_>; 2],
    is_planned: bool,
) -> Evidence {
    let (one, other) = (&subject.row.label, &object.row.label);
    let said = ratio_text(one, other, &found, &outcome);
    let planned = if is_planned { ", planned" } else { "" };
    let blocks = blocks_text(found.blocks);
    Evidence {
        text: format!("{name}{}: {said}; {blocks}{planned}", place(subject.panel)),
        panel: subject.panel.title.clone(),
        subject: one.into(),
        object: other.into(),
        ratio: Some(found.value).filter(|ratio| ratio.is_finite() && *ratio > 0.0),
        interval: found.interval,
        blocks: found.blocks,
        is_planned,
        outcome,
    }
}

/// `xfs 1.38x faster than ext4 [1.21, 1.57]`; nothing is called faster that is not told apart.
fn ratio_text(one: &str, other: &str, found: &Ratio, outcome: &Outcome) -> String {
    let turned = found.value < 1.0;
    let value = if turned { 1.0 / found.value } else { found.value };
    if !value.is_finite() {
        let (failed, held) = if turned { (one, other) } else { (other, one) };
        return format!("{failed} failed or missed its rate where {held} did not");
    }
    let text = |(low, high)| format!(" {}", interval_text(low, high));
    let interval = found.interval.map_or(String::new(), text);
    match outcome {
        Outcome::NoDifference { visible_ratio } => {
            format!("{one} and {other} differ by {} at most", percent_over_one(*visible_ratio))
        }
        Outcome::NotDecided { .. } => {
            format!("{one} : {other} = {}{interval}", times(found.value))
        }
        _ if found.interval.is_some_and(|(low, high)| low <= 1.0 && 1.0 <= high) => {
            format!("{one} : {other} = {}{interval}", times(found.value))
        }
        _ => {
            let word = if turned { "slower" } else { "faster" };
            let turn = |(low, high): (f64, f64)| (1.0 / high, 1.0 / low);
            let interval = found.interval.map(|own| if turned { turn(own) } else { own });
            let interval = interval.map_or(String::new(), text);
            format!("{one} {} {word} than {other}{interval}", times(value))
        }
    }
}
