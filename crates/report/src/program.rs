//! None of it is claimed.

use pickfs_model::{
    finding::{OpSummary, Panel, Row},
    quantity::{bytes_text, duration_text, grouped, significant},
};

use crate::{
    Subject,
    ranking::{self, numbers, quantile_text},
    subject::figure,
    wording::is_program_time,
};

const CALLS: usize = 8;

#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) words: usize,
    pub(crate) head: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

pub(crate) fn beside(subject: &Subject, panel: &Panel) -> Vec<Facts> {
    if panel.rows.iter().all(|row| row.figures.is_empty()) {
        return Vec::new();
    }
    let rows = ranking::ranked(subject, panel);
    let tables = [figures(subject, panel, &rows), calls(&rows)];
    tables.into_iter().filter(|facts| !facts.rows.is_empty()).collect()
}

fn figures(subject: &Subject, panel: &Panel, rows: &[&Row]) -> Facts {
    let headline = subject.headline(panel);
    let shown = numbers(panel, &headline, &ranking::compared(subject, panel));
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in rows.iter().flat_map(|row| &row.figures) {
        if !names.contains(&name.as_str()) && shown.iter().all(|metric| metric.op != *name) {
            names.push(name);
        }
    }
    let mut head = vec!["median over trials".to_string()];
    head.extend(rows.iter().map(|row| row.label.clone()));
    let line = |name: &str| {
        let value = |row: &&Row| figure(row, name).map(|value| value_text(name, value.median));
        let mut line = vec![name.to_string()];
        line.extend(rows.iter().map(|row| value(row).unwrap_or_else(|| "-".into())));
        line
    };
    Facts { words: 1, head, rows: names.into_iter().map(line).collect() }
}

fn value_text(name: &str, value: f64) -> String {
    let is_size = name.contains("bytes") && !name.contains("per second");
    if is_size { bytes_text(value as u64) } else { significant(value) }
}

fn calls(rows: &[&Row]) -> Facts {
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
    let mut lines = Vec::new();
    for (name, _) in totals.iter().take(CALLS) {
        for row in rows {
            let found = of(row).into_iter().find(|op| op.op == *name);
            lines.extend(found.map(|op| call_line(row, &op)));
        }
    }
    let head = ["calls", "", "a trial", "p50", "p99", "mean", "largest"].map(String::from);
    Facts { words: 2, head: head.to_vec(), rows: lines }
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
