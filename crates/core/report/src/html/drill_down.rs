use std::collections::BTreeMap;

use pickfs_record::{
    Durability, TrialRecord,
    finding::{OpSummary, Panel, PhaseCell, PhaseRow, Row},
    plan::{Metric, Statistic},
    quantity::{duration_text, grouped, significant},
    record::{OpRecord, Operation, Second},
    trial::{FINAL_SYNC_KEY, SUSTAINED_KEYS},
};

use crate::{
    Subject,
    chart::trial_lines,
    document::{Column, Fold, Kind, Node, Table, facts, pair},
    notes,
    operations::lost_text,
    ranking::{lost_word, quantile_text, value_cell},
    stalls,
    subject::{trial_value, unit},
    wording::{
        metric_name, op_name, outcome_text, quantile_name, range_number, range_text, value_text,
        view_name,
    },
};

const SPIKES_MAX: usize = 8;
/// Operations that have a table of their own.
const OPENED: usize = 3;
const SHOWN: [f64; 6] = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999];
const SECONDS_MIN: usize = 3;

pub(crate) fn section(subject: &Subject) -> Node {
    let mut nodes = Vec::new();
    for panel in &subject.findings.panels {
        nodes.extend(
            (!panel.title.is_empty()).then(|| Node::Heading(3, panel.title.as_str().into())),
        );
        nodes.extend(panel.rows.iter().map(|row| cell(subject, panel, row)));
    }
    Node::Section("cells", "Details".into(), nodes)
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
    nodes.extend(once(subject, panel, row));
    nodes.extend(match row.ops.len() > OPENED {
        true => operations(subject, row),
        false => one_by_one(subject, row, &metric),
    });
    nodes.extend(stalls::ledger::slowest(subject, &row.cell));
    nodes.push(Node::Table(trials(subject, panel, row, &metric)));
    nodes.extend(spikes(subject, row));
    let trials = subject.trials(&row.cell);
    nodes.push(pair([steps(trials), environment(trials)].into_iter().flatten()));
    let id = format!("cell-{}", row.cell.0);
    let title = format!("{}: {} {value}", row.label, metric_name(&metric));
    Node::Fold(Fold { id, ..Fold::closed(title, nodes) })
}

/// Each operation with all its quantiles, and its worst seconds as a picture.
fn one_by_one(subject: &Subject, row: &Row, metric: &Metric) -> Vec<Node> {
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

/// What is done once in a trial.
fn once(subject: &Subject, panel: &Panel, row: &Row) -> Vec<Node> {
    let at = panel.rows.iter().position(|other| other.cell == row.cell);
    let found = panel.phases.iter().filter_map(|phase| Some((phase, phase.cells.get(at?)?)));
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
    for (phase, cell) in found {
        table.row(once_cells(phase, cell, lost_word(subject, row, &phase.phase)));
    }
    match table.rows.is_empty() {
        true => Vec::new(),
        false => vec![Node::Heading(3, "Phases".into()), Node::Table(table)],
    }
}

fn once_cells(phase: &PhaseRow, cell: &PhaseCell, lost: String) -> [String; 8] {
    let dash = || "-".to_string();
    let metric = Metric::new(&phase.phase, Statistic::Rate);
    let ran = !phase.is_derived;
    let range = cell.rate.filter(|_| cell.trials > 1);
    let elapsed = cell.elapsed_s.filter(|_| ran);
    let share = cell.cpu_share.filter(|_| ran);
    let skew = cell.skew_ns.filter(|skew| ran && skew.high > 0.0);
    [
        phase.phase.clone(),
        cell.rate.map_or(lost, |rate| value_text(Some(phase.unit), &metric, rate.median)),
        range.map_or_else(dash, |rate| range_number(phase.unit, rate)),
        elapsed.map_or_else(dash, |s| format!("{} s", significant(s.median))),
        share.map_or_else(dash, |s| format!("{:.0} %", 100.0 * s.median)),
        skew.map_or_else(dash, |skew| duration_text(skew.median)),
        counted(cell),
        doubts(cell),
    ]
}

fn counted(cell: &PhaseCell) -> String {
    let texts = cell.values.iter().map(|(name, value)| counted_text(name, *value));
    texts.collect::<Vec<_>>().join(", ")
}

/// `disk 1.2 MB`, `inflation factor 67`: the unit is the name's last word.
fn counted_text(name: &str, value: f64) -> String {
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
    let flags = cell.flags.iter().map(|(kind, count)| format!("{kind} {count} of {}", cell.trials));
    flags.chain(lost_text(cell)).collect::<Vec<_>>().join("; ")
}

fn operations(subject: &Subject, row: &Row) -> Vec<Node> {
    let number = |head: &str| Column::new(head, Kind::Number);
    let mut columns = vec![Column::new("operation", Kind::Word), number("operations")];
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
    let heading = "Operations, service time";
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

fn quantiles(op: &OpSummary) -> Vec<Node> {
    let heading = format!("{}, {}", op_name(&op.op), view_name(op.view));
    let text = format!(
        "{} operations in {} s; mean {}, standard deviation {}, smallest {}, largest {}.",
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

/// Times of a trial, which stand elsewhere.
const NO_SUMS: [&str; 2] = [FINAL_SYNC_KEY, SUSTAINED_KEYS[1]];

fn counts(row: &Row) -> Option<String> {
    let is_sum = |name: &str| !name.ends_with("_per_s") && !NO_SUMS.contains(&name);
    let sums = row.counts.iter().filter(|(name, _)| is_sum(name));
    let texts: Vec<_> = sums
        .map(|(name, value)| format!("{} {}", name.replace('_', " "), significant(*value)))
        .collect();
    (!texts.is_empty()).then(|| format!("Counted over all trials: {}.", texts.join(", ")))
}

fn trials(subject: &Subject, panel: &Panel, row: &Row, metric: &Metric) -> Table {
    let headline = metric_name(metric);
    let heads = ["trial", "block", &headline, "raw p50", "late: driver", "late: queue"];
    let mut table = Table::new(heads.map(|head| (head, Kind::Number)));
    table.columns.extend(["outcome", "doubts"].map(|head| Column::new(head, Kind::Text)));
    for trial in subject.trials(&row.cell) {
        let value = trial_value(trial, metric);
        let value = value.map(|value| value_text(unit(panel, metric), metric, value));
        let raw = trial.raw.as_ref().map(|raw| duration_text(raw.p50_ns as f64));
        let late = trial.load.as_ref().map_or((0, 0), |load| (load.late_driver, load.late_queue));
        let doubts: Vec<_> =
            trial.flags.iter().map(|flag| &flag.text).chain(&trial.notes).cloned().collect();
        table.row([
            trial.number.to_string(),
            trial.block.to_string(),
            value.unwrap_or_else(|| "-".into()),
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
