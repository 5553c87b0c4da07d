//! Order is not a claim: which rows differ is said by comparisons alone.

pub(crate) mod table;

use std::cmp::Reverse;

use pickfs_record::{
    Outcome,
    finding::{Comparison, OpSummary, Panel, QuantileSummary, Row, Spread},
    plan::{Metric, Statistic, View},
    quantity::duration_text,
};

use crate::{
    Subject,
    subject::{is_capacity, is_floor, phase, summary, unit},
    wording::{
        claim_text, interval_text, is_program_time, metric_name, outcome_text, statistic_name,
        value_range, value_text,
    },
};

pub const SHOWN: [f64; 4] = [0.5, 0.99, 0.999, 0.9999];

/// The rows with the best headline first; floors come first of all, rows without a value
/// last. Where rows survive different things, those that survive the most come first:
/// order then speaks only within what survives the same. There, rows that miss their rate come last.
pub fn ranked<'p>(subject: &Subject, panel: &'p Panel) -> Vec<&'p Row> {
    ranked_by(subject, panel, &subject.headline(panel))
}

pub fn ranked_by<'p>(subject: &Subject, panel: &'p Panel, metric: &Metric) -> Vec<&'p Row> {
    let mut rows: Vec<_> = panel.rows.iter().collect();
    let key = |row: &Row| {
        let value = value(subject, panel, row, metric).map_or(f64::INFINITY, |v| v.median);
        let higher_is_better = metric.statistic.is_better_higher() && value.is_finite();
        let weakness = Reverse(row.durability);
        (
            (!is_floor(row), weakness, misses_its_rate(row)),
            if higher_is_better { -value } else { value },
        )
    };
    rows.sort_by(|a, b| {
        let (a, b) = (key(a), key(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    rows
}

pub fn misses_its_rate(row: &Row) -> bool {
    row.rate_asked.zip(row.rate).is_some_and(|(asked, held)| held.median < 0.99 * asked)
}

pub fn quantile(op: &OpSummary, q: f64) -> Option<&QuantileSummary> {
    op.quantiles.iter().find(|row| (row.q - q).abs() < 1e-9)
}

/// A quantile as a table shows it; `-` where too few episodes carry it.
pub fn quantile_text(op: Option<&OpSummary>, q: f64) -> String {
    match op.and_then(|op| quantile(op, q)) {
        Some(row) if row.carried => duration_text(row.value_ns.median),
        _ => "-".into(),
    }
}

pub fn service_quantile(headline: &Metric) -> Option<f64> {
    match headline.statistic {
        Statistic::Quantile(q) if headline.view != View::Service => Some(q),
        _ => None,
    }
}

pub fn service_text(row: &Row, headline: &Metric, q: f64) -> String {
    quantile_text(summary(row, &Metric { view: View::Service, ..headline.clone() }), q)
}

pub fn is_any_uncarried(panel: &Panel, metric: &Metric, shown: &[f64]) -> bool {
    let ops = || panel.rows.iter().filter_map(|row| summary(row, metric));
    ops().any(|op| shown.iter().any(|q| quantile(op, *q).is_none_or(|row| !row.carried)))
}

pub fn comparison<'p>(panel: &'p Panel, row: &Row, metric: &Metric) -> Option<&'p Comparison> {
    let same = |c: &&Comparison| {
        let m = &c.metric;
        // Which response time ranks is the answer's to say; both are of one comparison.
        let is_same_view = (m.view == View::Service) == (metric.view == View::Service);
        m.op == metric.op && is_same_view && m.statistic == metric.statistic
    };
    panel.comparisons.iter().filter(same).find(|c| c.other == row.label)
}

pub fn compared(subject: &Subject, panel: &Panel) -> Vec<Metric> {
    let mut metrics = subject.metrics(panel);
    metrics.retain(|m| panel.rows.iter().any(|row| comparison(panel, row, m).is_some()));
    metrics
}

pub fn verdict_cell(panel: &Panel, row: &Row, metric: &Metric) -> (String, Option<String>) {
    if row.label == panel.reference {
        return ("reference".into(), None);
    }
    match comparison(panel, row, metric) {
        Some(found) => (claim_text(found), interval_text(found)),
        None if is_floor(row) => ("in memory".into(), None),
        None if row.failed > row.trials => ("failed".into(), None),
        None => ("-".into(), None),
    }
}

pub fn against(panel: &Panel, metric: &Metric, metrics: &[Metric]) -> String {
    let which = match metrics {
        [_] => String::new(),
        [first, ..] if metrics.iter().all(|other| other.op == first.op) => {
            format!(", {}", statistic_name(metric.statistic))
        }
        _ => format!(", {} {}", metric.op, statistic_name(metric.statistic)),
    };
    format!("against {}{which}", reference(panel))
}

/// The reference's label, or `reference` where the label is long.
pub fn reference(panel: &Panel) -> &str {
    let short = panel.reference.chars().count() <= 13;
    if short { &panel.reference } else { "reference" }
}

pub fn ratios_text(panel: &Panel, metrics: &[Metric]) -> String {
    // All intervals of a run hold together at 95 %.
    let is_any = |metric: &Metric| {
        let mut rows = panel.rows.iter().filter_map(|row| comparison(panel, row, metric));
        rows.any(|found| interval_text(found).is_some())
    };
    let names: Vec<_> = metrics
        .iter()
        .map(|metric| match is_any(metric) {
            true => format!("{} (intervals at 95 %)", metric_name(metric)),
            false => metric_name(metric),
        })
        .collect();
    match names.is_empty() {
        true => String::new(),
        false => format!("Against {}: {}.", panel.reference, names.join("; ")),
    }
}

pub fn is_one_number(metric: &Metric) -> bool {
    matches!(metric.statistic, Statistic::Mean | Statistic::Figure(_))
}

/// A column of its own, beside the quantiles where the number hangs on the tail.
fn is_number(metric: &Metric) -> bool {
    !matches!(metric.statistic, Statistic::Quantile(_) | Statistic::Rate)
}

pub fn shown(headline: &Metric) -> &'static [f64] {
    if is_one_number(headline) { &[] } else { &SHOWN }
}

