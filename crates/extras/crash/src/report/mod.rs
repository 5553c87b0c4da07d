//! The matrix: what was explored, what was lost, what a record costs; for a screen, a page and a program.

mod answer;
mod cell;
mod measured;

pub use answer::blind;
pub use cell::{Cell, Cost};
pub use measured::{measured, seen};

use std::collections::BTreeSet;

use pickfs_candidate::fs::find;
use pickfs_record::quantity::{bytes_text, duration_text, grouped, significant};
use pickfs_report::document::{
    Cell as Square, Column, Document, Fold, Kind, Node, Role, RowKind, Table,
};
use pickfs_report::wording::survives_text;
use serde_json::{Value, json};

use self::answer::answer;
use self::measured::{rows, seen_of};
use crate::explore::INSTANTS;
use crate::model::{Crash, Device};

/// Of a name in a table, where it can be broken.
const NAME_WIDTH: usize = 16;

/// Recordings that were not explored to their end, of so many.
#[derive(Debug, Clone, Copy, Default)]
pub struct LeftOut {
    pub all: usize,
    /// What the machine lacks for.
    pub skipped: usize,
    pub failed: usize,
    pub interrupted: usize,
}

pub fn document(cells: &[Cell], left_out: LeftOut) -> Document {
    let (role, word, sentence) = answer(cells, left_out);
    let mut nodes = vec![Node::End(role, word.into(), format!("{sentence}."))];
    nodes.push(Node::Table(matrix(cells)));
    nodes.push(Node::Table(costs(cells)));
    nodes.extend(failures(cells));
    nodes.extend(notes(cells).into_iter().map(|note| Node::Note(note.into())));
    Document { title: "What survives".into(), nodes }
}

/// With the same answer as the document.
pub fn json(cells: &[Cell], left_out: LeftOut) -> Value {
    let (_, word, sentence) = answer(cells, left_out);
    let measured: Vec<_> = rows(cells).iter().filter_map(|row| seen_of(row)).collect();
    json!({ "end": word, "answer": sentence, "measured": measured, "cells": cells })
}

/// The weaker ones first.
fn crashes(cells: &[Cell]) -> BTreeSet<Crash> {
    cells.iter().map(|cell| cell.crash).collect()
}

fn matrix(cells: &[Cell]) -> Table {
    let crashes = crashes(cells);
    let disks: Vec<_> = crashes.iter().filter_map(Crash::device).collect();
    let is_one = |device: &Device| (device.unit, device.flush) == (disks[0].unit, disks[0].flush);
    let is_alike = disks.iter().all(is_one);
    let mut table = Table::new([("writer", Kind::Word), ("survives", Kind::Word)]);
    table.columns.extend(crashes.iter().zip(0..).map(|(crash, part)| {
        let column = match crash {
            Crash::ProcessKill => Column::new("process", Kind::Number).under("kill"),
            Crash::KernelCrash => Column::new("kernel", Kind::Number).under("crash"),
            Crash::PowerLoss(device) => {
                let text = device.to_string();
                let cache = text.split('/').next().unwrap_or_default();
                Column::new("power loss", Kind::Number).under(if is_alike { cache } else { &text })
            }
        };
        Column { part: Some(part), ..column }
    }));
    under_candidates(&mut table, cells, |row| {
        let squares = crashes.iter().map(|crash| {
            let cell = row.iter().find(|cell| cell.crash == *crash);
            cell.map_or_else(Square::default, |cell| square(cell))
        });
        let survived = measured(row).map(|measured| measured.class);
        let class = survived.map_or_else(Square::default, |class| survives_text(class).into());
        [class].into_iter().chain(squares).collect()
    });
    let mut notes = "States that fail, of those explored; what survives is measured.".to_owned();
    if cells.iter().any(|cell| cell.exposure.is_some()) {
        notes += &format!(" The last seconds: what a power loss takes, the median of {INSTANTS}.");
    }
    table.notes.push(notes.into());
    table
}

/// A row of each writer under the name of its candidate.
fn under_candidates(table: &mut Table, cells: &[Cell], squares: impl Fn(&[&Cell]) -> Vec<Square>) {
    let mut before = None;
    for row in rows(cells) {
        let label = &row[0].candidate.label;
        if before.replace(label) != Some(label) {
            table.row_of(RowKind::Group, [in_lines(label)]);
        }
        let writer = Square::from(in_lines(&row[0].subject));
        table.row([writer].into_iter().chain(squares(&row)));
    }
}

/// Broken at the signs of paths and options.
fn in_lines(name: &str) -> String {
    let (mut lines, mut width) = (String::new(), 0);
    for part in name.split_inclusive(['/', ':', ';', ',', ' ']) {
        let length = part.chars().count();
        if width > 0 && width + length > NAME_WIDTH {
            lines.push_str("\n  ");
            width = 2;
        }
        lines.push_str(part);
        width += length;
    }
    lines
}

