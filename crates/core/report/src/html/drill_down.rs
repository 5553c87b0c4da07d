use std::collections::BTreeMap;

use pickfs_record::{
    Durability, TrialRecord,
    finding::{OpSummary, Panel, Row},
    plan::Metric,
    quantity::{duration_text, grouped, significant},
    record::Operation,
    trial::FINAL_SYNC_KEY,
};

use crate::{
    Subject,
    chart::trial_lines,
    document::{Column, Fold, Kind, Node, Table, facts, pair},
    notes,
    phases::{self, is_phased},
    ranking::value_cell,
    stalls,
    subject::trial_value,
    wording::{
        metric_name, metric_value, op_name, outcome_text, quantile_name, range_text, view_name,
    },
};

const SPIKES_MAX: usize = 8;

pub(crate) fn section(subject: &Subject) -> Node {
    let mut nodes = Vec::new();
    for panel in &subject.findings.panels {
        nodes.extend(
            (!panel.title.is_empty()).then(|| Node::Heading(3, panel.title.as_str().into())),
        );
        nodes.extend(panel.rows.iter().map(|row| cell(subject, panel, row)));
    }
    Node::Section("cells", "Every cell".into(), nodes)
}

fn cell(subject: &Subject, panel: &Panel, row: &Row) -> Node {
    let metric = subject.headline(panel);
    let value = value_cell(subject, panel, row, &metric);
    let value = value.map_or_else(|| "no value".into(), |(_, value, _)| value);
    let survives = match row.durability {
        Durability::Unknown => String::new(),
        known => format!("{known}, "),
    };
    let mut nodes = vec![Node::Note(format!("{survives}on {}.", row.backing).into())];
    nodes.extend(notes::all_words(row).into_iter().map(|note| Node::Paragraph(note.into())));
    nodes.extend(match is_phased(panel) {
        true => phases::details::nodes(subject, panel, row),
        false => loop_figures(subject, row, &metric),
    });
    nodes.extend(stalls::ledger::slowest(subject, &row.cell));
    nodes.push(Node::Table(trials(subject, row, &metric)));
    nodes.extend(spikes(subject, row));
    let trials = subject.trials(&row.cell);
    nodes.push(pair([steps(trials), environment(trials)].into_iter().flatten()));
    let id = format!("cell-{}", row.cell.0);
    let title = format!("{}: {} {value}", row.label, metric_name(&metric));
    Node::Fold(Fold { id, ..Fold::closed(title, nodes) })
}

fn loop_figures(subject: &Subject, row: &Row, metric: &Metric) -> Vec<Node> {
    let mut columns = Vec::new();
    for op in row.ops.iter().filter(|op| op.count > 0) {
        columns.push(quantiles(op));
        let first = row.ops.iter().find(|known| known.op == op.op);
        let is_first = first.is_none_or(|first| first.view == op.view);
        let beside = is_first.then(|| stalls::ledger::beside(subject, &row.cell, &op.op));
        columns.extend(beside.flatten());
    }
    let counted = counts(row).map(|text| Node::Paragraph(text.into()));
    let chart = trial_lines(subject, row, metric);
    let chart = chart.map(|scene| Node::Chart(String::new(), Box::new(scene)));
    [pair(columns)].into_iter().chain(counted).chain(chart).collect()
}

fn quantiles(op: &OpSummary) -> Vec<Node> {
    let heading = format!("{}, {}", op_name(&op.op), view_name(op.view));
    let text = format!(
        "{} laps in {} s; mean {}, standard deviation {}, smallest {}, largest {}.",
        grouped(op.count as i64),
        significant(op.measured_s),
        duration_text(op.mean_ns.median),
        duration_text(op.sd_ns.median),
        duration_text(op.min_ns as f64),
        duration_text(op.max_ns as f64)
    );
    let heads = ["share", "median over trials", "range over trials", "slow episodes"];
    let mut table = Table::new(heads.map(|head| (head, Kind::Number)));
    let upper = op.quantiles.iter().filter(|row| row.q >= 0.5);
    // Of those that too few episodes carry the first says so for all beyond it.
    let carried = upper.clone().take_while(|row| row.carried).count();
    for row in upper.take(carried + 1) {
        let carried = |text: String| if row.carried { text } else { "-".into() };
        table.row([
            quantile_name(row.q),
            carried(duration_text(row.value_ns.median)),
            carried(range_text(row.value_ns)),
            grouped(row.episodes as i64),
        ]);
    }
    vec![Node::Heading(3, heading.into()), Node::Paragraph(text.into()), Node::Table(table)]
}

