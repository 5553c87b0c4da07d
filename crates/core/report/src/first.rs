//! The first screen: the answer, where another quantile turns it, bars, doubts with their cures, what next.

use std::collections::BTreeSet;

use pickfs_analysis::wording::unique;
use pickfs_record::{
    finding::{AnswerEnd, Findings, Panel, Row, Spread},
    plan::{Metric, Statistic},
    quantity::significant,
    trial::SUSTAINED,
    typed::{program, quoted},
};

use crate::{
    Screen, Subject, choices,
    document::{Cell, Column, Kind, Node, Role, RowKind, Table, Text, terminal, under_one_name},
    factors, hosts, notes,
    ranking::{self, lost_word, value_cell, verdict_cell},
    run::{answers, next_row},
    stalls,
    subject::{counted, is_floor, is_mixed, summary},
    trust,
    wording::{metric_name, op_name, statistic_name, survives_text},
};

pub const LINES_MAX: usize = 24;
/// Columns from which on the lines are counted.
const COLUMNS: usize = 80;
const BAR: f64 = 12.0;
const HELD: &str = "held";
/// Operations from which on a table says more than bars.
const OPERATIONS: usize = 3;
const FAILURES_MAX: usize = 2;
/// Candidates that have a column of their own in a table of answers.
const CANDIDATES_MAX: usize = 4;

#[derive(Debug, Clone, Copy)]
struct Much {
    answers: usize,
    rows: usize,
    others: usize,
    doubts: usize,
}

const MUCH: [Much; 7] = [
    Much { answers: 3, rows: 8, others: 2, doubts: 3 },
    Much { answers: 3, rows: 6, others: 1, doubts: 3 },
    Much { answers: 2, rows: 6, others: 0, doubts: 3 },
    Much { answers: 2, rows: 4, others: 0, doubts: 2 },
    Much { answers: 1, rows: 4, others: 0, doubts: 2 },
    Much { answers: 1, rows: 3, others: 0, doubts: 1 },
    Much { answers: 1, rows: 2, others: 0, doubts: 0 },
];

/// As much as fits its lines.
pub fn first_screen(subject: &Subject, screen: &Screen) -> String {
    let columns = screen.columns.max(30);
    let write = |nodes: &[Node]| terminal::open(nodes, columns, screen.colour);
    let texts = MUCH.iter().map(|much| write(&nodes(subject, screen, *much)));
    let mut texts = texts.collect::<Vec<_>>().into_iter();
    let last = texts.next_back().unwrap_or_default();
    let fits = |text: &String| columns < COLUMNS || text.lines().count() <= LINES_MAX;
    let text = texts.find(fits).unwrap_or(last);
    match trust::nodes(subject) {
        Some(trust) => format!("{text}\n{}", write(&[trust])),
        None => text,
    }
}

fn nodes(subject: &Subject, screen: &Screen, much: Much) -> Vec<Node> {
    let findings = subject.findings;
    let panel = lead_panel(findings);
    // What a table of answers says again.
    let is_tabled = panel.is_some_and(|panel| {
        let asked = subject.run.plan.design.primary.iter().map(|metric| &metric.op);
        let asked = asked.collect::<BTreeSet<_>>().len();
        asked > OPERATIONS && counted(panel).len() <= CANDIDATES_MAX
    });
    let mut nodes = answers(subject, if is_tabled { 1 } else { much.answers });
    if findings.endings.is_empty() {
        nodes.push(Node::Paragraph(subject.run.plan.question.as_str().into()));
    }
    nodes.extend(match (is_tabled, panel) {
        (true, _) => choices::table(subject, much.rows).map(Node::Table).into_iter().collect(),
        (false, Some(panel)) => bars(subject, panel, screen.columns.max(30), much),
        (false, None) => Vec::new(),
    });
    let mut rows: Vec<(String, Text)> = Vec::new();
    if much.others > 0 {
        rows.extend(factors::lines(subject));
    }
    let slow = stalls::words::headlines(subject).into_iter().take(much.doubts);
    let slow = slow.map(|text| Role::Winner.leads(text));
    let says_more = format!(" {} explain RUN says more.", program());
    rows.extend(under_one_name("slow", slow));
    let told = rows.last_mut().filter(|_| much.doubts > 0 && !subject.stalls.is_empty());
    told.into_iter().for_each(|(_, text)| *text = std::mem::take(text).and(&*says_more));
    rows.extend(failures(findings));
    for (what, cure) in notes::in_words(subject).iter().take(much.doubts) {
        let colon = if cure.is_empty() { "" } else { ": " };
        rows.push(("doubt".into(), Role::NoAnswer.leads(format!("{what}{colon}{cure}"))));
    }
    nodes.extend((!rows.is_empty()).then_some(Node::Facts(rows)));
    nodes.push(Node::Facts(foot(subject, screen)));
    nodes
}

