//! Every table of a panel of phases: rates with their ranges, ratios with their intervals.

use pickfs_analysis::phases::{Kind as TableKind, PhaseTable, tables};
use pickfs_record::{
    WorkUnit,
    finding::{Panel, PhaseCell, PhaseRow, RowRatio},
};

use super::{
    footnotes::{Footnotes, lost_word, marks},
    words::{
        heat_text, interval_text, leaves_out_one, range_number, rate_number, ratio_head,
        ratio_number, row_name, unit_name,
    },
};
use crate::{
    Subject,
    document::{Cell, Column, Fold, Kind, Node, Role, Row, RowKind, Table, Text},
    subject::with_durability,
};

const UNDECIDED: &str = "~ its interval holds 1: no difference at this precision";

/// A heading, how to read the tables, and the tables; the first is open, and those of derived rows.
pub fn nodes(subject: &Subject, panel: &Panel) -> Vec<Node> {
    let title = if panel.title.is_empty() { "All cells" } else { &panel.title };
    let about = format!(
        "Medians over trials with their range. A ratio is the rate of {reference} divided by \
         the candidate's, as the articles print it: above 1, {reference} is faster. It is the \
         geometric mean of the blocks, not the quotient of the medians, with its interval; \
         where that leaves out 1 the ratio is bold.",
        reference = panel.reference
    );
    let heading = Node::Heading(3, with_durability(title, panel).into());
    let fold = |(index, found): (usize, &PhaseTable)| {
        let unit = found.unit.map_or_else(String::new, |unit| format!(", {}", unit_name(unit)));
        Node::Fold(Fold {
            title: format!("{}{unit} ({} rows)", found.title, found.rows.len()),
            is_open: index == 0 || found.kind == TableKind::Derived,
            is_panel: true,
            nodes: vec![Node::Table(table(subject, panel, found))],
            ..Fold::default()
        })
    };
    let found = tables(subject.run, panel);
    let folds = found.iter().enumerate().map(fold);
    let overview = overview(subject, panel, &found).map(Node::Table);
    [heading, Node::Note(about.into())].into_iter().chain(overview).chain(folds).collect()
}

/// The mean of each table; nothing where there are not two of them, or no ratios.
fn overview(subject: &Subject, panel: &Panel, found: &[PhaseTable]) -> Option<Table> {
    let tables: Vec<_> = found.iter().filter(|table| table.kind != TableKind::Derived).collect();
    let ratio = |table: &PhaseTable, at: usize| table.means.get(at).and_then(|mean| mean.ratio);
    let has_ratio = |at: &usize| tables.iter().any(|table| ratio(table, *at).is_some());
    let compared: Vec<usize> = (0..panel.rows.len()).filter(has_ratio).collect();
    let mut columns = columns(subject, panel, &compared);
    columns.retain(|column| !matches!(column.head.role(), Role::Candidate(_)));
    columns[0].head = "mean of each table".into();
    columns.insert(1, Column::new("rows", Kind::Number));
    let mut all = Table { columns, brief: UNDECIDED, ..Table::default() };
    for table in &tables {
        let cells = compared.iter().map(|at| {
            let found = Found { ratio: ratio(table, *at), ..Found::default() };
            ratio_cell(&found, RowKind::Plain)
        });
        let name = Cell::from(&table.title);
        all.row([name, table.rows.len().to_string().into()].into_iter().chain(cells));
    }
    (tables.len() > 1 && !compared.is_empty()).then_some(all)
}

/// One candidate's part of a line.
#[derive(Debug, Clone, Default)]
struct Found {
    rate: String,
    range: String,
    ratio: Option<RowRatio>,
    /// Rows that a mean is taken of, where they are not all.
    over: Option<usize>,
}