/// The columns of a headline that is no quantile: itself, the plan's other numbers, and the times of a program.
pub fn numbers(panel: &Panel, headline: &Metric, planned: &[Metric]) -> Vec<Metric> {
    if !is_number(headline) {
        return Vec::new();
    }
    let times = panel.rows.iter().flat_map(|row| &row.ops).filter(|op| is_program_time(&op.op));
    let times = times.map(|op| Metric {
        op: op.op.clone(),
        view: op.view,
        statistic: Statistic::Mean,
        at: Default::default(),
    });
    let mut numbers = vec![headline.clone()];
    for metric in planned.iter().cloned().chain(times).filter(is_number) {
        let is_it = |known: &Metric| {
            (&known.op, known.view, known.statistic) == (&metric.op, metric.view, metric.statistic)
        };
        if !numbers.iter().any(is_it) {
            numbers.push(metric);
        }
    }
    numbers
}

pub fn number_head(metric: &Metric) -> String {
    match metric.statistic {
        Statistic::Mean if is_program_time(&metric.op) => metric.op.clone(),
        Statistic::Figure(_) => metric.op.clone(),
        statistic => format!("{} {statistic}", metric.op),
    }
}

pub fn rate_head(panel: &Panel) -> &'static str {
    if is_capacity(panel) { "highest rate held" } else { "rate held" }
}

/// The value of a metric over the trials of a row.
pub fn value(subject: &Subject, panel: &Panel, row: &Row, metric: &Metric) -> Option<Spread> {
    match phase(panel, row, metric) {
        Some((_, cell)) => cell.rate,
        None => subject.value(row, metric),
    }
}

/// Why a row has no value, in a word and with its reason; nothing where it is not known.
pub fn lost(subject: &Subject, row: &Row, op: &str) -> Option<String> {
    let trials = subject.trials(&row.cell).iter();
    let outcomes = trials.map(|trial| trial.phase(op).map_or(&trial.outcome, |own| &own.outcome));
    let lost = outcomes.filter(|outcome| **outcome != Outcome::Finished);
    lost.min_by_key(|outcome| !matches!(outcome, Outcome::Failed { .. })).map(outcome_text)
}

/// The word alone.
pub fn lost_word(subject: &Subject, row: &Row, op: &str) -> String {
    let lost = lost(subject, row, op).unwrap_or_else(|| "-".into());
    lost.split(':').next().unwrap_or_default().into()
}

/// The median of a metric over the trials of a row, as a number and in words, and its range over several trials.
pub fn value_cell(
    subject: &Subject,
    panel: &Panel,
    row: &Row,
    metric: &Metric,
) -> Option<(f64, String, Option<String>)> {
    let value = value(subject, panel, row, metric)?;
    let unit = unit(panel, metric);
    let range = (row.trials > 1).then(|| value_range(unit, metric, value));
    Some((value.median, value_text(unit, metric, value.median), range))
}

pub fn label(row: &Row) -> String {
    if is_floor(row) { format!("{} (memory)", row.label) } else { row.label.clone() }
}