/// A line for each of the first rows with a trial that gave no result: a row without a figure says why.
fn failures(findings: &Findings) -> Vec<(String, Text)> {
    let failed = findings.panels.iter().flat_map(|panel| &panel.rows).filter(|row| row.failed > 0);
    let mut lines: Vec<String> = unique(failed.map(|row| {
        let reason = row.failure.as_deref().unwrap_or("no reason kept");
        let all = row.trials + row.failed;
        let text = format!("{}: {} of {all} trials: {reason}", row.label, row.failed);
        text.chars().take(140).collect()
    }));
    let more = lines.split_off(lines.len().min(FAILURES_MAX)).len();
    let told = lines.into_iter().chain((more > 0).then(|| format!("{more} more")));
    told.map(|line| ("failed".into(), Role::NoAnswer.leads(line))).collect()
}

pub(crate) fn lead_panel(findings: &Findings) -> Option<&Panel> {
    let title = findings.endings.first().map(|ending| ending.panel.as_str());
    let mut panels = findings.panels.iter();
    panels.find(|panel| Some(panel.title.as_str()) == title).or_else(|| findings.panels.last())
}

/// The rows of a panel with their values as bars; under them the values of other panels.
fn bars(subject: &Subject, panel: &Panel, columns: usize, much: Much) -> Vec<Node> {
    let metric = &subject.headline(panel);
    let counted = counted(panel);
    let is_shown = |row: &&Row| !is_floor(row) || counted.iter().any(|one| one.cell == row.cell);
    let rows: Vec<_> = ranking::ranked(subject, panel).into_iter().filter(is_shown).collect();
    let sustains = metric.op != SUSTAINED && rows.iter().any(|row| row.sustained.is_some());
    // Where all held the rate, the title says so once.
    let all_held = sustains && !rows.iter().any(|row| ranking::misses_its_rate(row));
    let parts = parts(subject, panel, metric, &rows, columns);
    let is_said = |(column, _): &Part| !all_held || column.head.words() != HELD;
    let (columns, cells): (Vec<_>, Vec<_>) = parts.into_iter().filter(is_said).unzip();
    let mut table = Table { columns, ..Table::default() };
    let mut ends = subject.findings.endings.iter();
    let is_won = ends.any(|e| e.panel == panel.title && e.end == AnswerEnd::Winner);
    for (index, row) in rows.iter().take(much.rows).enumerate() {
        let kind = if index == 0 && is_won { RowKind::Best } else { RowKind::Plain };
        table.row_of(kind, cells.iter().map(|cell| cell(row)));
    }
    let more = rows.len().saturating_sub(much.rows);
    table.notes.extend((more > 0).then(|| format!("and {more} more").into()));
    let others = subject.findings.panels.iter().filter(|other| other.title != panel.title);
    let others = others.take(much.others).filter_map(|other| values(subject, other));
    table.notes.extend(others.map(Text::from));
    let title = title(panel, metric, if all_held { "held" } else { "asked" });
    vec![Node::Heading(2, title.into()), Node::Table(table)]
}

type Part<'p> = (Column, Box<dyn Fn(&Row) -> Cell + 'p>);

