//! What the plan asked and which candidate is best by it: a row for each metric, a column for each candidate.

use pickfs_analysis::{ending::best, phases::tier, wording::unique};
use pickfs_record::{
    finding::{AnswerEnd, Comparison, Panel},
    plan::Metric,
};

use crate::{
    Subject,
    document::{Cell, Column, Kind, Role, Table},
    ranking::{comparison, value_cell, verdict_cell},
    subject::{counted, is_mixed},
    wording::{metric_name, survives_text},
};

pub(crate) const ENDS: [AnswerEnd; 3] = [AnswerEnd::Winner, AnswerEnd::Equal, AnswerEnd::NoAnswer];
/// Ratio at the edge of a picture, at least and at most.
const EDGES: (f64, f64) = (1.25, 4.0);

pub(crate) fn role(end: AnswerEnd) -> Role {
    match end {
        AnswerEnd::Winner => Role::Winner,
        AnswerEnd::Equal => Role::Equal,
        AnswerEnd::NoAnswer => Role::NoAnswer,
    }
}

/// So many of the questions; those that the plan fixed come first. Nothing where there is none.
pub(crate) fn table(subject: &Subject, most: usize) -> Option<Table> {
    let panels = subject.findings.panels.iter();
    let mut asked: Vec<(&Panel, Metric, bool)> = panels
        .flat_map(|panel| match subject.metrics(panel) {
            none if none.is_empty() => vec![(panel, subject.headline(panel), false)],
            metrics => metrics.into_iter().map(|metric| (panel, metric, true)).collect(),
        })
        .collect();
    asked.sort_by_key(|(_, _, is_asked)| !is_asked);
    let rows = asked.iter().flat_map(|(panel, ..)| counted(panel));
    let labels = unique(rows.map(|row| row.label.as_str()));
    let mut table = Table::new([("", Kind::Word), ("answer", Kind::Word)]);
    table.columns.extend(labels.iter().enumerate().map(|(index, label)| Column {
        part: Some(index),
        ..Column::new(Role::Candidate(subject.slot(label)).of(*label), Kind::Number)
    }));
    let found = asked.iter().flat_map(|(panel, metric, _)| {
        panel.rows.iter().filter_map(move |row| comparison(panel, row, metric))
    });
    let edge = edge(found);
    for (panel, metric, is_asked) in asked.iter().take(most) {
        let choice = if *is_asked {
            choice(subject, panel, metric)
        } else {
            Cell::from("not asked by the plan")
        };
        let cells = labels.iter().map(|label| candidate(subject, panel, metric, label, edge));
        table.row([name(panel, metric), choice].into_iter().chain(cells));
    }
    let more = asked.len().saturating_sub(most);
    table.notes.extend((more > 0).then(|| format!("and {more} more").into()));
    (!asked.is_empty()).then_some(Table { has_ranges: true, ..table })
}

fn name(panel: &Panel, metric: &Metric) -> Cell {
    let tier = tier(&metric.op);
    let what = match tier {
        Some(tier) => tier.phase.to_string(),
        None => metric_name(metric),
    };
    let at = if panel.title.is_empty() { "" } else { &format!("{}: ", panel.title) };
    let name = format!("{at}{what}");
    let stands_for = tier.map(|tier| tier.stands_for.to_string());
    Cell { brief: Some(name.clone()), ..Cell::from(name) }.under(stands_for)
}

fn choice(subject: &Subject, panel: &Panel, metric: &Metric) -> Cell {
    let mut answers = subject.findings.answers.iter();
    let answer = answers.find(|answer| answer.panel == panel.title && answer.metric == *metric);
    let Some(answer) = answer else { return Role::Muted.of("not decided").into() };
    let best = match best(answer).as_slice() {
        [] => "not decided".into(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    };
    let end = answer.end.to_string();
    Cell { brief: Some(best.clone()), ..Cell::from(role(answer.end).of(best)) }.under(Some(end))
}

/// What is claimed of a candidate; the interval of that, and its value.
fn candidate(subject: &Subject, panel: &Panel, metric: &Metric, label: &str, edge: f64) -> Cell {
    let Some(row) = panel.rows.iter().find(|row| row.label == label) else {
        return Cell::default();
    };
    let (words, interval) = verdict_cell(panel, row, metric);
    let value = value_cell(subject, panel, row, metric).map_or_else(|| "-".into(), |found| found.1);
    let survives = match is_mixed(panel) {
        true => format!(", survives {}", survives_text(row.durability)),
        false => String::new(),
    };
    let place = |ratio: f64| 0.5 + 0.5 * (ratio.ln() / edge.ln()).clamp(-1.0, 1.0);
    let found = comparison(panel, row, metric);
    let is_reference = row.label == panel.reference;
    Cell {
        // The interval is of the words above it, not of the value.
        range: interval.map_or_else(String::new, |it| format!("{it}, ")) + &value + &survives,
        brief: Some(words.clone()),
        tip: found.map_or_else(String::new, |_| format!("right is faster; the edge is {edge:.1}x")),
        dot: found.filter(|_| !is_reference).and_then(|found| {
            let (low, high) = found.interval?;
            Some([low, found.speedup, high].map(place))
        }),
        ..Cell::from(words)
    }
}

fn edge<'f>(found: impl Iterator<Item = &'f Comparison>) -> f64 {
    let ends = found.flat_map(|found| {
        found.interval.into_iter().flat_map(|(low, high)| [found.speedup, low, high])
    });
    let farthest = ends.map(|ratio| ratio.max(1.0 / ratio)).fold(1.0, f64::max);
    if farthest.is_finite() { farthest.clamp(EDGES.0, EDGES.1) } else { EDGES.1 }
}
