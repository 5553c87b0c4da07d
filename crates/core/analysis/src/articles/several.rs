use pickfs_record::{Metric, finding::PhaseRow};

use super::{
    Claim, Evidence, Outcome, apart,
    judge::{self, Withheld},
    measure::Rows,
    pairs::{Miss, Told, compared, miss, place},
    placed::{Desk, Placed},
};
use crate::{decide::Rules, phases::rate_metric, published, wording::blocks_text};

/// The rates of the rows that are asked for and that both have.
struct Wanted {
    /// Without those that a gate withholds, unless they are half or more.
    metrics: Vec<Metric>,
    rows: usize,
    gates: Vec<Withheld>,
}

impl Wanted {
    fn is_withheld(&self) -> bool {
        !self.gates.is_empty() && 2 * self.gates.len() >= self.rows
    }

    /// `3 of 12 rows left out: others took the CPU in 8 of 8 blocks of ext4 and xfs`.
    fn left_out(&self) -> Option<String> {
        let first = self.gates.first()?;
        Some(format!("{} of {} rows left out: {}", self.gates.len(), self.rows, first.why))
    }

    fn judged(&self, mut evidence: Evidence) -> Evidence {
        match self.left_out() {
            Some(why) if self.is_withheld() => {
                let all = self.rows <= self.gates.len();
                let why = if all { self.gates[0].why.clone() } else { why };
                evidence.outcome = Outcome::NotDecided { blocks: evidence.blocks, why };
            }
            Some(why) => evidence.text += &format!("; {why}"),
            None => {}
        }
        evidence
    }
}

/// Left out is what is computed from others and what the article's table does not have.
fn wanted(claim: &Claim, desk: &Desk<'_>, rows: &Rows, two: [&Placed<'_>; 2]) -> Wanted {
    let is_asked = |phase: &&PhaseRow| match rows {
        Rows::HighImpact => phase.is_high_impact,
        Rows::Suite(suite) => phase.suite == *suite && !phase.is_high_impact,
        Rows::Named { heat, words } => {
            (heat.is_none() || phase.heat == *heat) && phase.phase.contains(words)
        }
    };
    let table = published::find(&claim.table).ok();
    let is_printed = |phase: &&PhaseRow| {
        let is_it = |fact: &published::Fact| {
            let heat = fact.heat();
            fact.label == phase.label && (heat.is_none() || heat == phase.heat)
        };
        table.is_none_or(|table| table.facts.iter().any(is_it))
    };
    let has = |row: &&Placed<'_>, phase: &PhaseRow| {
        row.phase(&phase.phase).is_some_and(|cell| cell.trials > 0)
    };
    let measured = two[0].panel.phases.iter().filter(|phase| !phase.is_derived);
    let asked = measured.filter(is_asked).filter(is_printed);
    let both = asked.clone().filter(|phase| two.iter().all(|row| has(row, phase)));
    let all: Vec<Metric> = both.map(|phase| rate_metric(&phase.phase)).collect();
    let gate = |metric: &Metric| judge::gate(desk, two, metric);
    let failed = |phase: &PhaseRow| {
        let cell = |row: &&Placed<'_>| row.phase(&phase.phase).is_some_and(|cell| cell.failed > 0);
        let lost = two.into_iter().find(|row| !has(row, phase) && cell(row))?;
        let why = format!("{} never came to its end on {}", phase.phase, lost.row.label);
        Some(Withheld { why, mend: "see why it failed" })
    };
    let lost: Vec<Withheld> = asked.filter_map(failed).collect();
    let rows = all.len() + lost.len();
    let gates: Vec<Withheld> = all.iter().filter_map(gate).chain(lost).collect();
    let mut wanted = Wanted { rows, metrics: all, gates };
    if !wanted.is_withheld() {
        wanted.metrics.retain(|metric| gate(metric).is_none());
    }
    wanted
}

/// The geometric mean of the rows that both have.
pub(super) fn mean(
    claim: &Claim,
    desk: &Desk<'_>,
    rows: &Rows,
    two: [&Placed<'_>; 2],
    rules: Rules,
) -> Result<Told, Miss> {
    let wanted = wanted(claim, desk, rows, two);
    let metrics: Vec<&Metric> = wanted.metrics.iter().collect();
    let name = format!("mean of {} rows ({})", metrics.len(), claim.measure);
    let (evidence, found) = compared(claim, desk, (&name, &metrics), two, rules)?;
    Ok((wanted.judged(evidence), found))
}

pub(super) fn each(
    claim: &Claim,
    desk: &Desk<'_>,
    rows: &Rows,
    two: [&Placed<'_>; 2],
    rules: Rules,
) -> Result<Told, Miss> {
    let wanted = wanted(claim, desk, rows, two);
    let each = Rules { alpha: rules.alpha / wanted.metrics.len().max(1) as f64, ..rules };
    let ratios: Vec<judge::Named<'_>> = wanted
        .metrics
        .iter()
        .filter_map(|metric| Some((metric.op.as_str(), judge::ratio(desk, two, &[metric], each)?)))
        .collect();
    if ratios.is_empty() {
        return miss(6, format!("no {} that both rows have", claim.measure));
    }
    let Some((outcome, text)) = judge::of_rows(claim.relation, &ratios) else {
        return miss(9, format!("`{}` says nothing of several rows", claim.relation));
    };
    let (panel, [subject, object]) = apart::words(two);
    let blocks = ratios.iter().map(|(_, ratio)| ratio.blocks).min().unwrap_or(0);
    let place = place(&panel);
    let text = format!("{subject} beside {object}{place}: {text}; {}", blocks_text(blocks));
    let own = Evidence { panel, subject, object, blocks, outcome, text, ..Evidence::default() };
    // What would decide the first row that is open.
    let mut rows = ratios.into_iter().map(|(_, ratio)| ratio);
    let open = rows.find(|ratio| ratio.is_open());
    Ok((wanted.judged(own), open))
}
