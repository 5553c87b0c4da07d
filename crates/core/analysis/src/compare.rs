//! Runs beside each other: what differed in their machines first, then in their results.
//!
//! The runs are the candidates of one decision ([`crate::decide`]), and blocks of one number stand for its
//! blocks; the rows share the error. The runs share no block all the same: drift between them is in every ratio.
//! Cells of another workload version, scale or backing are not compared at all, and that is said. Where each run has
//! one candidate and they differ, the candidate itself is the thing that changed.
//!
//! Of three runs or more the share of a step is the logarithm of its ratio over the sum of those of all steps. Shares
//! are told only where the last run is claimed to differ from the first; a step that worked against the whole has a
//! share below zero.

mod choices;

use pickfs_record::{
    Cell, Environment, Findings, RunRecord,
    environment::{Difference, MACHINE_KEY, REDUCED_KEY},
    finding::{Claim, Spread},
    plan::Metric,
    quantity::significant,
};
use serde::Serialize;

use crate::{
    ALPHA,
    answers::{Place, Ranked},
    decide::Rules,
    doubts::notices,
    engine::unlike_engines,
    fleet::{Fleet, fleet},
    gates,
    panels::{Disturbed, Group, Member, applies, groups},
    phases::scale::{are_alike, scale},
    summary::{metric_value, spread},
    wording::{list, unique},
};

pub use choices::{ChoiceStanding, ComparedTwice, EarlierChoice};

/// A run with what may be said of it, under its name or its path.
#[derive(Debug, Clone, Copy)]
pub struct Named<'a> {
    /// What it is called here.
    pub name: &'a str,
    /// The run.
    pub run: &'a RunRecord,
    /// Its findings.
    pub findings: &'a Findings,
}

/// Runs compared.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct RunComparison {
    /// Names of the runs.
    pub runs: Vec<String>,
    /// Whether the choice holds across hosts, where the runs are of one plan and of two hosts or more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fleet: Option<Fleet>,
    /// What a reader must know before the ratios.
    pub warnings: Vec<String>,
    /// From each run to the next.
    pub steps: Vec<RunStep>,
    /// Every choice of the first run, judged by the last one; none where their workloads or candidates differ.
    pub choices: Vec<EarlierChoice>,
    /// Cells that every run measured, in the order of the first.
    pub cells: Vec<CellRatio>,
    /// Cells that could not be compared: label with levels, and why.
    pub uncompared: Vec<(String, String)>,
}

/// One run after another.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct RunStep {
    /// The things that changed, each once: a step that can be read has one.
    pub subjects: Vec<String>,
    /// Facts that differ: machine, card and plan.
    pub changed: Vec<Changed>,
    /// Why a difference cannot be put down to one of them, where that is so.
    pub warning: Option<String>,
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

/// One metric of a cell in all runs.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct CellRatio {
    /// Id of the cell in each run.
    pub cells: Vec<String>,
    /// Labels of the candidate, one where it never changed.
    pub labels: Vec<String>,
    /// The levels in words.
    pub levels: String,
    /// In the view that ranks.
    pub metric: Metric,
    /// Over the trials of each run.
    pub values: Vec<Spread>,
    /// Each run over the one before it.
    pub steps: Vec<RunRatio>,
    /// The last run over the first one.
    pub whole: RunRatio,
    /// The heaviest fact that withholds a verdict between two of the runs.
    pub withheld: Option<String>,
    /// Share of each step in the whole, summing to 1; absent where the whole is not claimed.
    pub shares: Option<Vec<f64>>,
}

/// A later run over an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, schemars::JsonSchema)]
pub struct RunRatio {
    /// Later over earlier, the median of the blocks' ratios; absent where one of them failed or missed its rate in most
    /// blocks, or where they share none.
    pub ratio: Option<f64>,
    /// Interval of the blocks' ratios, where it is closed.
    pub interval: Option<(f64, f64)>,
    /// What the blocks say of the later run.
    pub claim: Claim,
    /// Blocks that both have.
    pub blocks: u32,
    /// Blocks in which the later one was slower.
    pub slower: u32,
}

impl RunRatio {
    pub fn is_told_apart(&self) -> bool {
        matches!(self.claim, Claim::Faster | Claim::Slower)
    }
}

/// Facts of the machine that differ between any two runs and change no result.
const FLEETING: &[&str] = &[
    "clock.read_at_start",
    "clock.step_at_start",
    "cpu.load_at_start",
    "memory.available",
    "host.boot_id",
    "host.uptime",
    "host.run_mark",
    MACHINE_KEY,
    "load.",
];

