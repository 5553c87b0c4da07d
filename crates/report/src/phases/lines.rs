use pickfs_analysis::phases::{Kind, PhaseTable};
use pickfs_model::{
    WorkUnit,
    finding::{Panel, PhaseCell, PhaseRow, RowRatio},
};

use super::{
    footnotes::{Footnotes, lost_word},
    words::{
        heat_text, interval_text, leaves_out_one, range_number, rate_number, ratio_number,
        row_name, unit_name,
    },
};
use crate::Subject;

#[derive(Debug, Clone, PartialEq)]
pub struct Lines {
    pub title: String,
    pub labels: Vec<String>,
    pub reference: usize,
    pub compared: Vec<usize>,
    pub lines: Vec<Line>,
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    pub name: String,
    /// Position in the panel's phases; none for a summary.
    pub phase: Option<usize>,
    pub cells: Vec<Cell>,
    pub notes: Vec<usize>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cell {
    pub rate: String,
    pub range: Option<String>,
    pub ratio: Option<String>,
    pub interval: Option<String>,
    /// The interval leaves out 1; none without an interval.
    pub decided: Option<bool>,
    /// Rows that a mean is taken of, where they are not all.
    pub over: Option<usize>,
}

impl Lines {
    pub fn new(subject: &Subject, panel: &Panel, table: &PhaseTable) -> Lines {
        let mut notes = Footnotes::default();
        let mut lines: Vec<Line> = Vec::new();
        for index in &table.rows {
            lines.push(line(subject, panel, table, *index, &mut notes));
        }
        if table.rows.len() > 1 && table.kind != Kind::Derived {
            lines.extend(summaries(table));
        }
        let unit = table.unit.map_or_else(String::new, |unit| format!(", {}", unit_name(unit)));
        let reference = panel.rows.iter().position(|row| row.label == panel.reference);
        let compared = (0..panel.rows.len())
            .filter(|at| lines.iter().any(|line| line.cells[*at].ratio.is_some()))
            .collect();
        Lines {
            title: format!("{}{unit}", table.title),
            labels: panel.rows.iter().map(|row| row.label.clone()).collect(),
            reference: reference.unwrap_or(0),
            compared,
            lines,
            notes: notes.texts,
        }
    }

    pub fn reference_label(&self) -> &str {
        self.labels.get(self.reference).map_or("reference", String::as_str)
    }

    pub fn has_intervals(&self) -> bool {
        self.lines.iter().flat_map(|line| &line.cells).any(|cell| cell.interval.is_some())
    }
}

fn line(
    subject: &Subject,
    panel: &Panel,
    table: &PhaseTable,
    index: usize,
    notes: &mut Footnotes,
) -> Line {
    let phase = &panel.phases[index];
    let cells = phase.cells.iter().enumerate();
    // Where a table holds rows of several states each says its own.
    let own_heat = table.kind != Kind::Derived && {
        let mut rows = table.rows.iter();
        rows.any(|row| panel.phases[*row].heat != phase.heat)
    };
    let heat = if own_heat { heat_text(phase.heat) } else { "" };
    Line {
        name: format!("{}{heat}", row_name(phase, table.unit)),
        phase: Some(index),
        cells: cells.map(|(at, cell)| cell_words(subject, panel, phase, (at, cell))).collect(),
        notes: notes.of_row(subject, panel, phase),
    }
}

fn cell_words(
    subject: &Subject,
    panel: &Panel,
    phase: &PhaseRow,
    (at, cell): (usize, &PhaseCell),
) -> Cell {
    let Some(rate) = cell.rate else {
        return Cell { rate: lost_word(subject, panel, phase, at).into(), ..Cell::default() };
    };
    Cell {
        rate: rate_number(phase.unit, rate.median),
        range: (cell.trials > 1).then(|| range_number(phase.unit, rate)),
        ..ratio_words(cell.ratio)
    }
}

fn ratio_words(ratio: Option<RowRatio>) -> Cell {
    Cell {
        ratio: ratio.map(|ratio| ratio_number(ratio.value)),
        interval: ratio.and_then(interval_text),
        decided: ratio.and_then(leaves_out_one),
        ..Cell::default()
    }
}

fn summaries(table: &PhaseTable) -> [Line; 2] {
    let unit = table.unit.unwrap_or(WorkUnit::Calls);
    let number = |rate: Option<f64>| rate.map_or_else(String::new, |rate| rate_number(unit, rate));
    let mean = table.means.iter().map(|mean| {
        let rows = if mean.ratio.is_some() { mean.ratios } else { mean.rates };
        let over = Some(rows).filter(|rows| (1..table.rows.len()).contains(rows));
        Cell { rate: number(mean.rate), over, ..ratio_words(mean.ratio) }
    });
    let largest = table
        .means
        .iter()
        .map(|mean| Cell { ratio: mean.ratio_max.map(ratio_number), ..Cell::default() });
    let summary = |name: &str, cells: Vec<Cell>| Line {
        name: name.into(),
        phase: None,
        cells,
        notes: Vec::new(),
    };
    [summary("GEOMETRIC MEAN", mean.collect()), summary("MAX RATIO", largest.collect())]
}
