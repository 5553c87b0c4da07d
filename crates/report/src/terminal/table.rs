//! Where the screen is too narrow the table gives up, in this order: the ratio on one
//! line, the range over trials, the largest lap, the ratios after the first.

use pickfs_model::{
    Durability,
    finding::{NoiseRow, Panel, Row, Verdict},
    plan::{Metric, Statistic},
    quantity::{grouped, significant},
};

use super::{
    colour::Paint,
    column::{Cells, Column, ROOMS, Room, align, columns, shown},
    grid::{Align, Grid},
    paragraph::{hanging, wrap},
    plain,
};
use crate::{
    Subject,
    notes::Notes,
    ranking::{self, is_one_number},
    subject::{is_capacity, is_floor, summary, with_durability},
    wording::{metric_name, op_name, view_name},
};

pub fn panel(subject: &Subject, panel: &Panel, columns: usize, paint: Paint) -> String {
    let table = Table {
        subject,
        panel,
        metric: subject.headline(panel),
        metrics: ranking::compared(subject, panel),
        notes: Notes::new(subject, panel),
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
    notes: Notes,
    label_max: usize,
}

impl Table<'_> {
    fn title(&self, columns: usize) -> String {
        let panel = self.panel;
        let levels = if panel.title.is_empty() { "" } else { &format!(", {}", panel.title) };
        let asked = panel.rows.iter().find_map(|row| row.rate_asked);
        let rate = match asked {
            Some(rate) => format!(", {}/s asked", significant(rate)),
            None if is_capacity(panel) => ", at the highest rate held".into(),
            None => String::new(),
        };
        let what = match is_one_number(&self.metric) {
            true => format!("{}{levels}", metric_name(&self.metric)),
            false => {
                format!(
                    "{}{levels}{rate}, {}",
                    op_name(&self.metric.op),
                    view_name(self.metric.view)
                )
            }
        };
        wrap(&plain(&with_durability(&what, panel)), columns).join("\n") + "\n"
    }

    fn cells(&self) -> Cells<'_> {
        Cells { subject: self.subject, panel: self.panel, metric: &self.metric }
    }

    fn columns(&self, room: Room) -> Vec<Column> {
        columns(self.panel, &self.metric, &self.metrics, room)
    }

    fn grid(&self, room: Room) -> Grid {
        let (cells, columns) = (self.cells(), self.columns(room));
        let first = self.subject.axis().map(|axis| format!("\n{}", plain(axis)));
        let mut head = vec![first.unwrap_or_default()];
        head.extend(columns.iter().map(|column| cells.head(column)));
        head.push("\ntrials".into());
        let mut rows = vec![head];
        for row in ranking::ranked(self.subject, self.panel) {
            let label = wrap_label(&plain(&ranking::label(row)), self.label_max);
            let mut line = vec![label];
            line.extend(columns.iter().map(|column| cells.cell(row, column, room)));
            line.push(self.trials(row));
            rows.push(line);
        }
        rows.extend(self.no_io_row(&columns));
        rows.extend(self.raw_rows(&columns));
        let mut aligned = vec![Align::Left];
        aligned.extend(columns.iter().map(align));
        aligned.push(Align::Left);
        Grid { columns: aligned, rows }
    }

    fn trials(&self, row: &Row) -> String {
        let failed = match row.failed + row.skipped {
            0 => String::new(),
            missing => format!(" of {}", row.trials + missing),
        };
        let numbers = self.notes.numbers(row).iter().map(|number| format!(" [{number}]"));
        format!("{}{failed}{}", row.trials, numbers.collect::<String>())
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

    fn counts_text(&self) -> Option<String> {
        if self.cells().shared_count().is_some() {
            return None;
        }
        let rows = ranking::ranked(self.subject, self.panel).into_iter();
        let texts: Vec<_> = rows
            .filter_map(|row| Some((row, summary(row, &self.metric)?)))
            .map(|(row, op)| format!("{} {}", row.label, grouped(op.count as i64)))
            .collect();
        (!texts.is_empty()).then(|| format!("laps: {}", texts.join(", ")))
    }

    fn no_io_row(&self, columns: &[Column]) -> Option<Vec<String>> {
        let no_io = self.panel.no_io.filter(|_| self.metric.statistic != Statistic::Rate)?;
        let mut row = vec!["no I/O".to_string()];
        row.extend(columns.iter().map(|column| self.cells().no_io(&no_io, column)));
        row.push(String::new());
        Some(row)
    }

    fn raw_rows(&self, columns: &[Column]) -> Vec<Vec<String>> {
        let is_rate = self.metric.statistic == Statistic::Rate;
        if self.panel.durability < Durability::PowerLoss || is_rate {
            return Vec::new();
        }
        let stands = |n: &&NoiseRow| self.panel.rows.iter().any(|row| row.backing == n.backing);
        let words = columns.iter().position(|column| align(column) == Align::Left);
        let rows = self.subject.findings.noise.iter().filter(stands);
        rows.map(|noise| {
            let mut row = vec!["raw device".to_string()];
            row.extend(columns.iter().map(|column| self.cells().raw(noise, column)));
            row.push(String::new());
            row[words.map_or(columns.len() + 1, |at| at + 1)] = "4 KiB write + flush".into();
            row
        })
        .collect()
    }

    fn footer(&self, room: Room, columns: usize) -> String {
        let mut out = String::new();
        if ranking::is_any_uncarried(self.panel, &self.metric, shown(&self.metric)) {
            let text = "fewer than ten slow episodes over three trials: not shown";
            out.push_str(&hanging("  -", text, 6, columns));
        }
        let has_largest = self.columns(room).contains(&Column::Largest);
        if let Some(text) = self.counts_text().filter(|_| has_largest) {
            out.push_str(&hanging("  n", &plain(&text), 6, columns));
        }
        for note in &self.notes.of_all {
            out.push_str(&hanging(" all", &plain(note), 6, columns));
        }
        for (index, note) in self.notes.listed.iter().enumerate() {
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
