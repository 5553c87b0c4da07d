use pickfs_model::features::FeatureTable;

use super::view::{EXPLAINED, Line, View, class_of, dissent};
use crate::terminal::colour::Paint;
use crate::terminal::grid::{Align, Grid};
use crate::terminal::paragraph::hanging;
use crate::terminal::plain;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    Differences,
    All,
}

const MARGIN: usize = 10;
/// Longest line of words; the grid may be wider.
const TEXT_MAX: usize = 110;
const CELL: usize = 8;

pub fn features_screen(
    table: &FeatureTable,
    detail: Detail,
    columns: usize,
    colour: bool,
) -> String {
    let (text, paint) = (columns.min(TEXT_MAX), Paint { on: colour });
    let screen = Screen { view: View::new(table), detail, wide: columns, columns: text, paint };
    let mut out = screen.opening();
    out.push_str(&screen.classes());
    out.push_str(&screen.grids());
    out.push_str(&screen.shared());
    out.push_str(&screen.remarks());
    out.push_str(&screen.absent());
    out
}

struct Screen<'t> {
    view: View<'t>,
    detail: Detail,
    wide: usize,
    columns: usize,
    paint: Paint,
}

impl Screen<'_> {
    fn opening(&self) -> String {
        let table = self.view.table;
        let count = self.view.asked.len();
        let (what, each) = match count {
            1 => ("one file system does", "it"),
            _ => ("file systems do", "each"),
        };
        let text = format!(
            "what {what}, asked of {each} while it was mounted here ({} asked, {} not here)",
            count,
            self.view.absent().len()
        );
        let kernel = table.machine.get("kernel.release").unwrap_or("not told");
        let mut out = self.paint.bold(&hanging("features", &text, MARGIN, self.columns));
        let ground = plain(&format!("{}; kernel {kernel}", table.ground));
        out.push_str(&self.name("on", &ground));
        out
    }

    fn name(&self, name: &str, text: &str) -> String {
        self.paint.name(&hanging(name, text, MARGIN, self.columns), name)
    }

    fn classes(&self) -> String {
        let mut out = String::new();
        for (class, rows) in self.view.classes() {
            let names: Vec<_> = rows.iter().map(|row| plain(&row.label)).collect();
            let text = format!("{}: {}", class.name(), names.join(", "));
            out.push_str(&self.name(if out.is_empty() { "classes" } else { "" }, &text));
        }
        for row in &self.view.asked {
            let Some(dissent) = dissent(row) else { continue };
            let because = class_of(row).map(|found| found.because.clone()).unwrap_or_default();
            let text = format!("{} {because}; {dissent}", row.label);
            out.push_str(&self.paint.faint(&hanging("", &plain(&text), MARGIN, self.columns)));
        }
        out
    }

    fn is_shown(&self, line: &Line) -> bool {
        let is_alone = self.view.asked.len() < 2;
        self.detail == Detail::All || is_alone || line.shared().is_none()
    }

    fn grids(&self) -> String {
        let mut out = String::new();
        let mut from = 0;
        while from < self.view.asked.len() {
            let mut to = from + 1;
            while to < self.view.asked.len() && self.grid(from, to + 1).0.width() <= self.wide {
                to += 1;
            }
            out.push('\n');
            out.push_str(&self.print(from, to));
            from = to;
        }
        out
    }

    fn grid(&self, from: usize, to: usize) -> (Grid, Vec<bool>) {
        let asked = &self.view.asked[from..to];
        let mut head = vec![String::new()];
        head.extend(asked.iter().map(|row| broken(&plain(&row.label))));
        let (mut rows, mut headings) = (vec![head], vec![true]);
        for (group, lines) in self.view.groups() {
            let shown: Vec<_> = lines.into_iter().filter(|line| self.is_shown(line)).collect();
            if shown.is_empty() {
                continue;
            }
            rows.push(vec![group.title().to_owned()]);
            headings.push(true);
            for line in shown {
                let mut cells = vec![format!("  {}", line.capability.label)];
                cells.extend(line.answers[from..to].iter().map(|answer| answer.cell().to_owned()));
                rows.push(cells);
                headings.push(false);
            }
        }
        (Grid { columns: vec![Align::Left; to - from + 1], rows }, headings)
    }

    fn print(&self, from: usize, to: usize) -> String {
        let (grid, headings) = self.grid(from, to);
        let mut out = String::new();
        for (lines, is_heading) in grid.lines().iter().zip(headings) {
            for line in lines {
                let line = if is_heading { self.paint.faint(line) } else { line.clone() };
                out.push_str(&line);
                out.push('\n');
            }
        }
        out
    }

    fn shared(&self) -> String {
        if self.detail == Detail::All || self.view.asked.len() < 2 {
            return String::new();
        }
        let mut out = String::from("\n");
        let measures = self.view.shared_measures();
        if !measures.is_empty() {
            out.push_str(&self.name("alike", &plain(&measures.join(", "))));
        }
        for (cell, name) in [("yes", "all do"), ("no", "none does")] {
            let labels = self.view.shared_by_all(cell);
            if !labels.is_empty() {
                out.push_str(&self.name(name, &labels.join(", ")));
            }
        }
        out
    }

    fn remarks(&self) -> String {
        let mut out = String::new();
        for remark in self.view.remarks(&EXPLAINED) {
            let who = remark.who.join(", ");
            let text = plain(&format!("{}, {who}: {}", remark.label, remark.words));
            let name = if out.is_empty() { "notes" } else { "" };
            out.push_str(&self.paint.warning(&hanging(name, &text, MARGIN, self.columns), name));
        }
        out
    }

    fn absent(&self) -> String {
        let absent = match self.detail {
            Detail::Differences => self.view.absent_in_short(),
            Detail::All => {
                let rows = self.view.absent().into_iter();
                rows.map(|(row, reason)| format!("{}: {reason}", row.label)).collect()
            }
        };
        let mut out = String::new();
        for text in &absent {
            let name = if out.is_empty() { "not here" } else { "" };
            out.push_str(&self.name(name, &plain(text)));
        }
        out
    }
}

fn broken(label: &str) -> String {
    let sign = label.char_indices().find(|(at, c)| *at >= 2 && "-:;,".contains(*c));
    match sign {
        Some((at, _)) if label.chars().count() > CELL => {
            format!("{}\n{}", &label[..=at], &label[at + 1..])
        }
        _ => label.into(),
    }
}
