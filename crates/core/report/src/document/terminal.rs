//! Nodes on a terminal: names in a margin, tables that give up columns for room, no pictures.

use super::{Cell, Column, Document, Fold, Kind, Node, Role, Row, RowKind, Table, Text};
use crate::terminal::{
    colour::Paint,
    grid::{Align, Grid},
    paragraph::{hanging, wrap},
    plain,
};

/// Columns under which names stand in no margin.
const NARROW: usize = 60;
/// The narrowest margin for names.
const MARGIN: usize = 10;
/// Longest line of words; a table may be wider.
const WORDS_MAX: usize = 110;
/// Characters that sentences in a table get at least.
const TEXT_MIN: usize = 24;
/// Columns with a higher priority go before the ranges do.
const RANGES: u8 = 3;

/// A document on a screen of so many columns.
pub fn terminal(document: &Document, columns: usize, colour: bool) -> String {
    let columns = columns.max(60);
    let words = columns.min(WORDS_MAX);
    let screen = Screen { columns, words, paint: Paint { on: colour }, is_whole: false };
    let mut out = String::new();
    screen.nodes(&document.nodes, &mut out);
    out
}

/// Nodes with the details that are open.
pub(crate) fn open(nodes: &[Node], columns: usize, colour: bool) -> String {
    written(nodes, columns, colour, false)
}

/// Nodes with all their details.
pub(crate) fn whole(nodes: &[Node], columns: usize, colour: bool) -> String {
    written(nodes, columns, colour, true)
}

fn written(nodes: &[Node], columns: usize, colour: bool, is_whole: bool) -> String {
    let mut out = String::new();
    let paint = Paint { on: colour };
    Screen { columns, words: columns, paint, is_whole }.nodes(nodes, &mut out);
    out
}

struct Screen {
    columns: usize,
    words: usize,
    paint: Paint,
    is_whole: bool,
}

impl Screen {
    fn nodes(&self, nodes: &[Node], out: &mut String) {
        let mut before = None;
        for node in nodes {
            if before.is_some_and(|before| is_apart(before, node)) {
                gap(out);
            }
            self.node(node, out);
            before = Some(node);
        }
    }

    fn node(&self, node: &Node, out: &mut String) {
        match node {
            Node::Heading(_, words) => self.heading(&words.words(), out),
            Node::Section(_, title, nodes) => {
                let mut inside = String::new();
                self.nodes(nodes, &mut inside);
                if !inside.trim().is_empty() {
                    self.heading(title, out);
                    out.push_str(inside.trim_start_matches('\n'));
                }
            }
            Node::Paragraph(words) => {
                out.push_str(&self.painted(words.role(), &self.wrapped(&words.words())));
            }
            Node::End(role, word, sentence) => {
                self.facts(&[(word.clone(), role.leads(sentence))], out);
            }
            Node::Note(words) => out.push_str(&self.paint.faint(&self.wrapped(&words.words()))),
            Node::List(entries) => {
                let entry = |text: &Text| hanging("-", &plain(&text.words()), 2, self.words);
                out.extend(entries.iter().map(entry));
            }
            Node::Facts(rows) => self.facts(rows, out),
            Node::Table(table) => self.table(table, out),
            Node::Code(lines) => {
                let line =
                    |line: &str| hanging("", &format!("$ {}", plain(line)), MARGIN, self.words);
                out.extend(lines.lines().map(line));
            }
            Node::Fold(Fold { title, is_open, nodes, .. }) if *is_open || self.is_whole => {
                self.heading(title, out);
                self.nodes(nodes, out);
            }
            Node::Box(_, nodes) => self.nodes(nodes, out),
            Node::Fold(_) | Node::Chart(..) | Node::Jump(..) => {}
        }
    }

    fn heading(&self, words: &str, out: &mut String) {
        gap(out);
        out.push_str(&self.paint.bold(&self.wrapped(words)));
    }

    fn wrapped(&self, words: &str) -> String {
        wrap(&plain(words), self.words).join("\n") + "\n"
    }

