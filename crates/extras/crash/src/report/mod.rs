//! The matrix: what was explored, what was lost, what a record costs; for a screen, a page and a program.

mod answer;
mod cell;
mod measured;

pub use answer::blind;
pub use cell::{Cell, Cost};
pub use measured::{measured, seen};

use std::collections::BTreeSet;

use pickfs_record::quantity::{bytes_text, duration_text, grouped, significant};
use pickfs_report::document::{
    Cell as Square, Column, Document, Fold, Kind, Node, Role, Table, Text, list,
};
use pickfs_report::wording::survives_text;
use serde_json::{Value, json};

use self::answer::{answer, crash_words};
use self::measured::{rows, seen_of};
use crate::check::Loss;
use crate::explore::Exposure;
use crate::model::{Crash, Device};

pub fn document(cells: &[Cell], not_explored: usize) -> Document {
    let (role, word, sentence) = answer(cells, not_explored);
    let mut nodes = vec![Node::End(role, word.into(), format!("{sentence}."))];
    nodes.push(Node::Table(matrix(cells)));
    nodes.push(Node::Table(costs(cells)));
    nodes.extend(failures(cells));
    nodes.extend(notes(cells).into_iter().map(|note| Node::Note(note.into())));
    Document { title: "What survives".into(), nodes }
}

/// With the same answer as the document.
pub fn json(cells: &[Cell], not_explored: usize) -> Value {
    let (_, word, sentence) = answer(cells, not_explored);
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
    let mut table =
        Table::new([("candidate", Kind::Word), ("writer", Kind::Word), ("survives", Kind::Word)]);
    table.columns.extend(crashes.iter().map(|crash| match crash {
        Crash::ProcessKill => Column::new("all written", Kind::Number),
        Crash::KernelCrash => Column::new("kernel crash", Kind::Number),
        Crash::PowerLoss(device) => {
            let text = device.to_string();
            let cache = text.split('/').next().unwrap_or_default();
            let under = if is_alike { cache } else { &text };
            Column::new("power loss", Kind::Number).under(under)
        }
    }));
    for row in rows(cells) {
        let names = [row[0].candidate.label.as_str(), row[0].subject.as_str()].map(Square::from);
        let squares = crashes.iter().map(|crash| {
            let cell = row.iter().find(|cell| cell.crash == *crash);
            cell.map_or_else(Square::default, |cell| square(cell))
        });
        let survived = measured(&row).map(|measured| measured.class);
        let class = survived.map_or_else(Square::default, |class| survives_text(class).into());
        table.row(names.into_iter().chain([class]).chain(squares));
    }
    table
        .notes
        .push("States that fail, of those that were explored; what survives is measured.".into());
    if let Some(Exposure { instants, .. }) = cells.iter().find_map(|cell| cell.exposure) {
        let note = format!(
            "The last seconds: what a power loss takes, the median of {instants} instants."
        );
        table.notes.push(note.into());
    }
    table
}

/// `195 of 273`, and behind it what is wrong beside lost records, a line each.
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
    let taken = cell.exposure.map(|exposure| {
        let [median, worst] =
            [exposure.median_ns, exposure.worst_ns].map(|ns| duration_text(ns as f64));
        format!("\nthe last {median}, at worst {worst}")
    });
    role.of(format!("{failed} of {states}{}", beside.chain(taken).collect::<String>())).into()
}

/// One recording has one cost, whatever crash is looked at.
fn costs(cells: &[Cell]) -> Table {
    let mut table = Table::new([
        ("candidate", Kind::Word),
        ("writer", Kind::Word),
        ("records", Kind::Number),
        ("flushes", Kind::Number),
        ("writes", Kind::Number),
        ("bytes", Kind::Number),
    ]);
    for row in rows(cells) {
        let (cell, cost) = (row[0], row[0].cost);
        let [flushes, writes, bytes] = cost.each();
        table.row([
            cell.candidate.label.clone(),
            cell.subject.clone(),
            grouped(cost.records as i64),
            significant(flushes),
            significant(writes),
            bytes_text(bytes.round() as u64),
        ]);
    }
    table.notes.push("What the disk was told for each acknowledged record.".into());
    table
}

/// A kind of failure of a cell once, with the text that makes its state again.
fn failures(cells: &[Cell]) -> Option<Node> {
    let of_cell = |cell: &Cell| {
        let lines = cell.explored.failures.iter().take(4).map(|failure| {
            let losses = failure.found.losses.iter().map(Loss::to_string).collect::<Vec<_>>();
            Role::Code.of(failure.state.clone()).and(format!(": {}", losses.join("; ")))
        });
        let least = cell.smallest.iter();
        let least =
            least.map(|state| Role::Code.of(state.clone()).and(" is the smallest that was found"));
        let lines: Vec<Text> = lines.chain(least).collect();
        let mut title = format!("{} with {}", cell.candidate.label, cell.subject);
        if let Some(saved) = &cell.saved {
            title.push_str(&format!(": crash --of {saved} --state STATE"));
        }
        (!lines.is_empty()).then(|| [Node::Heading(4, title.into()), list(lines)])
    };
    let nodes: Vec<Node> = cells.iter().filter_map(of_cell).flatten().collect();
    let title = "States that fail, each by the text that makes it again".to_string();
    (!nodes.is_empty()).then(|| Node::Fold(Fold::closed(title, nodes)))
}

fn notes(cells: &[Cell]) -> Vec<String> {
    let sum = |of: fn(&Cell) -> u64| grouped(cells.iter().map(of).sum::<u64>() as i64);
    let (images, states) = (sum(|cell| cell.explored.images), sum(|cell| cell.explored.states));
    let (met, whole) = (sum(|cell| cell.explored.epochs), sum(|cell| cell.explored.epochs_whole));
    let checked = sum(|cell| cell.checked);
    let mut notes = vec![format!(
        "{states} states differ in their image or in what was due; {images} images were mounted, and {checked} of them \
         given to the checker of their file system. Every subset was tried of {whole} of {met} epochs of which something \
         may go. Each exploration began with a state that must fail and one that must not."
    )];
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
    let disks: Vec<_> = disks.map(|crash| format!("{crash}: {}", crash_words(crash))).collect();
    if !disks.is_empty() {
        notes.push(format!("Power losses: {}.", disks.join("; ")));
    }
    notes
}

#[cfg(test)]
mod tests;