/// Compares each run with the one before it, and the last with the first.
pub fn compare(runs: &[Named<'_>]) -> RunComparison {
    let tables: Vec<Vec<Group<'_>>> = runs.iter().map(|one| groups(one.run)).collect();
    let replaced: Vec<_> = tables.windows(2).map(|two| replaced(&two[0], &two[1])).collect();
    let steps = runs.windows(2).zip(&replaced).map(|(two, replaced)| step(two, *replaced));
    let (mut rows, mut uncompared) = (Vec::new(), Vec::new());
    for first in tables.first().map(Vec::as_slice).map(places).unwrap_or_default() {
        match followed(first, &tables, &replaced, runs) {
            Err(why) => uncompared.push((name(member(first).cell), why)),
            Ok(path) => {
                let primary = runs[0].run.plan.design.primary.iter();
                let metrics = primary.filter(|metric| applies(metric, member(first).cell));
                rows.extend(metrics.map(|metric| (path.clone(), metric)));
            }
        }
    }
    rows.retain(|(path, metric)| path.iter().all(|place| !values(*place, metric).is_empty()));
    for (at, two) in tables.windows(2).enumerate() {
        let is_new = |place: &Place<'_>| {
            places(&two[0]).iter().all(|other| !same_cell(*place, *other, replaced[at].is_some()))
        };
        for place in places(&two[1]).into_iter().filter(is_new) {
            uncompared.push((name(member(place).cell), format!("not in {}", runs[at].name)));
        }
    }
    let alpha = ALPHA / rows.len().max(1) as f64;
    let rules = runs.first().map(|one| Rules { alpha, ..Rules::of(&one.run.plan) });
    let cells = rows.iter().zip(rules.iter().cycle());
    let fleet = fleet(runs);
    RunComparison {
        runs: runs.iter().map(|one| one.name.to_owned()).collect(),
        warnings: warnings(runs, fleet.as_ref()),
        fleet,
        choices: match runs {
            [first, .., last] if replaced.iter().all(Option::is_none) => {
                choices::judged(first, last)
            }
            _ => Vec::new(),
        },
        cells: cells.map(|((path, metric), rules)| row(path, metric, *rules, runs)).collect(),
        steps: steps.collect(),
        uncompared,
    }
}

fn places<'a>(groups: &'a [Group<'a>]) -> Vec<Place<'a>> {
    let of_group = |group: &'a Group<'a>| (0..group.members.len()).map(move |at| (group, at));
    groups.iter().flat_map(of_group).collect()
}

fn member<'a>((group, at): Place<'a>) -> &'a Member<'a> {
    &group.members[at]
}

fn name(cell: &Cell) -> String {
    match cell.levels_text().as_str() {
        "" => cell.candidate.label.clone(),
        levels => format!("{} ({levels})", cell.candidate.label),
    }
}

fn step(two: &[Named<'_>], replaced: Option<[&str; 2]>) -> RunStep {
    let mut changed = changes(two[0].run, two[1].run);
    changed.extend(replaced.map(|[here, there]| Changed {
        key: "plan.candidate".into(),
        here: Some(here.into()),
        there: Some(there.into()),
    }));
    let subjects = subjects(&changed);
    let warning = (subjects.len() > 1).then(|| {
        let (count, list) = (subjects.len(), list(&subjects));
        format!("{count} things changed ({list}): a difference cannot be put down to one of them")
    });
    let subjects = subjects.into_iter().map(String::from).collect();
    RunStep { subjects, warning, changed }
}

/// The two candidates, where each run has one besides its floors and they are not the same.
fn replaced<'a>(here: &'a [Group<'a>], there: &'a [Group<'a>]) -> Option<[&'a str; 2]> {
    let lone = |groups: &'a [Group<'a>]| {
        let all = places(groups).into_iter().map(member);
        let mut choices = all.filter(|m| !m.is_floor()).map(|m| &m.cell.candidate);
        let first = choices.next()?;
        choices.all(|other| other == first).then_some(first)
    };
    let (here, there) = (lone(here)?, lone(there)?);
    (here != there).then_some([&here.label, &there.label])
}

fn same_cell(one: Place<'_>, other: Place<'_>, replaced: bool) -> bool {
    let (one, other) = (member(one), member(other));
    let is_choice = !one.is_floor() && !other.is_floor();
    (one.cell.candidate == other.cell.candidate || replaced && is_choice)
        && one.cell.workload.name == other.cell.workload.name
        && one.cell.workload.params == other.cell.workload.params
}

/// The same cell in every run, or why it is not.
fn followed<'a>(
    first: Place<'a>,
    tables: &'a [Vec<Group<'a>>],
    replaced: &[Option<[&str; 2]>],
    runs: &[Named<'_>],
) -> Result<Vec<Place<'a>>, String> {
    let mut path = vec![first];
    for (at, replaced) in replaced.iter().enumerate() {
        let (last, name) = (path[at], runs[at + 1].name);
        path.push(partner(last, &tables[at + 1], replaced.is_some(), name)?);
    }
    Ok(path)
}

