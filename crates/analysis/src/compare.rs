//! The trials of two runs share no block, so their ratio is unpaired: drift between the runs is
//! in it, and nothing is claimed. Cells of another workload version, scale or backing are not
//! compared at all, and that is said. Where each run has one candidate and they differ, the
//! candidate itself is the thing that changed.

use pickfs_model::{
    BackingKind, Cell, Environment, RunRecord, environment::Difference, finding::Spread,
    plan::Metric, quantity::significant,
};
use serde::Serialize;

use crate::{
    doubts::notices,
    engine::unlike_engines,
    panels::{Group, Member, Robbed, applies, groups},
    phases::scale::{are_alike, scale},
    summary::{metric_value, spread},
    wording::list,
};

/// Two runs compared.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct RunComparison {
    pub here: String,
    /// Name of the second one.
    pub there: String,
    /// Facts that differ: machine, card and plan.
    pub changed: Vec<Changed>,
    /// What a reader must know before the ratios.
    pub warnings: Vec<String>,
    /// Cells that both runs measured, in the order of the first.
    pub cells: Vec<CellRatio>,
    /// Cells that could not be compared: label with levels, and why.
    pub uncompared: Vec<(String, String)>,
}

/// A fact that two runs do not share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Changed {
    /// Its key; keys of the card begin with `card.`, those of the plan with `plan.`.
    pub key: String,
    pub here: Option<String>,
    /// Value in the second run.
    pub there: Option<String>,
}

/// One metric of a cell in both runs.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct CellRatio {
    pub label: String,
    /// Its label in the second run, where the candidate is what changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_there: Option<String>,
    pub levels: String,
    pub metric: Metric,
    /// Over the trials of the first run.
    pub here: Spread,
    /// Over the trials of the second run.
    pub there: Spread,
    /// Median of the second run over the median of the first.
    pub ratio: f64,
    /// No trial of the one run lies among the trials of the other.
    pub apart: bool,
}

/// Facts of the machine that differ between any two runs and change no result.
pub const FLEETING: &[&str] = &[
    "clock.read_at_start",
    "clock.step_at_start",
    "cpu.load_at_start",
    "memory.available",
    "host.boot_id",
    "host.uptime",
    "host.run_mark",
    "load.",
];

pub fn compare(here: &RunRecord, there: &RunRecord) -> RunComparison {
    compare_named(here, there, [&here.name, &there.name])
}

pub fn compare_named(here: &RunRecord, there: &RunRecord, names: [&str; 2]) -> RunComparison {
    let (left, right) = (groups(here), groups(there));
    let replaced = replaced(&left, &right);
    let mut changed = changes(here, there);
    changed.extend(replaced.map(|[here, there]| Changed {
        key: "plan.candidate".into(),
        here: Some(here.into()),
        there: Some(there.into()),
    }));
    let same_cell =
        |one: &Member<'_>, other: &Member<'_>| same_cell(one, other, replaced.is_some());
    let mut found = RunComparison {
        here: names[0].into(),
        there: names[1].into(),
        warnings: warnings([(here, names[0]), (there, names[1])], &changed),
        changed,
        cells: Vec::new(),
        uncompared: Vec::new(),
    };
    for member in members(&left) {
        match partner(member, &right, same_cell) {
            Ok(other) => found.cells.extend(ratios(member, other, &here.plan.design.primary)),
            Err(why) => found.uncompared.push((name(member.cell), why)),
        }
    }
    for member in members(&right).filter(|m| members(&left).all(|other| !same_cell(m, other))) {
        found.uncompared.push((name(member.cell), format!("not in {}", names[0])));
    }
    found
}

fn members<'a>(groups: &'a [Group<'a>]) -> impl Iterator<Item = &'a Member<'a>> {
    groups.iter().flat_map(|group| &group.members)
}

fn name(cell: &Cell) -> String {
    match cell.levels_text().as_str() {
        "" => cell.candidate.label.clone(),
        levels => format!("{} ({levels})", cell.candidate.label),
    }
}

/// The two candidates, where each run has one besides its floors and they are not the same.
fn replaced<'a>(here: &'a [Group<'a>], there: &'a [Group<'a>]) -> Option<[&'a str; 2]> {
    let lone = |groups: &'a [Group<'a>]| {
        let mut choices = members(groups).filter(|m| !m.is_floor()).map(|m| &m.cell.candidate);
        let first = choices.next()?;
        choices.all(|other| other == first).then_some(first)
    };
    let (here, there) = (lone(here)?, lone(there)?);
    (here != there).then_some([&here.label, &there.label])
}

fn same_cell(one: &Member<'_>, other: &Member<'_>, replaced: bool) -> bool {
    let is_choice = !one.is_floor() && !other.is_floor();
    (one.cell.candidate == other.cell.candidate || replaced && is_choice)
        && one.cell.workload.name == other.cell.workload.name
        && one.cell.workload.params == other.cell.workload.params
}