/// Each column with what it says of a row.
fn parts<'p>(
    subject: &'p Subject,
    panel: &'p Panel,
    metric: &'p Metric,
    rows: &[&Row],
    columns: usize,
) -> Vec<Part<'p>> {
    let value = move |row: &Row| value_cell(subject, panel, row, metric);
    let longest = rows.iter().filter_map(|row| Some(value(row)?.0)).fold(0.0, f64::max);
    let service = ranking::service_quantile(metric);
    let bar = if service.is_some() { BAR - 4.0 } else { BAR };
    let head = match metric.statistic {
        Statistic::Quantile(_) | Statistic::Rate => statistic_name(metric.statistic),
        _ => ranking::number_head(metric),
    };
    let per_s = |rate: Option<Spread>| {
        rate.map_or_else(String::new, |rate| format!("{}/s", significant(rate.median)))
    };
    let mut parts: Vec<Part<'p>> = Vec::new();
    let mut part = |head: &str, kind, priority, cell: Box<dyn Fn(&Row) -> Cell + 'p>| {
        parts.push((Column { priority, ..Column::new(head, kind) }, cell));
    };
    let label = move |row: &Row| short(&row.label, columns / 3);
    let slot = |row: &Row| Role::Candidate(subject.slot(&row.label));
    part("", Kind::Word, 0, Box::new(move |row| slot(row).of(label(row)).into()));
    let text = move |row: &Row| match value(row) {
        Some((_, text, _)) => text,
        None => lost_word(subject, row, &metric.op),
    };
    part(&head, Kind::Number, 0, Box::new(move |row| text(row).into()));
    let range = move |row: &Row| value(row).and_then(|found| found.2).unwrap_or_default();
    part("range", Kind::Number, 2, Box::new(move |row| range(row).into()));
    if let Some(q) = service {
        let text = move |row: &Row| ranking::service_text(row, metric, q);
        part("service", Kind::Number, 2, Box::new(move |row| text(row).into()));
    }
    let length = move |row: &Row| match value(row) {
        Some((value, ..)) if longest > 0.0 => (bar * value / longest).ceil().clamp(1.0, bar),
        _ => 0.0,
    };
    part("", Kind::Word, 4, Box::new(move |row| "#".repeat(length(row) as usize).into()));
    if metric.statistic != Statistic::Rate && rows.iter().any(|row| row.rate.is_some()) {
        part(HELD, Kind::Number, 1, Box::new(move |row| per_s(row.rate).into()));
    }
    if metric.op != SUSTAINED && rows.iter().any(|row| row.sustained.is_some()) {
        part("sustains", Kind::Number, 1, Box::new(move |row| per_s(row.sustained).into()));
    }
    if matches!(metric.statistic, Statistic::Quantile(q) if q < 0.99) {
        let tail = |row: &Row| ranking::quantile_text(summary(row, metric), 0.99);
        part("p99", Kind::Number, 5, Box::new(move |row| tail(row).into()));
    }
    if rows.len() > 1 {
        let against = format!("against {}", ranking::reference(panel));
        part(&against, Kind::Word, 3, Box::new(|row| verdict_cell(panel, row, metric).0.into()));
    }
    if is_mixed(panel) {
        part("survives", Kind::Word, 1, Box::new(|row| survives_text(row.durability).into()));
    }
    parts
}

/// `append until durable, sync=fdatasync, 1,000/s asked`.
fn title(panel: &Panel, metric: &Metric, how: &str) -> String {
    let asked = panel.rows.iter().find_map(|row| row.rate_asked);
    let parts = [
        Some(op_name(&metric.op).to_owned()),
        Some(panel.title.clone()).filter(|title| !title.is_empty()),
        asked.map(|rate| format!("{}/s {how}", significant(rate))),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn short(label: &str, most: usize) -> String {
    match label.chars().count() > most {
        true => label.chars().take(most - 2).chain("..".chars()).collect(),
        false => label.into(),
    }
}

/// The values of a panel in a line.
fn values(subject: &Subject, panel: &Panel) -> Option<String> {
    let metric = subject.headline(panel);
    let rows = ranking::ranked(subject, panel).into_iter();
    let each = rows.filter_map(|row| {
        let (_, value, _) = value_cell(subject, panel, row, &metric)?;
        Some(format!("{} {value}", ranking::label(row)))
    });
    let each = each.collect::<Vec<_>>().join(", ");
    let name = metric_name(&metric);
    let at = if panel.title.is_empty() { "" } else { &format!("{}, ", panel.title) };
    (!each.is_empty()).then(|| format!("{at}{name}: {each}"))
}

fn foot(subject: &Subject, screen: &Screen) -> Vec<(String, Text)> {
    let mut rows = Vec::new();
    let first = subject.findings.endings.first();
    let won = first.filter(|ending| ending.end == AnswerEnd::Winner);
    if let Some(ending) = won.filter(|ending| !ending.commands.is_empty()) {
        rows.push(("make".into(), Role::Code.of(ending.commands.join("; "))));
    }
    rows.extend(hosts::line(subject.run).map(|text| ("hosts".into(), text.into())));
    rows.extend(screen.next.map(next_row));
    rows.extend(screen.report.map(|report| ("report".into(), report.into())));
    let run = quoted(screen.run.unwrap_or("RUN")).to_string();
    if subject.findings.panels.iter().any(|panel| !panel.phases.is_empty()) {
        rows.push(("tables".into(), format!("{} show {run} --phases", program()).into()));
    }
    rows.push(("all of it".into(), format!("{} show {run} --doubts", program()).into()));
    rows
}