fn partner<'a>(
    place: Place<'_>,
    groups: &'a [Group<'a>],
    replaced: bool,
    run: &str,
) -> Result<Place<'a>, String> {
    let found = places(groups).into_iter().find(|other| same_cell(*other, place, replaced));
    let found = found.ok_or_else(|| format!("not in {run}"))?;
    let (here, there) = (member(place), member(found));
    let (own, others) = (here.cell.workload.version, there.cell.workload.version);
    if own != others {
        return Err(format!("workload version {own} against {others}: numbers may have moved"));
    }
    if here.backing != there.backing {
        return Err(format!("{} against {}: backings are not mixed", here.backing, there.backing));
    }
    unlike(here, there).map_or(Ok(found), Err)
}

/// Why the trials of two runs did not do the same work, where they did not.
fn unlike(here: &Member<'_>, there: &Member<'_>) -> Option<String> {
    let (here, there) = (here.chosen(Disturbed::Kept), there.chosen(Disturbed::Kept));
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

fn values(place: Place<'_>, metric: &Metric) -> Vec<f64> {
    let trials = member(place).chosen(Disturbed::Kept).into_iter();
    trials.filter_map(|trial| metric_value(trial, metric)).collect()
}

fn row(path: &[Place<'_>], metric: &Metric, rules: Rules, runs: &[Named<'_>]) -> CellRatio {
    let ranked = Ranked::of(path, metric, Disturbed::Kept, rules.margin);
    let (decision, metric) = (ranked.decision(rules), ranked.metric);
    let values: Vec<_> = path.iter().map(|place| spread(&values(*place, &metric))).collect();
    let over = |earlier: usize, later: usize| {
        let duel = decision.duel(later, earlier);
        let shown = match metric.statistic.is_better_higher() {
            true => decision.duel(earlier, later),
            false => duel.clone(),
        };
        RunRatio {
            ratio: shown.finite().filter(|_| duel.blocks > 0),
            interval: shown.closed(),
            claim: decision.claim(earlier, later),
            blocks: duel.blocks,
            slower: duel.slower,
        }
    };
    let steps: Vec<_> = (1..path.len()).map(|later| over(later - 1, later)).collect();
    let whole = over(0, path.len() - 1);
    let withheld = ranked.facts.heaviest(&(0..path.len()).collect::<Vec<_>>());
    let withheld = withheld.map(|(found, pair)| {
        let trials = pair.iter().flat_map(|at| member(path[*at]).trials.iter().copied());
        gates::sentence(found, &pair.map(|at| runs[at].name), &trials.collect::<Vec<_>>()).text
    });
    let mut labels: Vec<_> =
        path.iter().map(|place| member(*place).cell.candidate.label.clone()).collect();
    labels.dedup();
    CellRatio {
        cells: path.iter().map(|place| member(*place).cell.id.0.clone()).collect(),
        labels,
        levels: member(path[0]).cell.levels_text(),
        metric,
        shares: shares(&steps).filter(|_| whole.is_told_apart()),
        steps,
        whole,
        withheld,
        values,
    }
}

fn shares(steps: &[RunRatio]) -> Option<Vec<f64>> {
    let parts: Vec<f64> = steps.iter().map(|step| Some(step.ratio?.ln())).collect::<Option<_>>()?;
    let sum: f64 = parts.iter().sum();
    let shares: Vec<f64> = parts.iter().map(|part| part / sum).collect();
    shares.iter().all(|share| share.is_finite()).then_some(shares)
}

fn changes(here: &RunRecord, there: &RunRecord) -> Vec<Changed> {
    // A fact that one of them lacks because it was reduced is none that changed.
    let is_whole = [here, there].iter().all(|run| run.environment.get(REDUCED_KEY).is_none());
    let differences = |prefix: &str, here: &Environment, there: &Environment| {
        let mut found = differences(prefix, here, there);
        found.retain(|changed| is_whole || changed.here.is_some() && changed.there.is_some());
        found
    };
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

fn warnings(runs: &[Named<'_>], fleet: Option<&Fleet>) -> Vec<String> {
    let mut warnings = Vec::new();
    // Of more than two hosts none stands beside another.
    if fleet.is_none() || runs.len() == 2 {
        warnings.push(
            "the runs share no blocks: block n of one stands beside block n of the other, and what \
             drifted between the runs is in every ratio"
                .to_string(),
        );
    }
    for one in runs {
        let kinds: Vec<String> = notices(one.run).into_iter().map(|notice| notice.kind).collect();
        if !kinds.is_empty() {
            warnings.push(format!("the run {} has doubts of its own: {}", one.name, list(&kinds)));
        }
    }
    warnings
}

/// The things that changed, each once: `kernel`, `plan.candidate`; readings aside.
fn subjects(changed: &[Changed]) -> Vec<&str> {
    let set = changed.iter().filter(|changed| !is_reading(&changed.key));
    unique(set.map(|changed| subject(&changed.key)))
}

/// What a key speaks of: its first word, `plan.` keys their second one too.
fn subject(key: &str) -> &str {
    let words = if key.starts_with("plan.") { 2 } else { 1 };
    key.match_indices('.').nth(words - 1).map_or(key, |(end, _)| &key[..end])
}

#[cfg(test)]
mod tests;
