//! A factor is `candidate` or an axis of the plan. The main effect of a level is its speedup
//! over the factor's base level: within each block the mean log-ratio over all combinations of
//! the other factors that hold both, then the one decision over whole blocks. So drift
//! cancels, and a plan in which only one factor at a time leaves the base is analysed by the
//! same rule: there the base is the only combination. An interaction is the difference of two
//! such effects, between two levels of another factor.
//! The main effects of all primary metrics share half of the run's error: the plan fixed axes
//! and metrics before it ran. Interactions are exploratory: shown where their interval leaves
//! out "none", with the number that were looked at, and never claimed.
//! It is not a model: nothing is fitted, no level is a number. With fewer than two factors
//! there is nothing to say that the comparisons do not say better.

mod effect;
mod table;
mod words;

use pickfs_record::{
    Level, RunRecord,
    finding::{Claim, Effect, Factor, FactorFindings, OpSummary},
};

use crate::{
    ALPHA, budget,
    decide::{Duel, Rules, blocks_needed},
    panels::Group,
};
use effect::{Series, interactions, main_effects};
use table::Table;

/// Interactions that are looked at, at most: beyond, none are.
const INTERACTIONS_MAX: usize = 600;

/// `ops` holds each group's rows' summaries.
pub fn findings<'a>(
    run: &'a RunRecord,
    groups: &'a [Group<'a>],
    ops: &'a [Vec<Vec<OpSummary>>],
) -> Vec<FactorFindings> {
    let tables: Vec<Table<'_>> = tables(run, groups, ops).collect();
    let effects: Vec<Vec<Series>> = tables.iter().map(main_effects).collect();
    let family: usize = effects.iter().map(Vec::len).sum();
    let rules = budget::effect(&run.plan, family);
    tables
        .into_iter()
        .zip(effects)
        .map(|(table, series)| {
            let mut found = one(&table, rules, &series);
            let needed = blocks_needed(budget::of_plan(&run.plan), 2, 2 * family.max(1));
            found.sentences = words::sentences(&found, family, needed);
            let mut gates: Vec<&String> = series.iter().filter_map(|s| s.gate.as_ref()).collect();
            gates.dedup();
            found.sentences.extend(
                gates.iter().map(|gate| format!("Nothing is claimed over cells of which {gate}.")),
            );
            found
        })
        .collect()
}

pub fn has_effects<'a>(
    run: &'a RunRecord,
    groups: &'a [Group<'a>],
    ops: &'a [Vec<Vec<OpSummary>>],
) -> bool {
    tables(run, groups, ops).next().is_some()
}

fn tables<'a>(
    run: &'a RunRecord,
    groups: &'a [Group<'a>],
    ops: &'a [Vec<Vec<OpSummary>>],
) -> impl Iterator<Item = Table<'a>> {
    let metrics = run.plan.design.primary.iter();
    metrics.filter_map(|metric| Table::new(run, groups, ops, metric))
}

fn one(table: &Table<'_>, rules: Rules, series: &[Series]) -> FactorFindings {
    let effects: Vec<(usize, Effect)> = series
        .iter()
        .map(|series| {
            let (duel, claim) = rules.judge(&series.log_ratios);
            let claim = if series.gate.is_some() { Claim::Open } else { claim };
            (series.parts[0].0, effect(table, series, &duel, claim))
        })
        .collect();
    let mut factors: Vec<Factor> = (0..table.factors.len())
        .map(|index| {
            let own = effects.iter().filter(|(factor, _)| *factor == index);
            factor(table, index, own.map(|(_, effect)| effect.clone()).collect())
        })
        .collect();
    factors.sort_by(|a, b| b.spread.total_cmp(&a.spread));
    let series = interactions(table);
    let series = if series.len() > INTERACTIONS_MAX { Vec::new() } else { series };
    let interactions_seen = series.len() as u32;
    let alone = Rules { alpha: ALPHA, ..rules };
    let seen =
        |series: &Series| effect(table, series, &alone.duel(&series.log_ratios), Claim::Open);
    let mut interactions: Vec<Effect> = series.iter().map(seen).collect();
    interactions
        .retain(|effect| effect.interval.is_some_and(|(low, high)| low > 1.0 || high < 1.0));
    // It is outside the error that the run shares.
    interactions.iter_mut().for_each(|effect| effect.interval = None);
    largest_first(&mut interactions);
    FactorFindings {
        metric: table.metric().clone(),
        design: table.design(),
        cells: table.points.len() as u32,
        blocks: table.blocks(),
        factors,
        interactions,
        interactions_seen,
        sentences: Vec::new(),
    }
}

fn factor(table: &Table<'_>, index: usize, mut effects: Vec<Effect>) -> Factor {
    largest_first(&mut effects);
    // The base itself stands at 1.
    let estimates = || effects.iter().map(|effect| effect.speedup).chain([1.0]);
    let spread = estimates().fold(0.0, f64::max) / estimates().fold(f64::MAX, f64::min);
    let axis = &table.factors[index];
    Factor {
        name: axis.name.clone(),
        base: axis.levels[0].clone(),
        spread,
        is_mixed: table.is_mixed(index),
        effects,
    }
}

fn effect(table: &Table<'_>, series: &Series, duel: &Duel, claim: Claim) -> Effect {
    let level = |(factor, level): &(usize, usize)| Level {
        axis: table.factors[*factor].name.clone(),
        value: table.factors[*factor].levels[*level].clone(),
    };
    Effect {
        levels: series.parts.iter().map(level).collect(),
        contexts: series.contexts,
        blocks: series.log_ratios.len() as u32,
        speedup: duel.ratio,
        interval: duel.closed().filter(|_| series.gate.is_none()),
        claim,
    }
}

fn largest_first(effects: &mut [Effect]) {
    effects.sort_by(|a, b| b.speedup.ln().abs().total_cmp(&a.speedup.ln().abs()));
}

/// Whether a factor moves the metric by a claim.
pub fn matters(factor: &Factor) -> bool {
    factor.effects.iter().any(|effect| matches!(effect.claim, Claim::Faster | Claim::Slower))
}

#[cfg(test)]
mod tests;
