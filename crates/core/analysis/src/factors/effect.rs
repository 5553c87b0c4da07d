use std::collections::BTreeMap;

use super::table::{Point, Table};

pub(super) struct Series {
    /// Factor and level; two of them for an interaction.
    pub(super) parts: Vec<(usize, usize)>,
    /// Combinations of the other factors that hold all cells of the effect.
    pub(super) contexts: u32,
    /// One per block that holds every combination: a mean over part of them would be another
    /// effect wherever factors depend on each other.
    pub(super) log_ratios: Vec<(u32, f64)>,
    /// Why nothing is claimed, whatever the blocks say.
    pub(super) gate: Option<String>,
}

pub(super) fn main_effects(table: &Table<'_>) -> Vec<Series> {
    let levels = |factor: usize| (1..table.factors[factor].levels.len()).map(move |l| (factor, l));
    let parts = (0..table.factors.len()).flat_map(levels).map(|part| vec![part]);
    parts.filter_map(|parts| series(table, parts)).collect()
}

pub(super) fn interactions(table: &Table<'_>) -> Vec<Series> {
    let levels = |factor: usize| (1..table.factors[factor].levels.len()).map(move |l| (factor, l));
    let factors = table.factors.len();
    let pairs = (0..factors).flat_map(|a| (a + 1..factors).map(move |b| (a, b)));
    pairs
        .flat_map(|(a, b)| {
            levels(a).flat_map(move |first| levels(b).map(move |second| vec![first, second]))
        })
        .filter_map(|parts| series(table, parts))
        .collect()
}

/// The contrast over all contexts: with one part level minus base, with two the difference of
/// the first's effect at the second's level and at the second's base.
fn series(table: &Table<'_>, parts: Vec<(usize, usize)>) -> Option<Series> {
    let contexts = contexts(table, &parts);
    let first = contexts.first()?;
    let blocks = first[0].0.ln_speeds.keys();
    let at = |block: &u32| -> Option<(u32, f64)> {
        let mut sum = 0.0;
        for context in &contexts {
            for (point, sign) in context {
                sum += sign * point.ln_speeds.get(block)?;
            }
        }
        // Failures on both sides say nothing.
        (!sum.is_nan()).then_some((*block, sum / contexts.len() as f64))
    };
    let log_ratios: Vec<(u32, f64)> = blocks.filter_map(at).collect();
    let count = contexts.len() as u32;
    let pairs = contexts.iter().flat_map(|cells| {
        cells.iter().flat_map(|one| cells.iter().map(move |other| (one.0, other.0)))
    });
    let mut apart = pairs.filter(|(one, other)| one.index < other.index);
    let gate = apart.find_map(|(one, other)| table.gate(one, other));
    (!log_ratios.is_empty()).then_some(Series { parts, contexts: count, log_ratios, gate })
}

/// Per combination of the other factors the cells of the contrast with their signs; only those
/// that are complete.
fn contexts<'t>(table: &'t Table<'_>, parts: &[(usize, usize)]) -> Vec<Vec<(&'t Point, f64)>> {
    let mut found: BTreeMap<Vec<usize>, Vec<(&Point, f64)>> = BTreeMap::new();
    for point in &table.points {
        let mut rest = point.at.clone();
        let mut sign = 1.0;
        let mut belongs = true;
        for (factor, level) in parts {
            match point.at[*factor] {
                0 => sign = -sign,
                own => belongs &= own == *level,
            }
            rest[*factor] = 0;
        }
        if belongs {
            found.entry(rest).or_default().push((point, sign));
        }
    }
    let whole = 1 << parts.len();
    found.into_values().filter(|cells| cells.len() == whole).collect()
}
