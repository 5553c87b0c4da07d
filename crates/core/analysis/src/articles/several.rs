use pickfs_record::{Metric, finding::PhaseRow};

use super::{
    Claim, Evidence, judge,
    measure::Rows,
    pairs::{Miss, evidence, miss, place},
    placed::{Desk, Placed},
};
use crate::{decide::Rules, phases::rate_metric, published, wording::blocks_text};

/// The rates of the rows that are asked for and that both have. Left out is what is computed from others, what the
/// article's table does not have, and what a gate withholds, unless that is all.
fn wanted(claim: &Claim, desk: &Desk<'_>, rows: &Rows, two: [&Placed<'_>; 2]) -> Vec<Metric> {
    let is_asked = |phase: &&PhaseRow| match rows {
        Rows::HighImpact => phase.is_high_impact,
        Rows::Suite(suite) => phase.suite == *suite && !phase.is_high_impact,
        Rows::Named { heat, words } => {
            (heat.is_none() || phase.heat == *heat) && phase.phase.contains(words)
        }
    };
    let table = published::find(&claim.table).ok();
    let is_printed = |phase: &&PhaseRow| {
        let is_it = |fact: &published::Fact| fact.label == phase.label && fact.heat() == phase.heat;
        table.is_none_or(|table| table.facts.iter().any(is_it))
    };
    let has = |row: &&Placed<'_>, phase: &PhaseRow| {
        row.phase(&phase.phase).is_some_and(|cell| cell.trials > 0)
    };
    let measured = two[0].panel.phases.iter().filter(|phase| !phase.is_derived);
    let asked = measured.filter(is_asked).filter(is_printed);
    let both = asked.filter(|phase| two.iter().all(|row| has(row, phase)));
    let all: Vec<Metric> = both.map(|phase| rate_metric(&phase.phase)).collect();
    let sound = all.iter().filter(|metric| judge::gate(desk, two, metric).is_none());
    let sound: Vec<Metric> = sound.cloned().collect();
    if sound.is_empty() { all } else { sound }
}

/// The geometric mean of the rows that both have.
pub(super) fn mean(
    claim: &Claim,
    desk: &Desk<'_>,
    rows: &Rows,
    two: [&Placed<'_>; 2],
    rules: Rules,
) -> Result<Evidence, Miss> {
    let metrics = wanted(claim, desk, rows, two);
    let found = judge::ratio(desk, two, &metrics.iter().collect::<Vec<_>>(), rules);
    let Some(found) = found else {
        return miss(6, format!("no {} that both rows have", claim.measure));
    };
    let name = format!("mean of {} rows ({})", metrics.len(), claim.measure);
    match judge::of_ratio(claim.relation, &found) {
        Some(outcome) => Ok(evidence(&name, found, outcome, two, false)),
        None => miss(9, format!("`{}` says nothing of a mean", claim.relation)),
    }
}

pub(super) fn each(
    claim: &Claim,
    desk: &Desk<'_>,
    rows: &Rows,
    two: [&Placed<'_>; 2],
    rules: Rules,
) -> Result<Evidence, Miss> {
    let wanted = wanted(claim, desk, rows, two);
    let each = Rules { alpha: rules.alpha / wanted.len().max(1) as f64, ..rules };
    let ratios: Vec<judge::Named<'_>> = wanted
        .iter()
        .filter_map(|metric| Some((metric.op.as_str(), judge::ratio(desk, two, &[metric], each)?)))
        .collect();
    if ratios.is_empty() {
        return miss(6, format!("no {} that both rows have", claim.measure));
    }
    let Some((outcome, text)) = judge::of_rows(claim.relation, &ratios) else {
        return miss(9, format!("`{}` says nothing of several rows", claim.relation));
    };
    let [one, other] = two.map(|row| row.row.label.clone());
    let blocks = ratios.iter().map(|(_, ratio)| ratio.blocks).min().unwrap_or(0);
    let place = place(two[0].panel);
    Ok(Evidence {
        panel: two[0].panel.title.clone(),
        text: format!("{one} beside {other}{place}: {text}; {}", blocks_text(blocks)),
        subject: one,
        object: other,
        ratio: None,
        interval: None,
        blocks,
        is_planned: false,
        outcome,
    })
}