/// One line per phase, then GEOMETRIC MEAN and MAX RATIO.
fn table(subject: &Subject, panel: &Panel, table: &PhaseTable) -> Table {
    let mut notes = Footnotes::default();
    let mut lines: Vec<(String, RowKind, Vec<Found>)> = Vec::new();
    for index in &table.rows {
        let phase = &panel.phases[*index];
        let cells = phase.cells.iter().enumerate();
        let marks = marks(&notes.of_row(subject, panel, phase));
        let cells = cells.map(|cell| found(subject, panel, phase, cell)).collect();
        lines.push((format!("{}{marks}", name(panel, table, phase)), RowKind::Plain, cells));
    }
    if table.rows.len() > 1 && table.kind != TableKind::Derived {
        lines.extend(summaries(table));
    }
    let has_ratio = |at: &usize| lines.iter().any(|(_, _, cells)| cells[*at].ratio.is_some());
    let compared: Vec<usize> = (0..panel.rows.len()).filter(has_ratio).collect();
    let rows = lines.iter().map(|(name, kind, cells)| {
        let rates = cells.iter().map(|found| Cell::from(&found.rate).range(&found.range));
        let ratios = compared.iter().map(|at| ratio_cell(&cells[*at], *kind));
        let cells = [Cell::from(name)].into_iter().chain(rates).chain(ratios).collect();
        Row { kind: *kind, cells, note: String::new() }
    });
    let mut texts: Vec<Text> = Vec::new();
    let ratios = lines.iter().flat_map(|(_, _, cells)| cells).filter_map(|found| found.ratio);
    if !compared.is_empty() && ratios.clone().all(|ratio| ratio.interval.is_none()) {
        texts.push("too few blocks for intervals: nothing is called different".into());
    }
    let numbered = notes.texts.iter().enumerate();
    texts.extend(numbered.map(|(index, note)| format!("[{}] {note}", index + 1).into()));
    Table {
        columns: columns(subject, panel, &compared),
        rows: rows.collect(),
        notes: texts,
        brief: UNDECIDED,
        has_ranges: false,
    }
}

fn columns(subject: &Subject, panel: &Panel, compared: &[usize]) -> Vec<Column> {
    let reference = &panel.reference;
    let mut columns = vec![Column::new("", Kind::Word)];
    columns.extend(panel.rows.iter().enumerate().map(|(at, row)| {
        let head = Role::Candidate(subject.slot(&row.label)).of(&row.label);
        let part = (row.label != *reference).then_some(at);
        let priority = u8::from(part.is_some() && compared.contains(&at));
        Column { priority, part, ..Column::new(head, Kind::Number) }
    }));
    columns.extend(compared.iter().map(|at| {
        let (above, below) = ratio_head(reference, &panel.rows[*at].label);
        Column { part: Some(*at), ..Column::new(above, Kind::Number).under(below) }
    }));
    columns
}

fn name(panel: &Panel, table: &PhaseTable, phase: &PhaseRow) -> String {
    // Where a table holds rows of several states each says its own.
    let own_heat = table.kind != TableKind::Derived && {
        let mut rows = table.rows.iter();
        rows.any(|row| panel.phases[*row].heat != phase.heat)
    };
    let heat = if own_heat { heat_text(phase.heat) } else { "" };
    format!("{}{heat}", row_name(phase, table.unit))
}

fn found(
    subject: &Subject,
    panel: &Panel,
    phase: &PhaseRow,
    (at, cell): (usize, &PhaseCell),
) -> Found {
    let Some(rate) = cell.rate else {
        return Found { rate: lost_word(subject, panel, phase, at).into(), ..Found::default() };
    };
    let range = if cell.trials > 1 { range_number(phase.unit, rate) } else { String::new() };
    Found { rate: rate_number(phase.unit, rate.median), range, ratio: cell.ratio, over: None }
}

fn ratio_cell(found: &Found, kind: RowKind) -> Cell {
    let Some(ratio) = found.ratio else {
        return if kind == RowKind::Plain { "-".into() } else { "".into() };
    };
    let value = ratio_number(ratio.value);
    let decided = leaves_out_one(ratio);
    let role = if decided == Some(true) { Role::Strong } else { Role::Plain };
    let over = found.over.map(|rows| format!("({rows} rows)"));
    let under: Vec<String> = interval_text(ratio).into_iter().chain(over.clone()).collect();
    let sign = if decided == Some(false) { "~" } else { "" };
    let over = over.map_or_else(String::new, |over| format!(" {over}"));
    Cell {
        brief: Some(format!("{value}{sign}{over}")),
        ..Cell::from(role.of(value)).under(Some(under.join(" ")))
    }
}

fn summaries(table: &PhaseTable) -> [(String, RowKind, Vec<Found>); 2] {
    let unit = table.unit.unwrap_or(WorkUnit::Calls);
    let number = |rate: Option<f64>| rate.map_or_else(String::new, |rate| rate_number(unit, rate));
    let mean = table.means.iter().map(|mean| {
        let rows = if mean.ratio.is_some() { mean.ratios } else { mean.rates };
        let over = Some(rows).filter(|rows| (1..table.rows.len()).contains(rows));
        Found { rate: number(mean.rate), ratio: mean.ratio, over, ..Found::default() }
    });
    let alone = |value| RowRatio { value, interval: None, blocks: 0 };
    let largest = table
        .means
        .iter()
        .map(|mean| Found { ratio: mean.ratio_max.map(alone), ..Found::default() });
    [
        ("GEOMETRIC MEAN".into(), RowKind::Mean, mean.collect()),
        ("MAX RATIO".into(), RowKind::Mean, largest.collect()),
    ]
}
