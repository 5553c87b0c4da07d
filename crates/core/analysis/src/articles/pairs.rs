use pickfs_record::{Condition, Metric, Scope, quantity::bytes_text, quantity::significant};

use super::{
    Claim, Evidence, Measure, Outcome, Relation, RunAnswer, apart,
    judge::{self, Ratio},
    placed::{Desk, Placed},
    several, takes, value,
};
use crate::{
    budget,
    decide::Rules,
    phases::scale::scale,
    wording::{blocks_text, interval_text, percent_over_one, times, unique},
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Miss {
    /// How far the search came: the larger, the nearer it was.
    pub(super) step: u8,
    pub(super) reason: String,
    /// What a run would need beside what this one has; empty where only another try tells.
    pub(super) wants: String,
}

/// The step at which no row has the claim's level.
pub(super) const NO_ROW: u8 = 2;
/// The step at which one of two rows has no trial that came to its end.
const NO_RESULT: u8 = 8;

pub(super) fn miss<T>(step: u8, reason: impl Into<String>) -> Result<T, Miss> {
    Err(Miss { step, reason: reason.into(), wants: String::new() })
}

/// What rows say, and the ratio that says it.
pub(super) type Told = (Evidence, Option<Ratio>);

pub(super) fn run_answer(
    claim: &Claim,
    desk: &Desk<'_>,
    rows: &[Placed<'_>],
) -> Result<RunAnswer, Miss> {
    let subjects = fitting(claim, desk, rows, &claim.subject)?;
    if !budget::may_answer(&desk.run.plan, claim) {
        return miss(9, "its plan, as it was run, leaves out what is asked");
    }
    let told = match claim.relation.compares() {
        false => alone(claim, desk, &subjects)?,
        true => {
            let objects = fitting(claim, desk, rows, &claim.object)?;
            together(claim, desk, &subjects, &objects)?
        }
    };
    let with_takes = |(evidence, found): Told| {
        let takes = takes::of_rows(desk, &evidence.outcome, found.as_ref());
        Evidence { takes, ..evidence }
    };
    let evidence: Vec<Evidence> = told.into_iter().map(with_takes).collect();
    let without = without(claim, rows, &evidence);
    let outcome = coarsest(together_say(claim.relation, &evidence), &evidence);
    let is_enough = if claim.relation.needs_one() { Outcome::Seen } else { Outcome::Opposite };
    Ok(RunAnswer {
        run: desk.run.name.clone(),
        outcome: outcome.without(&without, &is_enough, "this run"),
        without,
        scale: unique(subjects.iter().flat_map(|placed| scale_apart(claim, placed))),
        conditions: conditions(desk, &subjects[0]),
        evidence,
    })
}

/// The pair that weakens a claim most answers it; where one pair is enough, one that is open keeps it open.
fn together_say(relation: Relation, evidence: &[Evidence]) -> Outcome {
    let all = || evidence.iter().map(|evidence| &evidence.outcome);
    let one = || all().find(|own| **own == Outcome::Seen).or(all().find(|own| !own.is_answer()));
    let one = if relation.needs_one() { one() } else { None };
    let heaviest = one.or(all().max_by_key(|own| own.weight()));
    let is_less = |own: &Outcome| matches!(own, Outcome::Weaker | Outcome::NoDifference { .. });
    match heaviest {
        // What must hold in each pair does not, whatever becomes of those that are open.
        Some(Outcome::NotDecided { .. }) if !relation.needs_one() && all().any(is_less) => {
            Outcome::Weaker
        }
        Some(own) => own.clone(),
        None => Outcome::not_testable("no rows"),
    }
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

/// Below it lists are so short that what goes with their length is not seen: overwriting random elements of a huge
/// vector was 11.8 times as fast on xfs as on ext4 at a factor of 0.05, and 0.91 times at 0.003.
const SCALE_LEAST: f64 = 0.01;

fn fitting<'a>(
    claim: &Claim,
    desk: &Desk<'_>,
    rows: &[Placed<'a>],
    selector: &Scope,
) -> Result<Vec<Placed<'a>>, Miss> {
    let named: Vec<_> = rows.iter().filter(|row| row.is(selector)).collect();
    if named.is_empty() {
        let wants = asked(selector);
        return Err(Miss { step: 1, reason: absent(desk, selector), wants });
    }
    let placed: Vec<_> = named.iter().filter(|row| row.is(&claim.at)).collect();
    let Some(first) = placed.first() else {
        let (name, condition, found) = named[0].unfit(&claim.at, Some("0")).expect("no row fits");
        let found = found.map_or("not set".into(), |found| format!("here {found}"));
        let wants = condition.of(name);
        return Err(Miss { step: NO_ROW, reason: format!("no row with {wants} ({found})"), wants });
    };
    if let Some((name, condition, found)) = first.unfit(&claim.needs, None) {
        let found = found.unwrap_or("not known".into());
        let wants = condition.of(name);
        return Err(Miss { step: 3, reason: format!("needs {wants}, here {found}"), wants });
    }
    if let Some(factor) = first.trials().find_map(scale).filter(|factor| *factor < SCALE_LEAST) {
        let wants = format!("scale_factor>={SCALE_LEAST}");
        let reason = format!("needs {wants}, here {}", significant(factor));
        return Err(Miss { step: 3, reason, wants });
    }
    Ok(placed
        .into_iter()
        .map(|row| **row)
        .filter(|row| row.unfit(&claim.needs, None).is_none())
        .collect())
}

/// `f2fs or zfs with lanes>=16`.
fn asked(selector: &Scope) -> String {
    let fs = selector.get("fs").map(|condition| condition.words().join(" or "));
    let others = selector.iter().filter(|(name, _)| *name != "fs");
    let others: Vec<String> = others.map(|(name, condition)| condition.of(name)).collect();
    fs.into_iter().chain(others).collect::<Vec<_>>().join(" with ")
}

fn absent(desk: &Desk<'_>, selector: &Scope) -> String {
    let is_it = |fs: &str| selector.get("fs").is_some_and(|condition| condition.holds(fs));
    let skipped = desk.run.skipped.iter().find(|skipped| is_it(&skipped.cell.candidate.fs));
    let why = skipped.map_or(String::new(), |skipped| format!(" ({})", skipped.reason));
    format!("no row of {}{why}", asked(selector))
}

/// File systems of the claim, and levels of its place, that nothing is said of.
fn without(claim: &Claim, rows: &[Placed<'_>], evidence: &[Evidence]) -> Vec<String> {
    let of = |scope: &Scope| scope.get("fs").map_or(Vec::new(), |of| of.words().to_vec());
    let named = [of(&claim.subject), of(&claim.object)].concat();
    let texts = evidence.iter().flat_map(|own| [&own.panel, &own.subject, &own.object]);
    let parts: Vec<&str> = texts.flat_map(|text| text.split(", ")).collect();
    let is_there = |fs: &String| {
        let mut own = rows.iter().filter(|row| row.property("fs").as_ref() == Some(fs));
        own.any(|row| {
            [&row.row.label, &row.cell.candidate.label]
                .iter()
                .any(|name| parts.contains(&name.as_str()))
        })
    };
    // One alone holds of each row that is asked.
    let several = claim.at.iter().filter(|(_, of)| of.words().len() > 1);
    let levels = several.flat_map(|(name, of)| of.words().iter().map(move |level| (name, level)));
    let is_measured = |(name, level): &(&String, &String)| {
        let mut measured = rows.iter().filter(|row| row.row.trials > 0);
        let level = Condition::OneOf(vec![String::clone(level)]);
        measured.any(|row| level.holds(row.property(name).as_deref().unwrap_or("0")))
    };
    let levels = levels.filter(|level| !is_measured(level));
    let levels = levels.map(|(name, level)| format!("{name}={level}"));
    unique(named.into_iter().filter(|fs| !is_there(fs)).chain(levels))
}

/// What of the scale of a row is not the article's.
fn scale_apart(claim: &Claim, placed: &Placed<'_>) -> Vec<String> {
    let found = claim.full.iter().filter_map(|(name, of)| {
        let found = placed.property(name).filter(|found| !of.holds(found) && found != "0")?;
        Some(match (name.as_str(), found.parse()) {
            ("lanes", Ok(lanes)) => format!("{lanes} processes"),
            ("size", Ok(bytes)) => format!("a file of {}", bytes_text(bytes)),
            ("files", Ok(files)) => format!("{files} files"),
            ("guest.engine", _) => format!("in guests ({found})"),
            _ => format!("{name} {found}"),
        })
    });
    let factor = placed.trials().find_map(scale).filter(|factor| *factor < 1.0);
    found.chain(factor.map(|factor| format!("scale factor {}", significant(factor)))).collect()
}

fn conditions(desk: &Desk<'_>, placed: &Placed<'_>) -> Vec<String> {
    let kernel = placed.property("guest.kernel").or_else(|| placed.property("kernel"));
    let kernel = kernel.map(|kernel| format!("Linux {kernel}"));
    let device = ["device.model", "device.link"].into_iter().find_map(|key| placed.property(key));
    let work = ["guest.engine", "scale", "lanes", "files", "cache"];
    let work = work.into_iter().filter_map(|key| Some(format!("{key}={}", placed.property(key)?)));
    let ground = std::iter::once(placed.row.backing.to_string()).chain(device).chain(kernel);
    let has_changed = desk.findings.notices.iter().any(|notice| notice.kind == "drift");
    let doubt = has_changed.then(|| "doubt: the machine changed during the run".into());
    ground.chain(work).chain(doubt).collect()
}

fn alone(claim: &Claim, desk: &Desk<'_>, subjects: &[Placed<'_>]) -> Result<Vec<Told>, Miss> {
    let rules = budget::claim(&desk.run.plan);
    let rules = Rules { alpha: rules.alpha / subjects.len().max(1) as f64, ..rules };
    let told = |placed: &Placed<'_>| {
        let (outcome, text, found) = value::of_row(claim, desk, placed, rules)?;
        let (subject, panel) = (placed.row.label.clone(), placed.panel.title.clone());
        let text = format!("{subject}{}: {text}", place(&panel));
        let own = Evidence { panel, subject, outcome, text, ..Evidence::default() };
        Some((Evidence { blocks: placed.row.trials, ..own }, found))
    };
    let found: Vec<_> = subjects.iter().filter_map(told).collect();
    match (found.is_empty(), &claim.measure) {
        (false, _) => Ok(found),
        (_, Measure::Cause { op, .. }) => {
            let wants = "--explain".into();
            let reason = format!("the slow {op}s of no trial were explained");
            Err(Miss { step: 4, reason, wants })
        }
        _ => miss(4, format!("{} was not measured", claim.measure)),
    }
}

pub(super) fn place(shared: &str) -> String {
    if shared.is_empty() { String::new() } else { format!(" ({shared})") }
}

/// Each subject beside each object that differs from it in what the claim names and in nothing else.
fn together(
    claim: &Claim,
    desk: &Desk<'_>,
    subjects: &[Placed<'_>],
    objects: &[Placed<'_>],
) -> Result<Vec<Told>, Miss> {
    let of = |subject| objects.iter().map(move |object| [subject, object]);
    let both = subjects.iter().flat_map(of).filter(|[one, other]| one.row.cell != other.row.cell);
    let (mut pairs, mut nearest): (Vec<[&Placed<'_>; 2]>, _) = (Vec::new(), None::<Miss>);
    let mut keep = |found: Miss| match &nearest {
        Some(known) if known.step >= found.step => {}
        _ => nearest = Some(found),
    };
    for two in both {
        match apart::unlike(claim, desk, two) {
            Ok(()) => pairs.push(two),
            Err(miss) => keep(miss),
        }
    }
    let judged = pairs.iter().filter(|two| apart::only_shown(claim, **two).is_none()).count();
    let rules = budget::claim(&desk.run.plan);
    let rules = Rules { alpha: rules.alpha / judged.max(1) as f64, ..rules };
    let (mut found, mut lost) = (Vec::new(), Vec::new());
    for two in pairs {
        match pair(claim, desk, two, rules) {
            Ok(told) => found.push(told),
            Err(miss) => {
                lost.extend((miss.step == NO_RESULT).then(|| open(two, &miss.reason)));
                keep(miss);
            }
        }
    }
    let none = || Miss { step: 5, reason: "no two rows to compare".into(), wants: String::new() };
    if found.is_empty() {
        return Err(nearest.unwrap_or_else(none));
    }
    found.extend(lost);
    Ok(found)
}

/// A pair of which one has no result: it must not drop out of a claim in silence.
fn open(two: [&Placed<'_>; 2], why: &str) -> Told {
    let (panel, [subject, object]) = apart::words(two);
    let text = format!("{subject} beside {object}{}: {why}", place(&panel));
    let outcome = Outcome::NotDecided { blocks: 0, why: why.into() };
    (Evidence { panel, subject, object, outcome, text, ..Evidence::default() }, None)
}

fn pair(claim: &Claim, desk: &Desk<'_>, two: [&Placed<'_>; 2], rules: Rules) -> Result<Told, Miss> {
    if let Some(row) = two.into_iter().find(|row| row.row.trials == 0) {
        let why = row.row.failure.as_deref().unwrap_or("no trial came to its end");
        return miss(NO_RESULT, format!("{} has no result: {why}", row.row.label));
    }
    match &claim.measure {
        Measure::Number(metric) => {
            let op = two[0].op(metric).unwrap_or(&metric.op);
            let name = metric.to_string().replacen(&metric.op, op, 1);
            compared(claim, desk, (&name, &[metric]), two, rules)
        }
        Measure::Table(rows) => several::mean(claim, desk, rows, two, rules),
        Measure::Phases(rows) => several::each(claim, desk, rows, two, rules),
        other => miss(9, format!("{other} is not compared between rows")),
    }
}

/// By a metric, or by the geometric mean of several. What is only shown has no interval, as it decides nothing.
pub(super) fn compared(
    claim: &Claim,
    desk: &Desk<'_>,
    (name, metrics): (&str, &[&Metric]),
    two: [&Placed<'_>; 2],
    rules: Rules,
) -> Result<Told, Miss> {
    let shown = apart::only_shown(claim, two);
    let number = metrics.first().filter(|_| matches!(claim.measure, Measure::Number(_)));
    let planned = number.filter(|_| shown.is_none()).and_then(|own| judge::planned(desk, two, own));
    let is_planned = planned.is_some();
    let Some(mut found) = planned.or_else(|| judge::ratio(desk, two, metrics, rules)) else {
        return miss(6, format!("{name} was not measured"));
    };
    let doubt = number.and_then(|own| two.iter().find_map(|row| row.doubt(own)));
    let outcome = match (shown, doubt) {
        (Some(why), _) => {
            found.range = judge::OPEN;
            Some(Outcome::Shown { why: why.into() })
        }
        (None, Some(why)) => Some(Outcome::NotDecided { blocks: found.blocks, why }),
        (None, None) => judge::of_ratio(claim.relation, &found),
    };
    let Some(outcome) = outcome else {
        return miss(9, format!("`{}` says nothing of {name}", claim.relation));
    };
    let (panel, [subject, object]) = apart::words(two);
    let said = ratio_text(&subject, &object, &found, &outcome);
    let planned = if is_planned { ", planned" } else { "" };
    let less = match outcome {
        Outcome::Weaker if claim.relation == Relation::Faster => ", not visibly faster",
        Outcome::Weaker if claim.relation == Relation::Slower => ", not visibly slower",
        _ => "",
    };
    let blocks = blocks_text(found.blocks);
    let text = format!("{name}{}: {said}{less}; {blocks}{planned}", place(&panel));
    let ratio = Some(found.value).filter(|ratio| ratio.is_finite() && *ratio > 0.0);
    let own = Evidence { panel, subject, object, ratio, outcome, text, ..Evidence::default() };
    let (interval, blocks) = (found.interval(), found.blocks);
    Ok((Evidence { interval, blocks, is_planned, ..own }, Some(found)))
}

/// `xfs 1.38x faster than ext4 [1.21, 1.57]`; nothing is called faster that is not told apart.
fn ratio_text(one: &str, other: &str, found: &Ratio, outcome: &Outcome) -> String {
    let turned = found.value < 1.0;
    let value = if turned { 1.0 / found.value } else { found.value };
    if !value.is_finite() {
        let (failed, held) = if turned { (one, other) } else { (other, one) };
        return format!("{failed} failed or missed its rate where {held} did not");
    }
    let text = |range: (f64, f64)| match range == judge::OPEN {
        true => String::new(),
        false => format!(" {}", interval_text(range.0, range.1)),
    };
    let (low, high) = found.range;
    let interval = text(found.range);
    match outcome {
        Outcome::NoDifference { visible_ratio } => {
            format!("{one} and {other} differ by {} at most", percent_over_one(*visible_ratio))
        }
        Outcome::NotDecided { .. } => {
            format!("{one} : {other} = {}{interval}", times(found.value))
        }
        _ if found.range != judge::OPEN && low <= 1.0 && 1.0 <= high => {
            format!("{one} : {other} = {}{interval}", times(found.value))
        }
        _ => {
            let word = if turned { "slower" } else { "faster" };
            let interval = if turned { text((1.0 / high, 1.0 / low)) } else { interval };
            format!("{one} {} {word} than {other}{interval}", times(value))
        }
    }
}