    fn facts(&self, rows: &[(String, Text)], out: &mut String) {
        let longest = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        let margin = if longest < MARGIN { MARGIN } else { (longest + 2).min(3 * MARGIN) };
        for (name, value) in rows {
            let name = plain(name);
            let words = plain(&value.words());
            let line = if self.columns < NARROW {
                wrap(&format!("{name} {words}"), self.columns - 2).join("\n  ") + "\n"
            } else if name.chars().count() < margin {
                hanging(&name, &words, margin, self.words)
            } else {
                format!("{name}\n{}", hanging("", &words, margin, self.words))
            };
            out.push_str(&match value.role() {
                Role::Winner => self.paint.strong(&line, &name),
                Role::Equal => self.paint.equal(&line, &name),
                Role::NoAnswer | Role::Opposite => self.paint.warning(&line, &name),
                Role::Strong => self.paint.bold(&line),
                Role::Muted => self.paint.faint(&line),
                _ => self.paint.name(&line, &name),
            });
        }
    }

    fn painted(&self, role: Role, line: &str) -> String {
        match role {
            Role::Winner => self.paint.best(line),
            Role::Strong | Role::Opposite => self.paint.bold(line),
            Role::Muted => self.paint.faint(line),
            _ => line.into(),
        }
    }

    /// The rows of a table of sentences, each with its cells under each other.
    fn records(&self, table: &Table, out: &mut String) {
        for row in &table.rows {
            for (index, cell) in row.cells.iter().enumerate() {
                let role = cell.text.role();
                let arrow = if index == 1 && role != Role::Plain { "-> " } else { "" };
                for line in format!("{arrow}{}", cell.text.words()).split('\n') {
                    let margin = [2, 4][index.min(1)] + 3 * usize::from(index > 1);
                    let line = hanging("", &plain(line), margin, self.words);
                    out.push_str(&self.painted(role, &line));
                }
            }
            out.push('\n');
        }
    }

    fn table(&self, table: &Table, out: &mut String) {
        if table.columns.iter().filter(|column| column.kind == Kind::Text).count() > 1 {
            return self.records(table, out);
        }
        let from = out.len();
        for (index, chosen) in self.fitting(table).into_iter().enumerate() {
            if index > 0 {
                out.push('\n');
            }
            let grid = self.grid(table, &chosen);
            for (row, lines) in grid.lines().into_iter().enumerate() {
                let row = row.checked_sub(1).map(|row| &table.rows[row]);
                let paint = |text: &str| match row.map(|row| row.kind) {
                    None | Some(RowKind::Group | RowKind::Floor) => self.paint.faint(text),
                    Some(RowKind::Best) => self.paint.best(text),
                    Some(RowKind::Mean) => self.paint.bold(text),
                    Some(RowKind::Plain | RowKind::Same) => text.into(),
                };
                for line in lines {
                    // A name that is wider than any screen is cut.
                    let line: String = line.chars().take(self.columns).collect();
                    let series = row.and_then(|row| row.cells.first()).map(|cell| cell.text.role());
                    let bar = line.find('#').zip(line.rfind('#'));
                    out.push_str(&match (series, bar) {
                        (Some(Role::Candidate(slot)), Some((from, to))) => {
                            let bar = self.paint.series(slot, &line[from..=to]);
                            paint(&line[..from]) + &bar + &paint(&line[to + 1..])
                        }
                        _ => paint(&line),
                    });
                    out.push('\n');
                }
            }
        }
        let sign = table.brief.chars().next();
        if sign.is_some_and(|sign| out[from..].contains(sign)) {
            out.push_str(&self.paint.faint(&hanging(" ", table.brief, 2, self.words)));
        }
        for note in table.notes.iter().map(Text::words).chain(numbered(table).1) {
            let note = hanging(" ", &plain(&note), 2, self.words);
            out.push_str(&self.paint.faint(&note));
        }
    }

