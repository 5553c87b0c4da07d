//! Which knob matters, by how much: effects of the plan's factors on its primary metrics.
//!
//! A factor is `candidate` or an axis of the plan. The main effect of a level is its speedup
//! over the factor's base level: within each block the mean log-ratio over all combinations of
//! the other factors that hold both, then the same test on whole blocks as for comparisons. So
//! drift cancels, and a plan in which only one factor at a time leaves the base is analysed by
//! the same rule: there the base is the only combination. An interaction is the difference of
//! two such effects, between two levels of another factor.
//!
//! The main effects of all primary metrics are one family under Holm's correction: the plan
//! fixed axes and metrics before it ran. Interactions are exploratory: shown where their
//! interval leaves out "none", with the number that were looked at, and never claimed.
//!
//! It is not a model: nothing is fitted, no level is a number. With fewer than two factors
//! there is nothing to say that the comparisons do not say better.

mod effect;
mod table;
mod words;

use pickfs_model::{
    Level, RunRecord,
    finding::{Claim, Effect, Factor, FactorFindings, OpSummary},
    plan::Metric,
};

use crate::{
    claims::{Method, Said, judge_series},
    panels::Group,
};
use effect::{Series, interactions, main_effects};
use table::Table;

/// Interactions that are looked at, at most: beyond, none are.
const INTERACTIONS_MAX: usize = 600;

/// Factor findings, one per primary metric that at least two factors vary. `ops` holds each
/// group's rows' summaries.
pub fn findings(
    run: &RunRecord,
    groups: &[Group<'_>],
    ops: &[Vec<Vec<OpSummary>>],
) -> Vec<FactorFindings> {
    let method = Method::of(&run.plan.design.stop);
    let tables: Vec<(&Metric, Table)> = run
        .plan
        .design
        .primary
        .iter()
        .filter_map(|metric| Some((metric, Table::new(run, groups, ops, metric)?)))
        .collect();
    let effects: Vec<Vec<Series>> = tables.iter().map(|(_, table)| main_effects(table)).collect();
    let family = effects.iter().map(Vec::len).sum();
    let planned = effects.iter().flatten().map(|series| (series.log_ratios.clone(), true));
    let mut said = judge_series(method, planned.collect()).into_iter();
    let needed = method.blocks_needed(family);
    tables
        .into_iter()
        .zip(effects)
        .map(|((metric, table), series)| {
            let said: Vec<Said> = said.by_ref().take(series.len()).collect();
            let mut found = one(metric, &table, method, series.into_iter().zip(said).collect());
            found.sentences = words::sentences(&found, family, needed);
            found
        })
        .collect()
}

fn one(
    metric: &Metric,
    table: &Table,
    method: Method,
    effects: Vec<(Series, Said)>,
) -> FactorFindings {
    let mut factors: Vec<Factor> = (0..table.factors.len())
        .map(|index| factor(table, index, effects.iter().filter(|(s, _)| s.parts[0].0 == index)))
        .collect();
    factors.sort_by(|a, b| b.spread.total_cmp(&a.spread));
    let series = interactions(table);
    let series = if series.len() > INTERACTIONS_MAX { Vec::new() } else { series };
    let interactions_seen = series.len() as u32;
    let said = judge_series(method, series.iter().map(|s| (s.log_ratios.clone(), false)).collect());
    let mut interactions: Vec<Effect> =
        series.iter().zip(&said).map(|(series, said)| effect(table, series, said)).collect();
    interactions
        .retain(|effect| effect.interval.is_some_and(|(low, high)| low > 1.0 || high < 1.0));
    largest_first(&mut interactions);
    FactorFindings {
        metric: metric.clone(),
        design: table.design(),
        cells: table.points.len() as u32,
        blocks: table.blocks(),
        factors,
        interactions,
        interactions_seen,
        sentences: Vec::new(),
    }
}

fn factor<'s>(
    table: &Table,
    index: usize,
    effects: impl Iterator<Item = &'s (Series, Said)>,
) -> Factor {
    let mut effects: Vec<Effect> =
        effects.map(|(series, said)| effect(table, series, said)).collect();
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

fn effect(table: &Table, series: &Series, said: &Said) -> Effect {
    let level = |(factor, level): &(usize, usize)| Level {
        axis: table.factors[*factor].name.clone(),
        value: table.factors[*factor].levels[*level].clone(),
    };
    Effect {
        levels: series.parts.iter().map(level).collect(),
        contexts: series.contexts,
        blocks: series.log_ratios.len() as u32,
        speedup: said.estimate.exp(),
        interval: said.interval.map(|(low, high)| (low.exp(), high.exp())),
        level: said.level,
        p: said.p,
        p_holm: said.p_holm,
        claim: said.claim,
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
