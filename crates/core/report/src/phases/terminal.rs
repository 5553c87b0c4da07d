//! The first screen of phases: the mean of the ratios of each table.

use pickfs_analysis::phases::{Kind, PhaseTable, tables};
use pickfs_record::finding::{Panel, RowRatio};

use super::words::{interval_text, leaves_out_one, ratio_head, ratio_number};
use crate::{
    Subject,
    terminal::{
        colour::Paint,
        grid::{Align, Grid},
        paragraph::hanging,
        plain,
    },
};

const TABLES_ACROSS: usize = 3;

/// The ranking of the first screen: a line for each table with the mean of its ratios.
pub fn overview(subject: &Subject, panels: &[&Panel], columns: usize, paint: Paint) -> String {
    let all: Vec<(&Panel, PhaseTable)> = panels
        .iter()
        .flat_map(|panel| tables(subject.run, panel).into_iter().map(|table| (*panel, table)))
        .collect();
    means(&all, columns, paint)
}

fn printed(grid: &Grid, paint: Paint) -> String {
    let mut out = String::new();
    let lines = grid.lines();
    for (index, (row, lines)) in grid.rows.iter().zip(&lines).enumerate() {
        let is_summary = row.first().is_some_and(|name| name == "GEOMETRIC MEAN");
        for line in lines {
            out.push_str(&match index {
                0 => paint.faint(line),
                _ if is_summary => paint.bold(line),
                _ => line.clone(),
            });
            out.push('\n');
        }
    }
    out
}

/// One line per table: how many rows, and the mean ratio of each candidate; or, where there are
/// too many candidates for that, one line per candidate.
fn means(tables: &[(&Panel, PhaseTable)], columns: usize, paint: Paint) -> String {
    let tables: Vec<_> = tables.iter().filter(|(_, table)| table.kind != Kind::Derived).collect();
    let Some((panel, _)) = tables.first() else { return String::new() };
    let compared: Vec<usize> = (0..panel.rows.len())
        .filter(|at| tables.iter().any(|(_, table)| ratio_of(table, *at).is_some()))
        .collect();
    let fits = |grid: &Grid| grid.width() <= columns;
    let full = overview_grid(&tables, panel, &compared, true);
    let grid = if fits(&full) { full } else { overview_grid(&tables, panel, &compared, false) };
    let grid = if fits(&grid) { grid } else { by_candidate(&tables, panel, &compared) };
    if compared.is_empty() || !fits(&grid) {
        return String::new();
    }
    let mut out = paint.bold("mean ratio of each table\n");
    out.push_str(&printed(&grid, paint));
    if out.contains('~') {
        let text = "its interval holds 1: no difference at this precision";
        out.push_str(&paint.faint(&hanging("  ~", text, 6, columns)));
    }
    out
}

fn by_candidate(tables: &[&(&Panel, PhaseTable)], panel: &Panel, compared: &[usize]) -> Grid {
    // The first table of each panel, then the second of each.
    let place = |at: usize| tables[..at].iter().filter(|t| t.0.title == tables[at].0.title).count();
    let mut order: Vec<usize> = (0..tables.len()).collect();
    order.sort_by_key(|at| place(*at));
    let shown: Vec<_> = order.into_iter().take(TABLES_ACROSS).map(|at| tables[at]).collect();
    let reference = plain(&panel.reference);
    let mut head = vec![format!("{reference} / this\n>1: {reference} faster")];
    head.extend(shown.iter().map(|(panel, table)| {
        let at = if panel.title.is_empty() { "" } else { &format!("{}\n", plain(&panel.title)) };
        format!("{at}{}", plain(&table.title))
    }));
    let mut rows = vec![head];
    for at in compared {
        let mut row = vec![plain(&panel.rows[*at].label)];
        row.extend(shown.iter().map(|(_, table)| mean_text(table, *at, false)));
        rows.push(row);
    }
    let mut aligned = vec![Align::Left];
    aligned.extend(shown.iter().map(|_| Align::Right));
    Grid { columns: aligned, rows }
}

fn overview_grid(
    tables: &[&(&Panel, PhaseTable)],
    panel: &Panel,
    compared: &[usize],
    full: bool,
) -> Grid {
    let mut head = vec![String::new(), "\nrows".to_string()];
    for at in compared {
        let (above, below) = ratio_head(&panel.reference, &panel.rows[*at].label);
        head.push(format!("{}\n{below}", plain(&above)));
    }
    let mut rows = vec![head];
    for (panel, table) in tables {
        let at = if panel.title.is_empty() { "" } else { &format!("{}: ", panel.title) };
        let mut row = vec![plain(&format!("{at}{}", table.title)), table.rows.len().to_string()];
        row.extend(compared.iter().map(|at| mean_text(table, *at, full)));
        rows.push(row);
    }
    let mut aligned = vec![Align::Left, Align::Right];
    aligned.extend(compared.iter().map(|_| Align::Right));
    Grid { columns: aligned, rows }
}

fn ratio_of(table: &PhaseTable, at: usize) -> Option<RowRatio> {
    table.means.get(at)?.ratio
}

fn mean_text(table: &PhaseTable, at: usize, full: bool) -> String {
    let Some(ratio) = ratio_of(table, at) else { return "-".into() };
    let value = ratio_number(ratio.value);
    match interval_text(ratio).filter(|_| full) {
        Some(interval) => format!("{value} {interval}"),
        None if leaves_out_one(ratio) == Some(false) => format!("{value}~"),
        None => value,
    }
}
