//! Where the screen is too narrow a table gives up the intervals (an undecided ratio then has
//! `~` behind it), then the rates beside the reference's, and then it is printed in parts.

use pickfs_analysis::phases::{Kind, PhaseTable, tables};
use pickfs_model::finding::{Panel, RowRatio};

use super::{
    footnotes::marks,
    lines::{Cell, Line, Lines},
    words::{interval_text, leaves_out_one, ratio_head, ratio_number},
};
use crate::{
    Subject,
    terminal::{
        colour::Paint,
        grid::{Align, Grid},
        paragraph::{hanging, wrap},
        plain,
    },
};

const TABLES_ACROSS: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Room {
    Full,
    Ratios,
    Narrow,
}

pub fn overview(subject: &Subject, panels: &[&Panel], columns: usize, paint: Paint) -> String {
    let all: Vec<(&Panel, PhaseTable)> = panels
        .iter()
        .flat_map(|panel| tables(subject.run, panel).into_iter().map(|table| (*panel, table)))
        .collect();
    means(&all, columns, paint)
}

pub fn all(subject: &Subject, panel: &Panel, columns: usize, paint: Paint) -> String {
    let tables = tables(subject.run, panel);
    let printed: Vec<String> =
        tables.iter().map(|found| table(subject, panel, found, columns, paint)).collect();
    printed.join("\n")
}

fn table(
    subject: &Subject,
    panel: &Panel,
    table: &PhaseTable,
    columns: usize,
    paint: Paint,
) -> String {
    let lines = Lines::new(subject, panel, table);
    let at = if panel.title.is_empty() { String::new() } else { format!(", {}", panel.title) };
    let mut out =
        paint.bold(&(wrap(&plain(&format!("{}{at}", lines.title)), columns).join("\n") + "\n"));
    for (index, row) in fitting(&lines, columns).into_iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        out.push_str(&printed(&row, paint));
    }
    if out.contains('~') {
        let text = "its interval holds 1: no difference at this precision";
        out.push_str(&paint.faint(&hanging("  ~", text, 6, columns)));
    }
    if !lines.compared.is_empty() && !lines.has_intervals() {
        let text = "too few blocks for intervals: nothing is called different";
        out.push_str(&paint.faint(&hanging("  -", text, 6, columns)));
    }
    for (index, note) in lines.notes.iter().enumerate() {
        let text = hanging(&format!(" [{}]", index + 1), &plain(note), 6, columns);
        out.push_str(&paint.faint(&text));
    }
    out
}

fn fitting(lines: &Lines, columns: usize) -> Vec<Grid> {
    let all: Vec<usize> = (0..lines.labels.len()).collect();
    for room in [Room::Full, Room::Ratios, Room::Narrow] {
        let grid = grid(lines, &all, room);
        if grid.width() <= columns {
            return vec![grid];
        }
    }
    let mut grids: Vec<Grid> = Vec::new();
    let mut part: Vec<usize> = vec![lines.reference];
    for at in all.into_iter().filter(|at| *at != lines.reference) {
        let mut wider = part.clone();
        wider.push(at);
        if part.len() > 1 && grid(lines, &wider, Room::Ratios).width() > columns {
            grids.push(grid(lines, &part, Room::Ratios));
            wider = vec![lines.reference, at];
        }
        part = wider;
    }
    grids.push(grid(lines, &part, Room::Ratios));
    grids
}

fn grid(lines: &Lines, part: &[usize], room: Room) -> Grid {
    let rates: Vec<usize> = match room {
        Room::Narrow => part
            .iter()
            .copied()
            .filter(|at| *at == lines.reference || !lines.compared.contains(at))
            .collect(),
        Room::Full | Room::Ratios => part.to_vec(),
    };
    let ratios: Vec<usize> =
        part.iter().copied().filter(|at| lines.compared.contains(at)).collect();
    let mut head = vec![String::new()];
    head.extend(rates.iter().map(|at| format!("\n{}", plain(&lines.labels[*at]))));
    for at in &ratios {
        let (above, below) = ratio_head(lines.reference_label(), &lines.labels[*at]);
        let below = if room == Room::Narrow { below.replace(" faster", "") } else { below };
        head.push(format!("{}\n{}", plain(&above), plain(&below)));
    }
    let mut rows = vec![head];
    for line in &lines.lines {
        let mut row = vec![format!("{}{}", plain(&line.name), marks(&line.notes))];
        row.extend(rates.iter().map(|at| line.cells[*at].rate.clone()));
        row.extend(ratios.iter().map(|at| ratio_text(line, &line.cells[*at], room)));
        rows.push(row);
    }
    let mut aligned = vec![Align::Left];
    aligned.extend(rates.iter().map(|_| Align::Right));
    aligned.extend(ratios.iter().map(|_| Align::Right));
    Grid { columns: aligned, rows }
}

fn ratio_text(line: &Line, cell: &Cell, room: Room) -> String {
    let Some(ratio) = &cell.ratio else {
        return if line.phase.is_some() { "-".into() } else { String::new() };
    };
    let over = cell.over.map_or_else(String::new, |rows| format!(" ({rows} rows)"));
    match (&cell.interval, room) {
        (Some(interval), Room::Full) => format!("{ratio} {interval}{over}"),
        (Some(_), _) if cell.decided == Some(false) => format!("{ratio}~{over}"),
        _ => format!("{ratio}{over}"),
    }
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
