//! What is known of a program beside its times: its figures side by side, and its calls one by one.
//!
//! Under the table of a panel whose trials have figures; nothing elsewhere. None of it is claimed.

use pickfs_analysis::wording::unique;
use pickfs_record::{
    finding::{OpSummary, Panel, Row},
    quantity::{bytes_text, duration_text, grouped, significant},
};

use crate::{
    Subject,
    document::{Column, Kind, Node, Table},
    ranking::{self, numbers, quantile_text},
    subject::figure,
    wording::is_program_time,
};

const CALLS: usize = 8;

/// Figures and calls; empty where there are none.
pub(crate) fn beside(subject: &Subject, panel: &Panel) -> Vec<Node> {
    if panel.rows.iter().all(|row| row.figures.is_empty()) {
        return Vec::new();
    }
    let rows = ranking::ranked(subject, panel);
    let tables = [figures(subject, panel, &rows), calls(&rows)];
    let tables = tables.into_iter().filter(|table| !table.rows.is_empty());
    let note = Node::Note("Beside it, and not claimed:".into());
    [note].into_iter().chain(tables.map(Node::Table)).collect()
}

/// A line for each figure that stands in no column, medians over trials.
fn figures(subject: &Subject, panel: &Panel, rows: &[&Row]) -> Table {
    let headline = subject.headline(panel);
    let shown = numbers(panel, &headline, &ranking::compared(subject, panel));
    let mut names = unique(rows.iter().flat_map(|row| &row.figures).map(|(name, _)| name));
    names.retain(|name| shown.iter().all(|metric| metric.op != **name));
    let mut table = Table::new([("median over trials", Kind::Word)]);
    table.columns.extend(rows.iter().map(|row| Column::new(&row.label, Kind::Number)));
    let line = |name: &str| {
        let is_size = name.contains("bytes") && !name.contains("per second");
        let value = |row: &&Row| {
            let value = figure(row, name)?.median;
            Some(if is_size { bytes_text(value as u64) } else { significant(value) })
        };
        let mut line = vec![name.to_string()];
        line.extend(rows.iter().map(|row| value(row).unwrap_or_else(|| "-".into())));
        line
    };
    names.into_iter().for_each(|name| table.row(line(name)));
    table
}

/// A line for each call and row.
fn calls(rows: &[&Row]) -> Table {
    let of = |row: &Row| -> Vec<OpSummary> {
        row.ops.iter().filter(|op| !is_program_time(&op.op)).cloned().collect()
    };
    let mut totals: Vec<(String, f64)> = Vec::new();
    for op in rows.iter().flat_map(|row| of(row)) {
        let total_ns = op.count as f64 * op.mean_ns.median;
        match totals.iter_mut().find(|(name, _)| *name == op.op) {
            Some((_, sum)) => *sum += total_ns,
            None => totals.push((op.op, total_ns)),
        }
    }
    totals.sort_by(|a, b| b.1.total_cmp(&a.1));
    let heads = ["a trial", "p50", "p99", "mean", "largest"];
    let mut table = Table::new([("calls", Kind::Word), ("", Kind::Word)]);
    table.columns.extend(heads.map(|head| Column::new(head, Kind::Number)));
    for (name, _) in totals.iter().take(CALLS) {
        for row in rows {
            let found = of(row).into_iter().find(|op| op.op == *name);
            found.into_iter().for_each(|op| table.row(call_line(row, &op)));
        }
    }
    table
}

fn call_line(row: &Row, op: &OpSummary) -> Vec<String> {
    let each = op.count as f64 / f64::from(row.trials.max(1));
    vec![
        op.op.clone(),
        row.label.clone(),
        grouped(each.round() as i64),
        quantile_text(Some(op), 0.5),
        quantile_text(Some(op), 0.99),
        duration_text(op.mean_ns.median),
        duration_text(op.max_ns as f64),
    ]
}