    /// The columns of each part of a table: all, or without those that give way, or several parts.
    fn fitting(&self, table: &Table) -> Vec<Chosen> {
        let fits = |chosen: &Chosen| self.grid(table, chosen).width() <= self.columns;
        let highest = table.columns.iter().map(|column| column.priority).max().unwrap_or(0);
        let of = |most: u8, is_brief, has_ranges| {
            let stays = |at: &usize| table.columns[*at].priority <= most;
            let columns = (0..table.columns.len()).filter(stays).collect();
            Chosen { columns, is_brief, has_ranges }
        };
        let ranged = (RANGES.min(highest)..=highest).rev().filter(|_| table.has_ranges);
        let tries = [of(highest, false, table.has_ranges)].into_iter();
        let tries = tries.chain(ranged.map(|most| of(most, true, true)));
        let mut tries = tries.chain((0..=highest).rev().map(|most| of(most, true, false)));
        if let Some(found) = tries.find(fits) {
            return vec![found];
        }
        let parts = self.parts(table, &fits);
        if parts.is_empty() { vec![of(0, true, false)] } else { parts }
    }

    fn parts(&self, table: &Table, fits: &impl Fn(&Chosen) -> bool) -> Vec<Chosen> {
        let mut ids: Vec<usize> = table.columns.iter().filter_map(|column| column.part).collect();
        ids.sort_unstable();
        ids.dedup();
        let of = |ids: &[usize]| {
            let stays = |at: &usize| table.columns[*at].part.is_none_or(|part| ids.contains(&part));
            Chosen {
                columns: (0..table.columns.len()).filter(stays).collect(),
                is_brief: true,
                has_ranges: table.has_ranges,
            }
        };
        let mut parts: Vec<Vec<usize>> = Vec::new();
        for id in ids {
            match parts.last_mut().filter(|part| fits(&of(&[part.as_slice(), &[id]].concat()))) {
                Some(part) => part.push(id),
                None => parts.push(vec![id]),
            }
        }
        parts.iter().map(|part| of(part)).collect()
    }

    fn grid(&self, table: &Table, chosen: &Chosen) -> Grid {
        let columns: Vec<&Column> = chosen.columns.iter().map(|at| &table.columns[*at]).collect();
        let mut rows = vec![heads(&columns, chosen.is_brief)];
        // Under headings rows stand in.
        let is_grouped = table.rows.iter().any(|row| row.kind == RowKind::Group);
        for (row, mark) in table.rows.iter().zip(numbered(table).0) {
            let indent = if is_grouped && row.kind != RowKind::Group { "  " } else { "" };
            let mut cells = cells(row, chosen);
            if let Some(first) = cells.first_mut() {
                first.insert_str(0, indent);
                let is_label = chosen.is_brief && table.has_ranges;
                if is_label {
                    let lines = first.split('\n').map(|line| wrap_label(line, self.columns / 4));
                    *first = lines.collect::<Vec<_>>().join("\n");
                }
            }
            cells.last_mut().into_iter().for_each(|last| last.push_str(&mark));
            rows.push(cells);
        }
        let align = |(at, column): (usize, &&Column)| match column.kind {
            Kind::Number if at > 0 => Align::Right,
            _ => Align::Left,
        };
        let aligned = columns.iter().enumerate().map(align).collect();
        let mut grid = Grid { columns: aligned, rows };
        let is_text = |column: &&Column| matches!(column.kind, Kind::Text | Kind::Stack);
        let texts: Vec<usize> =
            columns.iter().enumerate().filter(|(_, c)| is_text(c)).map(|(at, _)| at).collect();
        let over = grid.width().saturating_sub(self.columns);
        if over > 0 && !texts.is_empty() {
            narrow(&mut grid, &texts, self.columns);
        }
        grid
    }
}

/// The columns of a part of a table.
struct Chosen {
    columns: Vec<usize>,
    is_brief: bool,
    has_ranges: bool,
}

/// Sentences share the room that the other columns leave.
fn narrow(grid: &mut Grid, texts: &[usize], columns: usize) {
    let mut others = grid.clone();
    others.rows.iter_mut().for_each(|row| {
        texts.iter().filter_map(|at| row.get_mut(*at).map(std::mem::take)).for_each(drop)
    });
    let room = columns.saturating_sub(others.width()) / texts.len();
    for row in &mut grid.rows {
        for at in texts {
            if let Some(cell) = row.get_mut(*at) {
                let lines = cell.split('\n').flat_map(|line| wrap(line, room.max(TEXT_MIN)));
                *cell = lines.collect::<Vec<_>>().join("\n");
            }
        }
    }
}

