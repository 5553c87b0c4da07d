//! The answer in a sentence: who lost what on which disk.

use pickfs_record::{Durability, quantity::grouped};
use pickfs_report::document::Role;

use super::LeftOut;
use super::cell::Cell;
use super::measured::rows;
use crate::explore::Tally;
use crate::model::{Cache, Crash};
use crate::oracle::Subject;

fn share(cell: &Cell) -> f64 {
    cell.explored.tally.failed as f64 / cell.explored.states.max(1) as f64
}

/// With the word of how it ended.
pub(super) fn answer(cells: &[Cell], left_out: LeftOut) -> (Role, &'static str, String) {
    let (role, word, mut sentence) = explored(cells);
    let LeftOut { all, skipped, failed, interrupted } = left_out;
    let told = [(failed, "failed"), (skipped, "skipped"), (interrupted, "interrupted")];
    let told = told.iter().filter(|(count, _)| *count > 0);
    let told: Vec<_> = told.map(|(count, how)| format!("{count} {how}")).collect();
    if !told.is_empty() {
        sentence.push_str(&format!("; of {all} recordings {}", told.join(", ")));
    }
    (role, word, sentence)
}

/// Of writers that sync, where less is declared of the candidate: the cell that lost most.
fn declared(cells: &[Cell]) -> Option<&Cell> {
    let syncs = |cell: &&Cell| {
        let own = cell.subject.parse::<Subject>().map_or(cell.promised, Subject::promised);
        own > cell.promised && !cell.kept_all() && cell.crash.least().is_some()
    };
    cells.iter().filter(syncs).max_by(|a, b| share(a).total_cmp(&share(b)))
}

/// Of writers that sync, on disks that do not flush.
fn lying(cells: &[Cell]) -> impl Iterator<Item = &Cell> {
    cells.iter().filter(|cell| match cell.crash {
        Crash::PowerLoss(device) if cell.promised == Durability::PowerLoss => {
            !device.is_honest() && device.cache != Cache::None
        }
        _ => false,
    })
}

/// A disk that does not flush and seems to lose nothing: what is seen on it is not what it did.
pub fn blind(cells: &[Cell]) -> Option<&Cell> {
    lying(cells).find(|cell| cell.kept_all())
}

fn explored(cells: &[Cell]) -> (Role, &'static str, String) {
    if let Some(Cell { candidate, subject, .. }) = blind(cells) {
        let label = &candidate.label;
        let seen = "on a disk whose flush does nothing: this exploration sees no loss";
        return (Role::NoAnswer, "BLIND", format!("{label} with {subject} lost nothing {seen}"));
    }
    let promised: Vec<_> = cells.iter().filter(|cell| cell.is_promised()).collect();
    let worst = |row: &&Vec<&Cell>| {
        let shares = row.iter().filter(|cell| cell.is_promised()).map(|cell| share(cell));
        shares.fold(0.0, f64::max)
    };
    let all = rows(cells);
    let mut failing: Vec<_> = all.iter().filter(|row| worst(row) > 0.0).collect();
    // None of them kept all.
    let seen = lying(cells).max_by(|a, b| share(a).total_cmp(&share(b))).map(lost);
    if promised.is_empty() {
        let sentence = "no writer promises that a record outlives these crashes";
        return match seen {
            Some(seen) => (Role::Equal, "SEEN", seen),
            None => (Role::NoAnswer, "NO PROMISE", sentence.into()),
        };
    }
    if failing.is_empty() {
        let states: u64 = promised.iter().map(|cell| cell.explored.states).sum();
        let states = grouped(states as i64);
        let mut sentence = format!("no acknowledged record was lost in {states} states");
        if let Some(crash) = promised.iter().map(|cell| cell.crash).max() {
            let hardest = promised.iter().filter(|cell| cell.crash == crash);
            let of: u64 = hardest.map(|cell| cell.explored.states).sum();
            let (of, words) = (grouped(of as i64), crash.prose());
            sentence.push_str(&format!(", {of} of them of {words} ({crash})"));
        }
        if let Some(cell) = declared(cells) {
            sentence.push_str(&format!("; as is declared of it, {}", lost(cell)));
        }
        return match seen {
            Some(seen) => (Role::Equal, "SEEN", format!("{seen}; elsewhere {sentence}")),
            None => (Role::Winner, "KEPT", sentence),
        };
    }
    failing.sort_by(|a, b| worst(b).total_cmp(&worst(a)));
    let mut sentence = told(failing[0]);
    if failing.len() > 1 {
        sentence.push_str(&format!("; of {} rows {} lost something", all.len(), failing.len()));
    }
    (Role::Opposite, "LOST", sentence)
}

/// Of a row of which a promised cell failed: the worst of them, and where it lost nothing.
fn told(row: &[&Cell]) -> String {
    let promised = || row.iter().filter(|cell| cell.is_promised());
    let worst = promised().max_by(|a, b| share(a).total_cmp(&share(b)));
    let mut text = worst.map_or_else(String::new, |worst| lost(worst));
    let kept = promised().filter(|cell| cell.kept_all());
    let kept: Vec<_> = kept.map(|cell| cell.crash.prose()).collect();
    if !kept.is_empty() {
        text.push_str(&format!("; in none of {}", kept.join(", or of ")));
    }
    text
}

fn lost(cell: &Cell) -> String {
    let (what, count) = loss(&cell.explored.tally);
    let [count, states] = [count, cell.explored.states].map(|count| grouped(count as i64));
    let (label, subject, of) = (&cell.candidate.label, &cell.subject, cell.crash.prose());
    format!("{label} with {subject} {what} in {count} of {states} states of {of}")
}

/// What most of its states are, and how many.
fn loss(tally: &Tally) -> (&'static str, u64) {
    let kinds = [
        ("lost acknowledged records", tally.lost),
        ("could not be mounted", tally.unmountable),
        ("left what its own recovery or check refuses", tally.refused),
        ("showed what the disk held before", tally.foreign),
        ("was damaged, as its checker says,", tally.damaged),
    ];
    let first = kinds.into_iter().find(|(_, count)| *count > 0);
    first.unwrap_or(("failed", tally.failed))
}