fn counts(row: &Row) -> Option<String> {
    let sums =
        row.counts.iter().filter(|(name, _)| !name.ends_with("_per_s") && *name != FINAL_SYNC_KEY);
    let texts: Vec<_> = sums
        .map(|(name, value)| format!("{} {}", name.replace('_', " "), significant(*value)))
        .collect();
    (!texts.is_empty()).then(|| format!("Counted over all trials: {}.", texts.join(", ")))
}

fn trials(subject: &Subject, row: &Row, metric: &Metric) -> Table {
    let headline = metric_name(metric);
    let heads = ["trial", "block", &headline, "raw p50", "late: driver", "late: queue"];
    let mut table = Table::new(heads.map(|head| (head, Kind::Number)));
    table.columns.extend(["outcome", "doubts"].map(|head| Column::new(head, Kind::Text)));
    for trial in subject.trials(&row.cell) {
        let value = phases::details::trial_headline(trial, metric);
        let own = || Some(metric_value(metric, trial_value(trial, metric)?));
        let raw = trial.raw.as_ref().map(|raw| duration_text(raw.p50_ns as f64));
        let late = trial.load.as_ref().map_or((0, 0), |load| (load.late_driver, load.late_queue));
        let doubts: Vec<_> =
            trial.flags.iter().map(|flag| &flag.text).chain(&trial.notes).cloned().collect();
        table.row([
            trial.number.to_string(),
            trial.block.to_string(),
            value.or_else(own).unwrap_or_else(|| "-".into()),
            raw.unwrap_or_else(|| "-".into()),
            grouped(late.0 as i64),
            grouped(late.1 as i64),
            outcome_text(&trial.outcome),
            doubts.join("; "),
        ]);
    }
    table
}

fn spikes(subject: &Subject, row: &Row) -> Vec<Node> {
    let mut worst: Vec<(&TrialRecord, &str, &Operation)> = subject
        .trials(&row.cell)
        .iter()
        .flat_map(|trial| trial.ops.iter().map(move |op| (*trial, op)))
        .flat_map(|(trial, op)| op.spikes.iter().map(move |s| (trial, op.op.as_str(), s)))
        .collect();
    worst.sort_by_key(|(_, _, s)| std::cmp::Reverse(s.end_ns.saturating_sub(s.start_ns)));
    worst.truncate(SPIKES_MAX);
    let heads = ["operation", "trial", "after", "lasted", "began late by", "offset"];
    let mut table = Table::new(heads.map(|head| (head, Kind::Number)));
    for (trial, op, spike) in worst {
        let began = trial.load.as_ref().map_or(0, |load| load.began_ns);
        let after_s = spike.start_ns.saturating_sub(began) as f64 / 1e9;
        table.row([
            op_name(op).to_string(),
            trial.number.to_string(),
            format!("{after_s:.3} s"),
            duration_text(spike.end_ns.saturating_sub(spike.start_ns) as f64),
            duration_text(spike.start_ns.saturating_sub(spike.due_ns) as f64),
            grouped(spike.offset_bytes as i64),
        ]);
    }
    match table.rows.is_empty() {
        true => Vec::new(),
        false => vec![Node::Heading(3, "Slowest calls".into()), Node::Table(table)],
    }
}

fn steps(trials: &[&TrialRecord]) -> Option<Vec<Node>> {
    let trial = trials.iter().find(|trial| !trial.steps.is_empty())?;
    let lines = trial.steps.iter().map(|record| {
        let failed = if record.succeeded { "" } else { "   # failed" };
        let output = record.output.trim();
        let output = match record.succeeded || output.is_empty() {
            true => String::new(),
            false => format!("\n# {}", output.replace('\n', "\n# ")),
        };
        format!("# {}\n{}{failed}{output}", record.step.purpose, record.step.action)
    });
    let heading = format!("Exact commands (trial {})", trial.number);
    let lines = Node::Code(lines.collect::<Vec<_>>().join("\n"));
    Some(vec![Node::Heading(3, heading.into()), lines])
}

fn environment(trials: &[&TrialRecord]) -> Option<Vec<Node>> {
    let mut values: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (key, value) in trials.iter().flat_map(|trial| &trial.environment.0) {
        let known = values.entry(key).or_default();
        if !known.contains(&value.as_str()) && known.len() < 4 {
            known.push(value);
        }
    }
    let is_told = !values.is_empty();
    let rows = facts(values.into_iter().map(|(key, values)| (key, values.join(" | "))));
    is_told.then_some(vec![Node::Heading(3, "As the kernel reported it".into()), rows])
}
