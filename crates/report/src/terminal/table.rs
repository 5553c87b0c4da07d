//! The table of a panel: quantiles, ratios where they are claimed, and numbered notes.
//!
//! Where the screen is too narrow the table gives up, in this order: the ratio on
//! one line, the range over trials, the largest lap, the ratios after the first.

use pickfs_model::{
    Durability,
    finding::{NoiseRow, Panel, Row, Verdict},
    plan::Metric,
    quantity::{duration_text, grouped, significant},
};

use super::{
    colour::Paint,
    grid::{Align, Grid},
    paragraph::{hanging, wrap},
    plain,
};
use crate::{
    Subject, ranking,
    subject::{is_floor, summary},
    wording::{op_name, quantile_name, range_text, statistic_name, view_name},
};

const SHOWN: [f64; 3] = [0.5, 0.99, 0.999];

/// What a table gives up for room: each step keeps less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Room {
    range: bool,
    one_line: bool,
    largest: bool,
    all_ratios: bool,
}

const ROOMS: [Room; 6] = [
    Room { range: true, one_line: true, largest: true, all_ratios: true },
    Room { range: true, one_line: false, largest: true, all_ratios: true },
    Room { range: false, one_line: true, largest: true, all_ratios: true },
    Room { range: false, one_line: false, largest: true, all_ratios: true },
    Room { range: false, one_line: false, largest: false, all_ratios: true },
    Room { range: false, one_line: false, largest: false, all_ratios: false },
];

/// Title, table and notes of a panel.
pub fn panel(subject: &Subject, panel: &Panel, columns: usize, paint: Paint) -> String {
    let table = Table {
        subject,
        panel,
        metric: subject.headline(panel),
        metrics: ranking::compared(subject, panel),
        notes: numbered_notes(panel),
        label_max: columns / 4,
    };
    let fits = |room: &Room| table.grid(*room).width() <= columns;
    let room = ROOMS.into_iter().find(fits).unwrap_or(ROOMS[ROOMS.len() - 1]);
    let mut out = paint.bold(&table.title(columns));
    out.push_str(&table.print(room, paint));
    out.push_str(&paint.faint(&table.footer(room, columns)));
    out
}

struct Table<'t> {
    subject: &'t Subject<'t>,
    panel: &'t Panel,
    metric: Metric,
    metrics: Vec<Metric>,
    notes: Vec<String>,
    label_max: usize,
}

/// Notes of the panel without repeats, in the order of the rows.
fn numbered_notes(panel: &Panel) -> Vec<String> {
    let mut known = Vec::new();
    for note in panel.rows.iter().flat_map(|row| ranking::notes(panel, row)) {
        if !known.contains(&note) {
            known.push(note);
        }
    }
    known
}