/// `195 of 273`, and under it what is wrong beside lost records, a line each.
fn square(cell: &Cell) -> Square {
    let (explored, tally) = (&cell.explored, &cell.explored.tally);
    let [failed, states] = [tally.failed, explored.states].map(|count| grouped(count as i64));
    let role = match (cell.kept_all(), cell.is_promised()) {
        (true, _) => Role::Winner,
        (false, true) => Role::Opposite,
        (false, false) => Role::Plain,
    };
    let kinds = [
        ("unmountable", tally.unmountable),
        ("refused", tally.refused),
        ("foreign bytes", tally.foreign),
        ("damaged", tally.damaged),
    ];
    let beside = kinds.iter().filter(|(_, count)| *count > 0);
    let beside = beside.map(|(kind, count)| format!("\n{} {kind}", grouped(*count as i64)));
    let taken = cell.exposure.map(|it| {
        let [median, worst] = [it.median_ns, it.worst_ns].map(|ns| duration_text(ns as f64));
        format!("\nthe last {median},\nat worst {worst}")
    });
    let beside = beside.chain(taken).collect::<String>();
    // As wide as the head of a power loss.
    let gap = if failed.len() + states.len() <= 6 { ' ' } else { '\n' };
    role.of(format!("{failed}{gap}of {states}{beside}")).into()
}

/// One recording has one cost, whatever crash is looked at.
fn costs(cells: &[Cell]) -> Table {
    let mut table = Table::new([
        ("writer", Kind::Word),
        ("records", Kind::Number),
        ("flushes", Kind::Number),
        ("writes", Kind::Number),
        ("bytes", Kind::Number),
    ]);
    under_candidates(&mut table, cells, |row| {
        let cost = row[0].cost;
        let [flushes, writes, bytes] = cost.each();
        let bytes = bytes_text(bytes.round() as u64);
        let records = grouped(cost.records as i64);
        [records, significant(flushes), significant(writes), bytes].map(Square::from).into()
    });
    table.notes.push("What the disk was told for each acknowledged record.".into());
    table
}

/// Where the recording was saved: what was lost, and the command that makes such a state again.
fn failures(cells: &[Cell]) -> Option<Node> {
    let of_cell = |cell: &Cell| {
        let (command, first) = (cell.command()?, cell.explored.failures.first()?);
        let name = format!("{} with {}", cell.candidate.label, cell.subject);
        let words = format!("{name}: {}", first.found.words());
        Some([Node::Paragraph(words.into()), Node::Code(command)])
    };
    let nodes: Vec<Node> = cells.iter().filter_map(of_cell).flatten().collect();
    let title = "States that fail, each by the command that makes it again".to_string();
    (!nodes.is_empty()).then(|| Node::Fold(Fold::closed(title, nodes)))
}

fn notes(cells: &[Cell]) -> Vec<String> {
    let sum = |of: fn(&Cell) -> u64| grouped(cells.iter().map(of).sum::<u64>() as i64);
    let (images, states) = (sum(|cell| cell.explored.images), sum(|cell| cell.explored.states));
    let (met, whole) = (sum(|cell| cell.explored.epochs), sum(|cell| cell.explored.epochs_whole));
    let checked = sum(|cell| cell.checked);
    let mut notes = vec![format!(
        "{states} states differ in their image or in what was due; {images} images were mounted. {checked} looks went to \
         the checker of a file system, second ones among them. Every subset was tried of {whole} of {met} epochs of which \
         something may go. Each exploration began and ended with a state that must fail."
    )];
    notes.extend(unchecked(cells));
    if let Some(cell) = cells.first() {
        let (seed, asked, image) = (cell.seed, cell.asked, bytes_text(cell.image_bytes));
        let slowest = cells.iter().map(|cell| cell.per_s).fold(f64::INFINITY, f64::min);
        let kernel = &cell.kernel;
        notes.push(format!(
            "Kernel {kernel}, seed {seed}, at most {asked} states of a kind of crash, a disk of {image}; {} images a \
             second and more.",
            significant(slowest)
        ));
    }
    let disks = crashes(cells).into_iter().filter(|crash| matches!(crash, Crash::PowerLoss(_)));
    let disks: Vec<_> = disks.map(|crash| format!("{crash}: {}", crash.prose())).collect();
    if !disks.is_empty() {
        notes.push(format!("Power losses: {}.", disks.join("; ")));
    }
    notes
}

/// Of which file systems no look went to a checker.
fn unchecked(cells: &[Cell]) -> Option<String> {
    let names: BTreeSet<_> = cells.iter().map(|cell| cell.candidate.fs.as_str()).collect();
    let told = |name: &str| {
        let command = find(name).map_or("", |row| row.checker);
        match command.split_whitespace().next() {
            _ if cells.iter().any(|it| it.candidate.fs == name && it.checked > 0) => None,
            None => Some(format!("{name} has no checker")),
            Some(program) => Some(format!("{program} of {name} was not asked, or is not there")),
        }
    };
    let told: Vec<_> = names.into_iter().filter_map(told).collect();
    (!told.is_empty()).then(|| told.join("; ") + ".")
}

#[cfg(test)]
mod tests;
