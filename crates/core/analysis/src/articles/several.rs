use pickfs_record::finding::PhaseRow;

use super::{
    Claim, Evidence, judge,
    measure::Rows,
    pairs::{Miss, evidence, labels, miss, place},
    placed::{Desk, Placed},
    ratio::{self, Ratio},
};
use crate::{
    answers::values_by_block,
    decide::Rules,
    panels::{Disturbed, Member},
    phases::{rate_metric, scale},
    published,
    wording::blocks_text,
};

/// The rows that are asked for. Left out is what is computed from others, what the article's table
/// does not have, and what was not cold (or hot) as it should.
fn wanted<'a>(
    claim: &Claim,
    rows: &Rows,
    subject: &Placed<'a>,
    object: &Placed<'a>,
) -> Vec<&'a PhaseRow> {
    let is_asked = |phase: &&PhaseRow| match rows {
        Rows::HighImpact => phase.is_high_impact,
        Rows::Suite(suite) => phase.suite == *suite && !phase.is_high_impact,
        Rows::Named { heat, words } => {
            (heat.is_none() || phase.heat == *heat) && phase.phase.contains(words)
        }
    };
    let is_sound = |phase: &&PhaseRow| {
        [subject, object].iter().all(|row| row.wrong_heat(&phase.phase).is_none())
    };
    let table = published::find(&claim.table).ok();
    let is_printed = |phase: &&PhaseRow| {
        let is_it = |fact: &published::Fact| fact.label == phase.label && fact.heat() == phase.heat;
        table.is_none_or(|table| table.facts.iter().any(is_it))
    };
    let measured = subject.panel.phases.iter().filter(|phase| !phase.is_derived);
    measured.filter(is_asked).filter(is_printed).filter(is_sound).collect()
}

/// The geometric mean of the ratios: in each block that holds all rows the mean of their
/// logarithms, and the interval of those means.
pub(super) fn mean(
    claim: &Claim,
    desk: &Desk<'_>,
    rows: &Rows,
    subject: &Placed<'_>,
    object: &Placed<'_>,
) -> Result<Evidence, Miss> {
    let (one, other) = labels(subject, object);
    let (Some(own), Some(theirs)) =
        (desk.member(subject.panel, one), desk.member(subject.panel, other))
    else {
        return miss(6, "the two stand in no table together");
    };
    let ratios: Vec<Vec<(u32, f64)>> = wanted(claim, rows, subject, object)
        .iter()
        .map(|phase| log_ratios(own, theirs, &phase.phase))
        .filter(|blocks| !blocks.is_empty())
        .collect();
    let means = block_means(&ratios);
    if means.is_empty() {
        return miss(6, format!("no {} that both rows have", claim.measure));
    }
    let (estimate, interval) = Rules::of(&desk.run.plan).estimate_with_interval(&means);
    let found = Ratio {
        value: estimate.exp(),
        interval: interval.map(|(low, high)| (low.exp(), high.exp())),
        blocks: means.len() as u32,
        planned: None,
        through: None,
    };
    let name = format!("mean of {} rows ({})", ratios.len(), claim.measure);
    match judge::of_ratio(claim.relation, &found) {
        Some(outcome) => Ok(evidence(&name, found, outcome, subject, object)),
        None => miss(9, format!("`{}` says nothing of a mean", claim.relation)),
    }
}

/// By block, how much faster the one is in a phase; blocks in which they did other work are none.
fn log_ratios(own: &Member<'_>, theirs: &Member<'_>, phase: &str) -> Vec<(u32, f64)> {
    let metric = rate_metric(phase);
    let base = values_by_block(theirs, &metric, Disturbed::Kept);
    let alike = scale::alike_blocks(theirs, own);
    let own = values_by_block(own, &metric, Disturbed::Kept).into_iter();
    own.filter(|(block, _)| alike.contains(block))
        .filter_map(|(block, rate)| Some((block, (rate / base.get(&block)?).ln())))
        .filter(|(_, ratio)| ratio.is_finite())
        .collect()
}

fn block_means(rows: &[Vec<(u32, f64)>]) -> Vec<f64> {
    let Some((first, others)) = rows.split_first() else { return Vec::new() };
    let of = |block: u32| {
        let rest = others
            .iter()
            .map(|row| row.iter().find(|(own, _)| *own == block).map(|(_, ratio)| *ratio));
        rest.collect::<Option<Vec<f64>>>()
    };
    let mean = |(block, ratio): &(u32, f64)| {
        let rest = of(*block)?;
        Some((ratio + rest.iter().sum::<f64>()) / rows.len() as f64)
    };
    first.iter().filter_map(mean).collect()
}

pub(super) fn each(
    claim: &Claim,
    rows: &Rows,
    subject: &Placed<'_>,
    object: &Placed<'_>,
) -> Result<Evidence, Miss> {
    let panel = subject.panel;
    let ratios: Vec<judge::Named<'_>> = wanted(claim, rows, subject, object)
        .into_iter()
        .filter_map(|phase| {
            let to_reference = |label: &str| ratio::by_phase(panel, label, &phase.phase);
            let found = ratio::between(panel, labels(subject, object), to_reference)?;
            Some((phase.phase.as_str(), found))
        })
        .collect();
    if ratios.is_empty() {
        return miss(6, format!("no {} that both rows have", claim.measure));
    }
    let Some((outcome, text)) = judge::of_rows(claim.relation, &ratios) else {
        return miss(9, format!("`{}` says nothing of several rows", claim.relation));
    };
    let (one, other) = labels(subject, object);
    let blocks = ratios.iter().map(|(_, ratio)| ratio.blocks).min().unwrap_or(0);
    Ok(Evidence {
        panel: panel.title.clone(),
        subject: one.into(),
        object: other.into(),
        ratio: None,
        interval: None,
        blocks,
        is_planned: false,
        through: ratios[0].1.through.clone(),
        text: format!("{one} beside {other}{}: {text}; {}", place(panel), blocks_text(blocks)),
        outcome,
    })
}