impl Table<'_> {
    fn title(&self, columns: usize) -> String {
        let panel = self.panel;
        let levels = if panel.title.is_empty() { "" } else { &format!(", {}", panel.title) };
        let asked = panel.rows.iter().find_map(|row| row.rate_asked);
        let rate = asked.map(|r| format!(", {}/s asked", significant(r))).unwrap_or_default();
        let text = format!(
            "{}{levels}{rate}, {}: {}",
            op_name(&self.metric.op),
            view_name(self.metric.view),
            panel.durability
        );
        wrap(&plain(&text), columns).join("\n") + "\n"
    }

    fn shared_count(&self) -> Option<u64> {
        let mut counts =
            self.panel.rows.iter().filter_map(|row| summary(row, &self.metric)).map(|op| op.count);
        let first = counts.next()?;
        counts.all(|count| count == first).then_some(first)
    }

    fn grid(&self, room: Room) -> Grid {
        let rows = ranking::ranked(self.subject, self.panel);
        let mut cells = vec![self.header(room)];
        cells.extend(rows.iter().map(|row| self.row(row, room)));
        cells.extend(self.raw_rows(room, cells[0].len()));
        let mut columns = vec![Align::Right; cells[0].len()];
        columns[0] = Align::Left;
        let last = columns.len() - 1;
        columns[last] = Align::Left;
        let ratios = self.ratios(room).len();
        for column in columns.iter_mut().rev().skip(1).take(ratios) {
            *column = Align::Left;
        }
        Grid { columns, rows: cells }
    }

    fn ratios(&self, room: Room) -> &[Metric] {
        let keep = if room.all_ratios { self.metrics.len() } else { self.metrics.len().min(1) };
        &self.metrics[..keep]
    }

    fn header(&self, room: Room) -> Vec<String> {
        let mut cells = vec![String::new(), format!("\n{}", quantile_name(SHOWN[0]))];
        if room.range {
            cells.push("range\nof trials".into());
        }
        cells.extend(SHOWN[1..].iter().map(|q| format!("\n{}", quantile_name(*q))));
        if room.largest {
            let count = self.shared_count().map(|count| grouped(count as i64));
            cells.push(format!("largest\nof {}", count.as_deref().unwrap_or("n")));
        }
        let short = self.panel.reference.chars().count() <= 13;
        let reference = if short { &self.panel.reference } else { "reference" };
        for metric in self.ratios(room) {
            let statistic = statistic_name(metric.statistic);
            let same = metric.op == self.metric.op;
            let op = if same { String::new() } else { format!("{} ", metric.op) };
            cells.push(format!("against {}\n{op}{statistic} [95 %]", plain(reference)));
        }
        cells.push("\ntrials".into());
        cells
    }

    fn row(&self, row: &Row, room: Room) -> Vec<String> {
        let op = summary(row, &self.metric);
        let label = wrap_label(&plain(&ranking::label(row)), self.label_max);
        let mut cells = vec![label, ranking::quantile_text(op, SHOWN[0])];
        if room.range {
            let first = op.and_then(|op| ranking::quantile(op, SHOWN[0])).filter(|q| q.carried);
            cells.push(first.map_or_else(|| "-".into(), |q| range_text(q.value_ns)));
        }
        cells.extend(SHOWN[1..].iter().map(|q| ranking::quantile_text(op, *q)));
        if room.largest {
            cells.push(op.map_or_else(|| "-".into(), |op| duration_text(op.max_ns as f64)));
        }
        for metric in self.ratios(room) {
            let (words, interval) = ranking::verdict_cell(self.panel, row, metric);
            let gap = if room.one_line { " " } else { "\n" };
            cells.push(interval.map_or(words.clone(), |i| format!("{words}{gap}{i}")));
        }
        let failed = match row.failed {
            0 => String::new(),
            failed => format!(" of {}", row.trials + failed),
        };
        cells.push(format!("{}{failed}{}", row.trials, self.note_numbers(row)));
        cells
    }

    fn note_numbers(&self, row: &Row) -> String {
        let own = ranking::notes(self.panel, row);
        let numbers = own.iter().filter_map(|note| self.notes.iter().position(|n| n == note));
        numbers.map(|index| format!(" [{}]", index + 1)).collect()
    }

    fn print(&self, room: Room, paint: Paint) -> String {
        let rows = ranking::ranked(self.subject, self.panel);
        let best = self.subject.findings.verdicts.iter().find(|v| v.panel == self.panel.title);
        let mut out = String::new();
        for (index, lines) in self.grid(room).lines().iter().enumerate() {
            let row = index.checked_sub(1).map(|index| rows.get(index).copied());
            for line in lines {
                out.push_str(&painted(paint, row.flatten(), best, line));
                out.push('\n');
            }
        }
        out
    }

    /// The number of laps of every row, where they differ.
    fn counts_text(&self) -> Option<String> {
        if self.shared_count().is_some() {
            return None;
        }
        let rows = ranking::ranked(self.subject, self.panel).into_iter();
        let texts: Vec<_> = rows
            .filter_map(|row| Some((row, summary(row, &self.metric)?)))
            .map(|(row, op)| format!("{} {}", row.label, grouped(op.count as i64)))
            .collect();
        (!texts.is_empty()).then(|| format!("laps: {}", texts.join(", ")))
    }

    /// The raw device under durable rows: what a flush costs without a file system.
    fn raw_rows(&self, room: Room, cells: usize) -> Vec<Vec<String>> {
        if self.panel.durability < Durability::PowerLoss {
            return Vec::new();
        }
        let stands = |n: &&NoiseRow| self.panel.rows.iter().any(|row| row.backing == n.backing);
        let rows = self.subject.findings.noise.iter().filter(stands);
        rows.map(|noise| {
            let mut row = vec!["raw device".into(), duration_text(noise.p50_ns.median)];
            if room.range {
                row.push(range_text(noise.p50_ns));
            }
            row.push(duration_text(noise.p99_ns.median));
            row.resize(cells - 1 - self.ratios(room).len(), String::new());
            row.push("4 KiB write + flush".into());
            row.resize(cells, String::new());
            row
        })
        .collect()
    }

    fn footer(&self, room: Room, columns: usize) -> String {
        let mut out = String::new();
        if ranking::is_any_uncarried(self.panel, &self.metric, &SHOWN) {
            let text = "fewer than ten slow episodes over three trials: not shown";
            out.push_str(&hanging("  -", text, 6, columns));
        }
        if let Some(text) = self.counts_text().filter(|_| room.largest) {
            out.push_str(&hanging("  n", &plain(&text), 6, columns));
        }
        for (index, note) in self.notes.iter().enumerate() {
            out.push_str(&hanging(&format!(" [{}]", index + 1), &plain(note), 6, columns));
        }
        out
    }
}

fn painted(paint: Paint, row: Option<&Row>, best: Option<&Verdict>, line: &str) -> String {
    match row {
        None => paint.faint(line),
        Some(row) if is_floor(row) => paint.faint(line),
        Some(row) if best.is_some_and(|v| v.best.contains(&row.label)) => paint.best(line),
        Some(_) => line.into(),
    }
}

/// A long label goes on in the next line, if possible after a sign between options.
fn wrap_label(label: &str, limit: usize) -> String {
    let mut lines = Vec::new();
    let mut rest: Vec<char> = label.chars().collect();
    while rest.len() > limit.max(8) {
        let reach = &rest[..limit.max(8)];
        let sign = reach.iter().rposition(|c| ",;: ".contains(*c)).filter(|at| *at > limit / 3);
        let tail = rest.split_off(sign.map_or(reach.len(), |at| at + 1));
        lines.push(std::mem::replace(&mut rest, tail).into_iter().collect::<String>());
    }
    lines.push(rest.into_iter().collect());
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_labels_break_between_options() {
        assert_eq!(wrap_label("ext4:noatime,barrier=0", 20), "ext4:noatime,\nbarrier=0");
        assert_eq!(wrap_label("abcdefghijkl", 8), "abcdefgh\nijkl");
        assert_eq!(wrap_label("xfs", 8), "xfs");
    }
}