fn partner<'a>(
    member: &Member<'_>,
    groups: &'a [Group<'a>],
    same_cell: impl Fn(&Member<'_>, &Member<'_>) -> bool,
) -> Result<&'a Member<'a>, String> {
    let same: Vec<&Member<'_>> = members(groups).filter(|m| same_cell(m, member)).collect();
    let other = same.first().ok_or_else(|| "not in the other run".to_string())?;
    let (own, others) = (member.cell.workload.version, other.cell.workload.version);
    if own != others {
        return Err(format!("workload version {own} against {others}: numbers may have moved"));
    }
    if !comparable(member.backing, other.backing) {
        return Err(format!(
            "{} against {}: backings are not mixed",
            member.backing, other.backing
        ));
    }
    match unlike(member, other) {
        Some(why) => Err(why),
        None => Ok(other),
    }
}

/// Why the trials of two runs did not do the same work, where they did not.
fn unlike(here: &Member<'_>, there: &Member<'_>) -> Option<String> {
    let (here, there) = (here.chosen(Robbed::Kept), there.chosen(Robbed::Kept));
    let mut pairs = here.iter().flat_map(|one| there.iter().map(move |other| (one, other)));
    let engines = here.first().zip(there.first());
    if let Some(why) = engines.and_then(|(one, other)| unlike_engines(one, other)) {
        return Some(why);
    }
    let (one, other) = pairs.find(|(one, other)| !are_alike(one, other))?;
    Some(format!(
        "scale {} against {}: not the same work",
        significant(scale(one)?),
        significant(scale(other)?)
    ))
}

fn comparable(one: BackingKind, other: BackingKind) -> bool {
    one == other
}

fn ratios(here: &Member<'_>, there: &Member<'_>, primary: &[Metric]) -> Vec<CellRatio> {
    let metrics = primary.iter().filter(|metric| applies(metric, here.cell));
    metrics
        .filter_map(|metric| {
            let (left, right) = (values(here, metric), values(there, metric));
            if left.is_empty() || right.is_empty() {
                return None;
            }
            let (left, right) = (spread(&left), spread(&right));
            Some(CellRatio {
                label: here.cell.candidate.label.clone(),
                label_there: Some(&there.cell.candidate)
                    .filter(|other| **other != here.cell.candidate)
                    .map(|other| other.label.clone()),
                levels: here.cell.levels_text(),
                metric: metric.clone(),
                here: left,
                there: right,
                ratio: right.median / left.median,
                apart: left.high < right.low || right.high < left.low,
            })
        })
        .collect()
}

fn values(member: &Member<'_>, metric: &Metric) -> Vec<f64> {
    member.chosen(Robbed::Kept).into_iter().filter_map(|t| metric_value(t, metric)).collect()
}

fn changes(here: &RunRecord, there: &RunRecord) -> Vec<Changed> {
    let mut changed: Vec<Changed> = differences("", &here.environment, &there.environment);
    changed.extend(differences("", &here.card, &there.card));
    changed.extend(differences("plan.", &plan_facts(here), &plan_facts(there)));
    changed
}

fn differences(prefix: &str, here: &Environment, there: &Environment) -> Vec<Changed> {
    let lasting = |difference: &Difference<'_>| {
        !FLEETING.iter().any(|fleeting| difference.key.starts_with(fleeting))
    };
    here.differences(there)
        .into_iter()
        .filter(lasting)
        .map(|difference| Changed {
            key: format!("{prefix}{}", difference.key),
            here: difference.here.map(String::from),
            there: difference.there.map(String::from),
        })
        .collect()
}

fn plan_facts(run: &RunRecord) -> Environment {
    let mut facts = Environment::default();
    facts.put("build", &run.build);
    facts.put("backing", serde_json::to_string(&run.plan.backing).unwrap_or_default());
    facts.put("workload", &run.plan.workload);
    facts.put("measure_s", run.plan.timing.measure_s);
    for (name, value) in &run.plan.params {
        facts.put(&format!("params.{name}"), value);
    }
    facts
}

/// Keys that are readings and follow from the machine, rather than being set on it.
fn is_reading(key: &str) -> bool {
    key.starts_with("card.")
}

fn warnings(runs: [(&RunRecord, &str); 2], changed: &[Changed]) -> Vec<String> {
    let mut warnings = vec![
        "the runs share no blocks: ratios are unpaired, hold the drift between the runs, and \
         claim nothing"
            .to_string(),
    ];
    let subjects = subjects(changed);
    if subjects.len() > 1 {
        warnings.push(format!(
            "{} things changed ({}): a difference cannot be put down to one of them",
            subjects.len(),
            list(&subjects)
        ));
    }
    for (run, name) in runs {
        let kinds: Vec<String> = notices(run).into_iter().map(|notice| notice.kind).collect();
        if !kinds.is_empty() {
            warnings.push(format!("{name} has doubts of its own: {}", list(&kinds)));
        }
    }
    warnings
}

