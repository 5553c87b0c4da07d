use pickfs_record::{finding::Panel, plan::Metric};

use super::{
    Claim, Evidence, Measure, Outcome, Relation, RunAnswer, judge,
    placed::{Desk, Placed},
    ratio::{self, Ratio},
    several, value,
};
use crate::wording::{blocks_text, interval_text, metric_name, percent_over_one, times};

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
    let evidence = match needs_object(claim.relation) {
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

fn needs_object(relation: Relation) -> bool {
    use Relation::{AtLeast, Dominates, Faster, Mixed, Slower, Within};
    matches!(relation, Faster | Slower | AtLeast(_) | Within(_) | Dominates(_) | Mixed)
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
    selector: &super::claim::Selector,
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

fn absent(desk: &Desk<'_>, selector: &super::claim::Selector) -> String {
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
            through: None,
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
    for subject in subjects {
        let same = |object: &&Placed<'_>| {
            std::ptr::eq(object.panel, subject.panel) && object.row.cell != subject.row.cell
        };
        for object in objects.iter().filter(same) {
            match pair(claim, desk, subject, object) {
                Ok(evidence) => found.push(evidence),
                Err(miss) if miss.step > nearest.step => nearest = miss,
                Err(_) => {}
            }
        }
    }
    if found.is_empty() { Err(nearest) } else { Ok(found) }
}

fn pair(
    claim: &Claim,
    desk: &Desk<'_>,
    subject: &Placed<'_>,
    object: &Placed<'_>,
) -> Result<Evidence, Miss> {
    if subject.row.backing != object.row.backing {
        let (one, other) = (subject.row.backing, object.row.backing);
        return miss(6, format!("rows on {one} and on {other} are not compared"));
    }
    if let Some(row) = [subject, object].into_iter().find(|row| row.row.trials == 0) {
        return miss(8, format!("{} has no result: {}", row.row.label, reason(row)));
    }
    match &claim.measure {
        Measure::Number(number) => {
            let Some(op) = subject.op(&number.ops) else {
                return miss(6, format!("{number} was not measured"));
            };
            of_metric(claim, &number.metric(op), subject, object)
        }
        Measure::Table(rows) => several::mean(claim, desk, rows, subject, object),
        Measure::Phases(rows) => several::each(claim, rows, subject, object),
        Measure::Largest(_) | Measure::Smallest(_) => {
            miss(9, "the largest and the smallest of n laps are shown and never ranked")
        }
        other => miss(9, format!("{other} is not compared between rows")),
    }
}

pub(super) fn labels<'a>(subject: &Placed<'a>, object: &Placed<'a>) -> (&'a str, &'a str) {
    (&subject.row.label, &object.row.label)
}

fn of_metric(
    claim: &Claim,
    metric: &Metric,
    subject: &Placed<'_>,
    object: &Placed<'_>,
) -> Result<Evidence, Miss> {
    let panel = subject.panel;
    let found = ratio::between(panel, labels(subject, object), |label| {
        ratio::by_metric(panel, label, metric)
    });
    let name = metric_name(metric);
    let Some(found) = found else {
        return miss(7, format!("{name} was not compared: a plan must fix it"));
    };
    let doubt = subject.doubt(metric).or_else(|| object.doubt(metric));
    let outcome = match doubt {
        Some(why) => Some(Outcome::NotDecided { blocks: found.blocks, why }),
        None => judge::of_ratio(claim.relation, &found),
    };
    match outcome {
        Some(outcome) => Ok(evidence(&name, found, outcome, subject, object)),
        None => miss(9, format!("`{}` says nothing of {name}", claim.relation)),
    }
}

fn reason(placed: &Placed<'_>) -> String {
    placed.row.failure.clone().unwrap_or("no trial came to its end".into())
}

pub(super) fn evidence(
    name: &str,
    found: Ratio,
    outcome: Outcome,
    subject: &Placed<'_>,
    object: &Placed<'_>,
) -> Evidence {
    let (one, other) = labels(subject, object);
    Evidence {
        text: format!(
            "{name}{}: {}",
            place(subject.panel),
            ratio_text(one, other, &found, &outcome)
        ),
        panel: subject.panel.title.clone(),
        subject: one.into(),
        object: other.into(),
        ratio: Some(found.value),
        interval: found.interval,
        blocks: found.blocks,
        is_planned: found.planned.is_some(),
        through: found.through,
        outcome,
    }
}

/// `xfs 1.38x faster than ext4 [1.21, 1.57], 8 blocks`; nothing is called faster that is not told apart.
fn ratio_text(one: &str, other: &str, found: &Ratio, outcome: &Outcome) -> String {
    let turned = found.value < 1.0;
    let value = times(if turned { 1.0 / found.value } else { found.value });
    let interval = found.interval.map_or(String::new(), |(low, high)| {
        let (low, high) = if turned { (1.0 / high, 1.0 / low) } else { (low, high) };
        format!(" {}", interval_text(low, high))
    });
    let is_apart = found.interval.is_some_and(|(low, high)| low > 1.0 || high < 1.0);
    let said = match outcome {
        Outcome::NoDifference { visible_ratio } => {
            format!("{one} and {other} differ by {} at most", percent_over_one(*visible_ratio))
        }
        Outcome::Seen | Outcome::Weaker | Outcome::Opposite if is_apart => {
            format!(
                "{one} {value} {} than {other}{interval}",
                if turned { "slower" } else { "faster" }
            )
        }
        _ => format!(
            "{one} : {other} = {}{}",
            times(found.value),
            found
                .interval
                .map_or(String::new(), |(low, high)| format!(" {}", interval_text(low, high)))
        ),
    };
    let planned = if found.planned.is_some() { ", planned" } else { "" };
    let through =
        found.through.as_ref().map_or(String::new(), |label| format!(", through {label}"));
    format!("{said}; {}{planned}{through}", blocks_text(found.blocks))
}
