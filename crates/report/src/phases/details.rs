use pickfs_analysis::summary::belongs_to;
use pickfs_model::{
    TrialRecord,
    finding::{OpSummary, Panel, PhaseCell, PhaseRow, Row},
    plan::Metric,
    quantity::{duration_text, grouped, significant},
    record::{IntervalRow, OpRecord},
};

use super::{
    footnotes::lost_word,
    words::{range_number, rate_text},
};
use crate::{Subject, html::markup::Page, ranking::quantile_text, wording::quantile_name};

const SHOWN: [f64; 6] = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999];

const SECONDS_MIN: usize = 3;

pub fn write(page: &mut Page, subject: &Subject, panel: &Panel, row: &Row) {
    let Some(at) = panel.rows.iter().position(|other| other.cell == row.cell) else { return };
    phases(page, subject, panel, at);
    operations(page, subject, row);
}

pub fn headline(panel: &Panel, row: &Row, metric: &Metric) -> Option<String> {
    let phase = panel.phases.iter().find(|phase| phase.phase == metric.op)?;
    let at = panel.rows.iter().position(|other| other.cell == row.cell)?;
    let rate = phase.cells.get(at)?.rate?;
    Some(rate_text(phase.unit, rate.median))
}

pub fn trial_headline(trial: &TrialRecord, metric: &Metric) -> Option<String> {
    let phase = trial.phases.iter().find(|phase| phase.phase == metric.op)?;
    phase.is_finished().then(|| rate_text(phase.unit, phase.rate_per_s))
}

fn phases(page: &mut Page, subject: &Subject, panel: &Panel, at: usize) {
    page.element("h3", "Phases");
    page.open_table(&[
        "phase",
        "rate",
        "range",
        "slowest lane",
        "CPU",
        "lanes began within",
        "counted",
        "doubts",
    ]);
    for phase in &panel.phases {
        if let Some(cell) = phase.cells.get(at) {
            phase_row(page, phase, cell, lost_word(subject, panel, phase, at));
        }
    }
    page.close_table();
}

fn phase_row(page: &mut Page, phase: &PhaseRow, cell: &PhaseCell, lost: &str) {
    let dash = || "-".to_string();
    page.raw("<tr>");
    page.element("td", &phase.phase);
    page.element("td", &cell.rate.map_or(lost.into(), |rate| rate_text(phase.unit, rate.median)));
    let range = cell.rate.filter(|_| cell.trials > 1);
    page.element("td", &range.map_or_else(dash, |rate| range_number(phase.unit, rate)));
    let ran = !phase.is_derived;
    let elapsed = cell.elapsed_s.filter(|_| ran);
    page.element("td", &elapsed.map_or_else(dash, |s| format!("{} s", significant(s.median))));
    let share = cell.cpu_share.filter(|_| ran);
    page.element("td", &share.map_or_else(dash, |s| format!("{:.0} %", 100.0 * s.median)));
    let skew = cell.skew_ns.filter(|skew| ran && skew.high > 0.0);
    page.element("td", &skew.map_or_else(dash, |skew| duration_text(skew.median)));
    page.element("td class=\"text\"", &counted(cell));
    page.element("td class=\"text\"", &doubts(cell));
    page.raw("</tr>\n");
}

fn counted(cell: &PhaseCell) -> String {
    let texts = cell.values.iter().map(|(name, value)| value_text(name, *value));
    texts.collect::<Vec<_>>().join(", ")
}

/// `disk 1.2 MB`, `inflation factor 67`: the unit is the name's last word.
fn value_text(name: &str, value: f64) -> String {
    let words = name.replace('_', " ");
    match words.rsplit_once(' ') {
        Some((what, "ns")) => format!("{what} {}", duration_text(value)),
        Some((what, "bytes")) => format!("{what} {} MB", significant(value / 1e6)),
        Some((what, "s")) => format!("{what} {} s", significant(value)),
        Some((what, "share")) => format!("{what} {} %", significant(100.0 * value)),
        _ => format!("{words} {}", significant(value)),
    }
}

fn doubts(cell: &PhaseCell) -> String {
    let all = cell.trials + cell.failed;
    let flags = cell.flags.iter().map(|(kind, count)| format!("{kind} {count} of {}", cell.trials));
    let reason = cell.failure.as_deref().unwrap_or("no reason kept");
    let failed = (cell.failed > 0)
        .then(|| format!("no result in {} of {all} trials: {reason}", cell.failed));
    flags.chain(failed).collect::<Vec<_>>().join("; ")
}

fn operations(page: &mut Page, subject: &Subject, row: &Row) {
    if row.ops.is_empty() {
        return;
    }
    page.element("h3", "Operations within the phases, service time");
    let mut head = vec!["operation".to_string(), "laps".to_string()];
    head.extend(SHOWN.map(quantile_name));
    head.extend(["largest".to_string(), "worst second".to_string()]);
    page.open_table(&head.iter().map(String::as_str).collect::<Vec<_>>());
    for op in &row.ops {
        operation(page, subject, row, op);
    }
    page.close_table();
    page.element(
        "p class=\"muted\"",
        "- : fewer than ten slow episodes over three trials; the value is not shown. The worst \
         second is the full second with the fewest operations of all trials, beside the median \
         second of its trial.",
    );
}

fn operation(page: &mut Page, subject: &Subject, row: &Row, op: &OpSummary) {
    page.raw("<tr>");
    page.element("td", &op.op);
    page.element("td", &grouped(op.count as i64));
    for q in SHOWN {
        page.element("td", &quantile_text(Some(op), q));
    }
    page.element("td", &duration_text(op.max_ns as f64));
    page.element("td", &worst_second(subject, row, &op.op).unwrap_or_else(|| "-".into()));
    page.raw("</tr>\n");
}

/// `1,203 of 29,400, largest 41 ms`: of all full seconds the one with the fewest operations.
fn worst_second(subject: &Subject, row: &Row, op: &str) -> Option<String> {
    let records: Vec<&OpRecord> = subject
        .finished(&row.cell)
        .flat_map(|trial| &trial.ops)
        .filter(|record| record.op == op)
        .collect();
    let full = |record: &OpRecord| -> Vec<IntervalRow> {
        let seconds = record.intervals.len().saturating_sub(1);
        record.intervals.iter().take(seconds).copied().collect()
    };
    let seconds = records.iter().map(|record| full(record)).filter(|s| s.len() >= SECONDS_MIN);
    let worst = seconds.filter_map(|seconds| {
        let least = *seconds.iter().min_by_key(|second| second.count)?;
        let mut counts: Vec<u64> = seconds.iter().map(|second| second.count).collect();
        counts.sort_unstable();
        Some((least, counts[counts.len() / 2]))
    });
    let (least, usual) = worst.min_by_key(|(least, _)| least.count)?;
    Some(format!(
        "{} of {}, largest {}",
        grouped(least.count as i64),
        grouped(usual as i64),
        duration_text(least.service_max_ns as f64)
    ))
}

pub fn operations_of<'r>(row: &'r Row, phase: &str) -> Vec<&'r OpSummary> {
    row.ops.iter().filter(|op| belongs_to(&op.op, phase)).collect()
}