/// The things that changed, each once: `kernel`, `plan.candidate`; readings aside.
pub fn subjects(changed: &[Changed]) -> Vec<&str> {
    let set = changed.iter().filter(|changed| !is_reading(&changed.key));
    let mut subjects: Vec<&str> = Vec::new();
    for subject in set.map(|changed| subject(&changed.key)) {
        if !subjects.contains(&subject) {
            subjects.push(subject);
        }
    }
    subjects
}

/// What a key speaks of: its first word, `plan.` keys their second one too.
fn subject(key: &str) -> &str {
    let words = if key.starts_with("plan.") { 2 } else { 1 };
    key.match_indices('.').nth(words - 1).map_or(key, |(end, _)| &key[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use pickfs_testkit::{FakeRun, fake_run};

    fn pair() -> (RunRecord, RunRecord) {
        let there = FakeRun { name: "later".into(), seed: 8, ..FakeRun::default() };
        (fake_run(&FakeRun::default()), fake_run(&there))
    }

    #[test]
    fn equal_machines_differ_in_nothing_and_cells_meet() {
        let (here, there) = pair();
        let found = compare(&here, &there);
        assert!(found.changed.is_empty(), "{:?}", found.changed);
        assert_eq!((found.cells.len(), found.uncompared.len()), (8, 0));
        assert!(found.cells.iter().all(|cell| (cell.ratio - 1.0).abs() < 0.2));
        assert_eq!(found.warnings.len(), 1);
    }

    #[test]
    fn one_change_is_stated_and_two_are_warned_of() {
        let (here, mut there) = pair();
        there.environment.put("kernel.release", "6.19.0");
        let one = compare(&here, &there);
        assert_eq!(one.changed.len(), 1);
        assert_eq!(one.changed[0].there.as_deref(), Some("6.19.0"));
        assert_eq!(one.warnings.len(), 1);
        there.environment.put("cpu.governor", "powersave");
        there.environment.put("cpu.load_at_start", "7.0 1.0 1.0");
        there.environment.put("memory.available_at_start_bytes", 1);
        there.card.put("card.flush_p50_ns", 1);
        let two = compare(&here, &there);
        let keys: Vec<_> = two.changed.iter().map(|changed| changed.key.as_str()).collect();
        assert_eq!(keys, ["cpu.governor", "kernel.release", "card.flush_p50_ns"]);
        assert!(two.warnings[1].starts_with("2 things changed (cpu and kernel)"));
    }

    #[test]
    fn runs_of_one_name_are_told_apart_by_the_names_that_are_given() {
        let (here, mut there) = pair();
        there.cells[0].candidate.mount_options.push("compress".into());
        let found = compare_named(&here, &there, ["old/a", "new/a"]);
        assert_eq!((found.here.as_str(), found.there.as_str()), ("old/a", "new/a"));
        assert!(found.uncompared.iter().any(|(_, why)| why == "not in old/a"));
    }

    #[test]
    fn other_scales_are_refused_with_the_reason() {
        let (mut here, mut there) = pair();
        let first = there.cells[0].id.clone();
        let scales = [(&mut here, 0.2), (&mut there, 0.15)];
        for (run, scale) in scales {
            for trial in run.trials.iter_mut().filter(|trial| trial.cell == first) {
                trial.counts.insert(crate::phases::scale::SCALE_KEY.into(), scale);
            }
        }
        let found = compare(&here, &there);
        assert_eq!(found.cells.len(), 7);
        assert_eq!(found.uncompared[0].1, "scale 0.20 against 0.15: not the same work");
        let chain = crate::chain::chain(&[&here, &there]);
        assert_eq!((chain.cells.len(), chain.uncompared.len()), (7, 1));
    }

    #[test]
    fn other_versions_and_backings_are_refused_with_the_reason() {
        let (here, mut there) = pair();
        there.cells[0].workload.version = 2;
        let moved = there.cells[1].id.clone();
        let trials = there.trials.iter_mut().filter(|trial| trial.cell == moved);
        trials.for_each(|trial| trial.backing = BackingKind::RamImage);
        there.cells[2].candidate.mount_options.push("compress".into());
        let found = compare(&here, &there);
        assert_eq!(found.cells.len(), 5);
        let whys: Vec<_> = found.uncompared.iter().map(|(_, why)| why.as_str()).collect();
        assert_eq!(
            whys,
            [
                "workload version 1 against 2: numbers may have moved",
                "loop image against loop image in RAM: backings are not mixed",
                "not in the other run",
                "not in 2026-11-21-journal"
            ]
        );
    }
}