/// Heads stand at the foot of their lines; where room is short long ones are broken.
fn heads(columns: &[&Column], is_brief: bool) -> Vec<String> {
    let lines = |column: &&Column| {
        let head = plain(&column.head.words());
        let is_short = !is_brief || !column.under.is_empty();
        let mut lines = if is_short { vec![head] } else { broken(&head) };
        lines.extend((!column.under.is_empty()).then(|| plain(&column.under)));
        lines
    };
    let heads: Vec<Vec<String>> = columns.iter().map(lines).collect();
    let height = heads.iter().map(Vec::len).max().unwrap_or(1);
    let padded = heads.iter().map(|lines| "\n".repeat(height - lines.len()) + &lines.join("\n"));
    padded.collect()
}

/// The widest name of a column that is not broken.
const HEAD: usize = 10;

/// A long name in lines, at its spaces or after a sign in its middle.
fn broken(name: &str) -> Vec<String> {
    let sign = name.char_indices().find(|(at, c)| *at >= 2 && "-:;,".contains(*c));
    match sign {
        _ if name.contains(' ') => wrap(name, HEAD),
        Some((at, _)) if name.chars().count() + 2 > HEAD => {
            vec![name[..=at].into(), name[at + 1..].into()]
        }
        _ => vec![name.into()],
    }
}

fn cells(row: &Row, chosen: &Chosen) -> Vec<String> {
    let one = |at: &usize| row.cells.get(*at).map_or_else(String::new, |found| cell(found, chosen));
    chosen.columns.iter().map(one).collect()
}

fn cell(cell: &Cell, chosen: &Chosen) -> String {
    let words = cell.text.words();
    let words = words.split('\n').map(plain).collect::<Vec<_>>().join("\n");
    if let Some(brief) = cell.brief.as_ref().filter(|_| chosen.is_brief) {
        return plain(brief);
    }
    let gap = if chosen.is_brief { "\n" } else { " " };
    let range = if chosen.has_ranges { cell.range.as_str() } else { "" };
    let more = [range, cell.under.as_str()].into_iter().filter(|more| !more.is_empty());
    more.fold(words, |words, more| format!("{words}{gap}{}", plain(more)))
}

/// The mark of each row's note, and the notes, the same one once.
fn numbered(table: &Table) -> (Vec<String>, Vec<String>) {
    let mut notes: Vec<&String> = Vec::new();
    let mut marks = Vec::new();
    for note in table.rows.iter().map(|row| &row.note) {
        if !note.is_empty() && !notes.contains(&note) {
            notes.push(note);
        }
        let at = notes.iter().position(|known| *known == note);
        marks.push(at.map_or_else(String::new, |at| format!(" [{}]", at + 1)));
    }
    let texts = notes.iter().enumerate().map(|(at, note)| format!("[{}] {note}", at + 1));
    (marks, texts.collect())
}

/// Whether two nodes that follow each other are parted by an empty line.
fn is_apart(before: &Node, node: &Node) -> bool {
    let is_block = |node: &Node| matches!(node, Node::Table(_) | Node::Facts(_) | Node::List(_));
    is_block(before) && (is_block(node) || matches!(node, Node::Paragraph(_)))
}

/// An empty line before what begins anew.
fn gap(out: &mut String) {
    if !out.is_empty() && !out.ends_with("\n\n") {
        out.push('\n');
    }
}

/// A long label goes on in the next line, if possible after a sign between options.
fn wrap_label(label: &str, limit: usize) -> String {
    let mut lines = Vec::new();
    let mut rest: Vec<char> = label.chars().collect();
    while rest.len() > limit.max(8) {
        let reach = &rest[..limit.max(8)];
        let sign = reach.iter().rposition(|c| ",;:= ".contains(*c)).filter(|at| *at > limit / 3);
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
