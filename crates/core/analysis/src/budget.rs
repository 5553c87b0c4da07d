//! All that a run prints may hold a wrong statement with a chance of five per cent at most: its answers, the main
//! effects of its factors, and what it says to claims of articles share that. The shares are fixed before the first
//! block, so that no result moves them.

use std::collections::{BTreeMap, BTreeSet};

use pickfs_record::{
    Cell, Condition, Metric, Plan,
    plan::{Axis, StopRule},
};
use serde_json::Value;

use crate::{
    articles::{Claim, articles},
    decide::{Rules, blocks_needed},
    panels::{BY_CANDIDATE, applies, are_settings},
};

/// Blocks in which a race runs every cell before it narrows.
pub(crate) const OPENING_BLOCKS: u32 = 3;
/// Blocks from one return of those that are out to the next: a machine that changed is noticed.
pub(crate) const SENTINEL_EVERY: u32 = 5;
/// What a trial takes beside its own times, about: make, mount, settle, unmount.
const OVERHEAD_S: f64 = 1.0;
/// A race is planned for this many blocks at least, however short its time.
const BLOCKS_RACED_MIN: u32 = 8;

impl Rules {
    /// The rules of one run: five per cent, and the blocks that the plan's time holds.
    pub fn of(plan: &Plan) -> Rules {
        let planned = match plan.design.stop {
            StopRule::Blocks { .. } => plan.design.blocks,
            StopRule::Decided { budget_s, .. } => {
                let blocks = blocks_within(plan, budget_s).max(BLOCKS_RACED_MIN);
                blocks.min(plan.design.blocks.max(1))
            }
        };
        Rules { alpha: ALPHA, margin: plan.design.stop.tie_margin(), planned }
    }
}

/// Blocks of a race that fit a time.
pub fn blocks_within(plan: &Plan, budget_s: f64) -> u32 {
    let (opening_s, block_s) = race_s(plan);
    ((budget_s - opening_s).max(0.0) / block_s) as u32
}

/// What a race takes for the cells that are not asked, and for each block: the cells that are asked, and the others now
/// and then.
pub fn race_s(plan: &Plan) -> (f64, f64) {
    let timing = &plan.timing;
    let measured_s = timing.warmup_s + timing.measure_s + timing.sustain_s;
    let trial_s = timing.raw_probe_s + measured_s + OVERHEAD_S;
    let levels = plan.axes.iter().map(|axis| axis.levels.len());
    let all = (plan.candidates.len() * levels.product::<usize>()).max(1);
    let asked: usize = plan.design.primary.iter().map(|metric| cells_asked(plan, metric)).sum();
    let asked = if asked == 0 { all } else { asked.min(all) };
    let sentinels = (all - asked) as f64 / f64::from(SENTINEL_EVERY);
    let opening_s = f64::from(OPENING_BLOCKS) * (all - asked) as f64 * trial_s;
    (opening_s, (asked as f64 + sentinels) * trial_s)
}

fn cells_asked(plan: &Plan, metric: &Metric) -> usize {
    let holds = |axis: &str, level: &Value| {
        metric.at.get(axis).is_none_or(|condition| condition.holds(&text(level)))
    };
    let levels = plan
        .axes
        .iter()
        .map(|axis| axis.levels.iter().filter(|level| holds(&axis.name, level)).count());
    let is_left_out = |label: &String| {
        plan.without.iter().any(|without| {
            let all = without.levels.iter();
            without.candidate.as_ref().is_none_or(|candidate| candidate == label)
                && all
                    .into_iter()
                    .all(|(axis, level)| metric.at.contains_key(axis) && holds(axis, level))
        })
    };
    let rows = plan.candidates.iter().filter(|candidate| !is_left_out(&candidate.label));
    rows.count() * levels.product::<usize>()
}

/// Chance of any wrong statement in what a run, a choice or a comparison of runs prints.
pub const ALPHA: f64 = 0.05;
/// Part of it that the claims of articles have together which name the run's plan: it was made for them.
const OF_CLAIMS: f64 = 0.45;

/// For each of so many answers; the effects of factors have as much as the answers.
pub(crate) fn answer(plan: &Plan, answers: usize, has_effects: bool) -> Rules {
    let shares = answers.max(1) * if has_effects { 2 } else { 1 };
    one_of(plan, of_plan(plan), shares)
}

/// For each of so many main effects.
pub(crate) fn effect(plan: &Plan, effects: usize) -> Rules {
    one_of(plan, of_plan(plan), 2 * effects.max(1))
}

/// For a claim of an article, put to a run of its plan.
pub(crate) fn claim(plan: &Plan) -> Rules {
    one_of(plan, OF_CLAIMS * ALPHA, claims(plan))
}

