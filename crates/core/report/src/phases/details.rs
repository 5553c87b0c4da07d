use pickfs_record::{
    TrialRecord,
    finding::{Panel, PhaseCell, PhaseRow, Row},
    plan::Metric,
    quantity::{duration_text, grouped, significant},
    record::{OpRecord, Second},
};

use super::{
    footnotes::lost_word,
    words::{range_number, rate_text},
};
use crate::{
    Subject,
    document::{Column, Kind, Node, Table},
    ranking::quantile_text,
    wording::quantile_name,
};

const SHOWN: [f64; 6] = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999];

const SECONDS_MIN: usize = 3;

/// The phases of a row, then its operations.
pub fn nodes(subject: &Subject, panel: &Panel, row: &Row) -> Vec<Node> {
    let at = panel.rows.iter().position(|other| other.cell == row.cell);
    let mut nodes = at.map_or_else(Vec::new, |at| phases(subject, panel, at));
    nodes.extend(operations(subject, row));
    nodes
}

pub fn trial_headline(trial: &TrialRecord, metric: &Metric) -> Option<String> {
    let phase = trial.phase(&metric.op)?;
    phase.is_finished().then(|| rate_text(phase.unit, phase.rate_per_s))
}

fn phases(subject: &Subject, panel: &Panel, at: usize) -> Vec<Node> {
    let mut table = Table::new([
        ("phase", Kind::Word),
        ("rate", Kind::Number),
        ("range", Kind::Number),
        ("slowest lane", Kind::Number),
        ("CPU", Kind::Number),
        ("lanes began within", Kind::Number),
        ("counted", Kind::Text),
        ("doubts", Kind::Text),
    ]);
    for phase in &panel.phases {
        if let Some(cell) = phase.cells.get(at) {
            table.row(phase_cells(phase, cell, lost_word(subject, panel, phase, at)));
        }
    }
    vec![Node::Heading(3, "Phases".into()), Node::Table(table)]
}

fn phase_cells(phase: &PhaseRow, cell: &PhaseCell, lost: &str) -> [String; 8] {
    let dash = || "-".to_string();
    let ran = !phase.is_derived;
    let range = cell.rate.filter(|_| cell.trials > 1);
    let elapsed = cell.elapsed_s.filter(|_| ran);
    let share = cell.cpu_share.filter(|_| ran);
    let skew = cell.skew_ns.filter(|skew| ran && skew.high > 0.0);
    [
        phase.phase.clone(),
        cell.rate.map_or(lost.into(), |rate| rate_text(phase.unit, rate.median)),
        range.map_or_else(dash, |rate| range_number(phase.unit, rate)),
        elapsed.map_or_else(dash, |s| format!("{} s", significant(s.median))),
        share.map_or_else(dash, |s| format!("{:.0} %", 100.0 * s.median)),
        skew.map_or_else(dash, |skew| duration_text(skew.median)),
        counted(cell),
        doubts(cell),
    ]
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

fn operations(subject: &Subject, row: &Row) -> Vec<Node> {
    if row.ops.is_empty() {
        return Vec::new();
    }
    let number = |head: &str| Column::new(head, Kind::Number);
    let mut columns = vec![Column::new("operation", Kind::Word), number("laps")];
    columns.extend(SHOWN.map(|q| number(&quantile_name(q))));
    columns.extend(["largest", "worst second"].map(number));
    let mut table = Table { columns, ..Table::default() };
    for op in &row.ops {
        let mut cells = vec![op.op.clone(), grouped(op.count as i64)];
        cells.extend(SHOWN.map(|q| quantile_text(Some(op), q)));
        cells.push(duration_text(op.max_ns as f64));
        cells.push(worst_second(subject, row, &op.op).unwrap_or_else(|| "-".into()));
        table.row(cells);
    }
    let note = "A dash: fewer than ten slow episodes over three trials; the value is not shown. The worst \
                second is the full second with the fewest operations of all trials, beside the median \
                second of its trial.";
    table.notes.push(note.into());
    let heading = "Operations within the phases, service time";
    vec![Node::Heading(3, heading.into()), Node::Table(table)]
}

/// `1,203 of 29,400, largest 41 ms`: of all full seconds the one with the fewest operations.
fn worst_second(subject: &Subject, row: &Row, op: &str) -> Option<String> {
    let records: Vec<&OpRecord> = subject
        .finished(&row.cell)
        .flat_map(|trial| &trial.ops)
        .filter(|record| record.op == op)
        .collect();
    let full = |record: &OpRecord| -> Vec<Second> {
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
