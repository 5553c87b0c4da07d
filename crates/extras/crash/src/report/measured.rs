//! What a candidate and a writer were seen to survive, beside what is declared of them.

use pickfs_record::{Durability, Seen, Survived};

use super::cell::Cell;
use crate::model::{Cache, Crash, Unit};
use crate::oracle::Subject;

const CLASSES: [Durability; 3] =
    [Durability::ProcessCrash, Durability::KernelCrash, Durability::PowerLoss];
/// Fewer are not told to anybody later.
const STATES_MIN: u64 = 100;

/// Cells are of one candidate, one kernel and one writer. A class that was not explored ends it: nobody knows. Of several
/// disks the one counts on which most failed, and then the one that may lose most.
pub fn measured(cells: &[&Cell]) -> Option<Survived> {
    let mut measured: Option<Survived> = None;
    for class in CLASSES {
        let of_class = cells.iter().filter(|cell| cell.crash.least() == Some(class));
        let key = |cell: &&&Cell| (cell.explored.tally.failed, cell.crash, cell.explored.states);
        let Some(worst) = of_class.max_by_key(key).filter(|cell| cell.explored.states > 0) else {
            break;
        };
        let before = measured.map_or(Durability::Nothing, |before| before.class);
        measured = Some(Survived {
            class: if worst.kept_all() { class } else { before },
            states: worst.explored.states,
            failed: worst.explored.tally.failed,
            of: match worst.crash {
                Crash::PowerLoss(device) => device.to_string(),
                other => other.to_string(),
            },
        });
        if !worst.kept_all() {
            break;
        }
    }
    measured
}

pub(super) fn seen_of(row: &[&Cell]) -> Option<Seen> {
    let (first, survived) = (row.first()?, measured(row)?);
    let (candidate, kernel) = (first.candidate.clone(), first.kernel.clone());
    let (writer, promised) = (first.subject.clone(), first.promised);
    Some(Seen { candidate, kernel, writer, promised, survived })
}

/// For later runs: what journals lost, or kept over enough states of what they promise. Other writers may fail by a fault
/// of their own, and of disks that write less than 4096 bytes at once another machine's is not one.
pub fn seen(cells: &[Cell]) -> Vec<Seen> {
    let unit = |cell: &Cell| cell.crash.device().map(|device| device.unit);
    let of_row = |row: Vec<&Cell>| {
        let is_small = |cell: &Cell| matches!(unit(cell), Some(Unit::Bytes(0..4096)));
        let counts = |cell: &&Cell| cell.is_promised() && !is_small(cell);
        let promised: Vec<_> = row.into_iter().filter(counts).collect();
        let seen = seen_of(&promised)?;
        let is_journal = matches!(seen.writer.parse::<Subject>(), Ok(Subject::Journal(..)));
        let is_kept = seen.survived.class >= seen.promised && promised.iter().any(|c| is_enough(c));
        let is_told = seen.promised > Durability::ProcessCrash;
        (is_journal && is_told && (is_kept || seen.survived.failed > 0)).then_some(seen)
    };
    rows(cells).into_iter().filter_map(of_row).collect()
}

/// Of a crash that its writer promises to outlive: a disk that keeps order, or writes a request at once, shows less.
fn is_enough(cell: &Cell) -> bool {
    let explored = &cell.explored;
    let is_hard = match cell.crash {
        Crash::PowerLoss(device) => {
            device.cache == Cache::AnyOrder
                && device.unit != Unit::Request
                && explored.epochs_whole * 3 >= explored.epochs
        }
        Crash::KernelCrash => cell.promised == Durability::KernelCrash,
        Crash::ProcessKill => false,
    };
    is_hard && explored.states >= STATES_MIN
}

/// In the order in which they come: of each candidate, kernel and writer.
pub(super) fn rows(cells: &[Cell]) -> Vec<Vec<&Cell>> {
    let mut rows: Vec<Vec<&Cell>> = Vec::new();
    for cell in cells {
        let is_its = |row: &&mut Vec<&Cell>| {
            (&row[0].candidate, &row[0].subject, &row[0].kernel)
                == (&cell.candidate, &cell.subject, &cell.kernel)
        };
        match rows.iter_mut().find(is_its) {
            Some(row) => row.push(cell),
            None => rows.push(vec![cell]),
        }
    }
    rows
}
