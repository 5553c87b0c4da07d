//! Two cells of one run are put beside each other where all is equal but what the claim names.

use std::collections::BTreeSet;

use pickfs_record::{BackingKind, Cell, Level};

use super::{
    Claim,
    pairs::{Miss, miss},
    placed::{Desk, Placed},
};
use crate::{
    panels::{BY_CANDIDATE, property},
    wording::list,
};

/// Words of a claim that tell candidates apart.
const OF_CANDIDATE: [&str; 4] = ["fs", "label", "driver", BY_CANDIDATE];

/// Two rows in words: what they share, and what tells each from the other.
pub(super) fn words(two: [&Placed<'_>; 2]) -> (String, [String; 2]) {
    let [one, other] = two.map(|row| row.cell);
    let is_same = one.candidate.label == other.candidate.label;
    let (same, apart): (Vec<&Level>, Vec<&Level>) =
        one.levels.iter().partition(|level| other.level(&level.axis) == Some(&level.value));
    let text = |axis: &str, cell: &Cell| format!("{axis}={}", cell.level(axis).unwrap_or("-"));
    let label = |cell: &Cell, wanted: bool| wanted.then(|| cell.candidate.label.clone());
    let levels = same.iter().map(|level| text(&level.axis, one));
    let shared: Vec<String> = label(one, is_same).into_iter().chain(levels).collect();
    let name = |cell: &Cell| {
        let levels = apart.iter().map(|level| text(&level.axis, cell));
        let parts: Vec<String> = label(cell, !is_same).into_iter().chain(levels).collect();
        parts.join(", ")
    };
    (shared.join(", "), [name(one), name(other)])
}

/// Candidate, parameters and knobs in which two cells differ; not what comes with the other candidate alone.
fn differences(desk: &Desk<'_>, one: &Cell, other: &Cell) -> BTreeSet<String> {
    let names = |cell: &Cell| -> BTreeSet<String> {
        cell.workload.params.keys().chain(cell.knobs.keys()).cloned().collect()
    };
    let turned =
        desk.run.cells.iter().find(|cell| {
            cell.candidate.label == other.candidate.label && cell.levels == one.levels
        });
    let comes_along =
        |name: &String| turned.is_some_and(|turned| property(one, name) != property(turned, name));
    let mut found: BTreeSet<String> = names(one).union(&names(other)).cloned().collect();
    found.retain(|name| property(one, name) != property(other, name) && !comes_along(name));
    if one.candidate != other.candidate {
        found.insert(BY_CANDIDATE.into());
    }
    found
}

/// Why the claim does not put these two beside each other.
pub(super) fn unlike(
    claim: &Claim,
    desk: &Desk<'_>,
    [one, other]: [&Placed<'_>; 2],
) -> Result<(), Miss> {
    let named: BTreeSet<&str> =
        claim.subject.keys().chain(claim.object.keys()).map(String::as_str).collect();
    let is_named = |name: &str| match name {
        BY_CANDIDATE => OF_CANDIDATE.iter().any(|word| named.contains(word)),
        "guest.kernel" => named.contains(name) || named.contains("kernel"),
        name => named.contains(name),
    };
    let mut apart = differences(desk, one.cell, other.cell);
    apart.retain(|name| !is_named(name));
    if !apart.is_empty() {
        let names: Vec<String> = apart.into_iter().collect();
        let reason = format!("no two rows differ in nothing else: these in {} too", list(&names));
        return miss(5, reason);
    }
    let engine = |row: &Placed<'_>| {
        desk.place(&row.row.cell).map(|(group, at)| group.members[at].engine().to_owned())
    };
    if engine(one) != engine(other) {
        return miss(6, "rows of two engines are not compared");
    }
    let memory = [one, other].into_iter().any(|row| row.row.backing == BackingKind::Memory);
    if one.row.backing != other.row.backing && !memory && !named.contains("backing") {
        let (one, other) = (one.row.backing, other.row.backing);
        return miss(6, format!("rows on {one} and on {other} are not compared"));
    }
    Ok(())
}

/// Why two rows are shown beside each other and not judged.
pub(super) fn only_shown(claim: &Claim, [one, other]: [&Placed<'_>; 2]) -> Option<&'static str> {
    let is_named = [&claim.subject, &claim.object].iter().any(|of| of.contains_key("backing"));
    let in_memory = one.row.backing != other.row.backing && !is_named;
    (claim.is_shown || in_memory).then_some(MEMORY)
}

pub(super) const EXTREME: &str = "seconds are counted and not ranked";
const MEMORY: &str = "memory beside a disk: the ratio is shown and not ranked";