/// For each of so many statements that are all of what is printed.
pub(crate) fn one_of(plan: &Plan, alpha: f64, shares: usize) -> Rules {
    Rules { alpha: alpha / shares.max(1) as f64, ..Rules::of(plan) }
}

/// What the plan's own answers and effects may err.
pub fn of_plan(plan: &Plan) -> f64 {
    if claims(plan) > 0 { (1.0 - OF_CLAIMS) * ALPHA } else { ALPHA }
}

/// Before the first of these blocks none of a plan's questions can be answered, by the second each of them; those of one
/// pair where it asks none.
pub fn enough_blocks(plan: &Plan, cells: &[Cell]) -> [u32; 2] {
    let rows = rows_asked(plan, cells);
    // The main effects of two factors or more have half of the error.
    let has_effects = plan.design.primary.iter().any(|metric| factors(metric, plan, cells) > 1);
    let shares = rows.len() * if has_effects { 2 } else { 1 };
    let ends = [rows.iter().min(), rows.iter().max()];
    ends.map(|rows| blocks_needed(of_plan(plan), rows.copied().unwrap_or(2), shares))
}

/// Rows of each question of a plan: by metric, panel and what they promise.
pub fn rows_asked(plan: &Plan, cells: &[Cell]) -> Vec<usize> {
    let compare = &plan.design.compare;
    let is_apart = compare == BY_CANDIDATE && !are_settings(cells);
    let mut rows: BTreeMap<_, usize> = BTreeMap::new();
    for (index, metric) in plan.design.primary.iter().enumerate() {
        for cell in cells.iter().filter(|cell| applies(metric, cell)) {
            let candidate = (compare != BY_CANDIDATE).then_some(&cell.candidate.label);
            let others = cell.levels.iter().filter(|level| level.axis != *compare);
            let levels: Vec<_> = others.map(|level| (&level.axis, &level.value)).collect();
            let promise = is_apart.then_some(cell.durability);
            *rows.entry((index, candidate, promise, levels)).or_default() += 1;
        }
    }
    rows.into_values().filter(|rows| *rows > 1).collect()
}

/// Candidates and axes that vary over the cells of a metric.
fn factors(metric: &Metric, plan: &Plan, cells: &[Cell]) -> usize {
    let asked = || cells.iter().filter(|cell| applies(metric, cell));
    let labels: BTreeSet<_> = asked().map(|cell| &cell.candidate.label).collect();
    let levels = |axis: &Axis| -> BTreeSet<_> {
        let all = asked().flat_map(|cell| &cell.levels);
        all.filter(|level| level.axis == axis.name).map(|level| &level.value).collect()
    };
    let varies = plan.axes.iter().filter(|axis| levels(axis).len() > 1).count();
    varies + usize::from(labels.len() > 1)
}

/// Statements on articles that name the plan, that it can answer, and that may be wrong by chance.
fn claims(plan: &Plan) -> usize {
    let all = articles().iter().flat_map(|article| &article.claims);
    let own = all.filter(|claim| claim.plans().any(|own| own == plan.name) && claim.spends_error());
    let own = own.filter(|claim| may_answer(plan, claim));
    own.map(statement).collect::<BTreeSet<_>>().len()
}

/// Claims on one ratio of the same rows stand by one interval, so that they err together.
fn statement(claim: &Claim) -> String {
    let mut rows = [&claim.subject, &claim.object].map(|scope| format!("{scope:?}"));
    rows.sort();
    let bound = if claim.relation.is_bound() { claim.relation.to_string() } else { String::new() };
    format!("{} {bound} {:?} {:?} {rows:?}", claim.measure, claim.at, claim.needs)
}

/// Whether what a plan fixes leaves a claim the rows that it asks for.
pub(crate) fn may_answer(plan: &Plan, claim: &Claim) -> bool {
    let holds = |(name, condition): (&String, &Condition)| {
        if name == "fs" {
            return plan.candidates.iter().any(|candidate| condition.holds(&candidate.fs));
        }
        if plan.adjust.iter().any(|own| own.params.contains_key(name)) {
            return true;
        }
        let axis = plan.axes.iter().find(|axis| axis.name == *name);
        match (axis, plan.params.get(name)) {
            (Some(axis), _) => axis.levels.iter().any(|level| condition.holds(&text(level))),
            (None, Some(value)) => condition.holds(&text(value)),
            // A default, or a fact of the machine.
            (None, None) => true,
        }
    };
    let mut asked = claim.at.iter().chain(&claim.needs).chain(&claim.subject).chain(&claim.object);
    asked.all(holds)
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), String::from)
}
