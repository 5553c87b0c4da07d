use pickfs_record::{
    Outcome,
    finding::{Panel, PhaseRow},
};

use crate::Subject;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Footnotes {
    pub texts: Vec<String>,
    /// What makes a note the same as another: the doubt and its counts, not the words of a row.
    keys: Vec<String>,
}

struct Note {
    key: String,
    text: String,
}

impl Footnotes {
    pub fn of_row(&mut self, subject: &Subject, panel: &Panel, phase: &PhaseRow) -> Vec<usize> {
        let mut numbers: Vec<usize> = Vec::new();
        for note in doubts(subject, panel, phase).into_iter().chain(losses(panel, phase)) {
            let number = self.number(note);
            if !numbers.contains(&number) {
                numbers.push(number);
            }
        }
        numbers
    }

    fn number(&mut self, note: Note) -> usize {
        match self.keys.iter().position(|known| *known == note.key) {
            Some(index) => index + 1,
            None => {
                self.keys.push(note.key);
                self.texts.push(note.text);
                self.texts.len()
            }
        }
    }
}

pub fn marks(numbers: &[usize]) -> String {
    numbers.iter().map(|number| format!(" [{number}]")).collect()
}

/// A doubt of tails alone: what stands in these tables are rates. "Not yet" tells of tails.
const OF_TAILS: &str = "period-not-covered";

/// `not-cold: xfs 8 of 8, ext4 8 of 8 trials; first: 12 % of its pages were resident`.
fn doubts(subject: &Subject, panel: &Panel, phase: &PhaseRow) -> Vec<Note> {
    let mut kinds: Vec<&str> = Vec::new();
    for (kind, _) in phase.cells.iter().flat_map(|cell| &cell.flags) {
        if kind != OF_TAILS && !kinds.contains(&kind.as_str()) {
            kinds.push(kind);
        }
    }
    kinds.into_iter().map(|kind| doubt(subject, panel, phase, kind)).collect()
}

fn doubt(subject: &Subject, panel: &Panel, phase: &PhaseRow, kind: &str) -> Note {
    let counts = panel.rows.iter().zip(&phase.cells).filter_map(|(row, cell)| {
        let (_, count) = cell.flags.iter().find(|(known, _)| known == kind)?;
        Some(format!("{} {count} of {}", row.label, cell.trials))
    });
    let counts: Vec<String> = counts.collect();
    let in_all =
        phase.cells.iter().filter(|cell| cell.trials > 0).all(|cell| {
            cell.flags.iter().any(|(known, count)| known == kind && *count == cell.trials)
        });
    let key = match in_all {
        true => format!("{kind}: every trial"),
        false => format!("{kind}: {} trials", counts.join(", ")),
    };
    let text = match first_text(subject, panel, phase, kind) {
        Some(first) => format!("{key}; the first: {first}"),
        None => key.clone(),
    };
    Note { key, text }
}

fn first_text(subject: &Subject, panel: &Panel, phase: &PhaseRow, kind: &str) -> Option<String> {
    let trials = panel.rows.iter().flat_map(|row| subject.trials(&row.cell));
    let records = trials.flat_map(|trial| &trial.phases).filter(|r| r.phase == phase.phase);
    let mut flags = records.flat_map(|record| &record.flags);
    flags.find(|flag| flag.kind == kind).map(|flag| flag.text.clone())
}

fn losses(panel: &Panel, phase: &PhaseRow) -> Vec<Note> {
    let lost = panel.rows.iter().zip(&phase.cells).filter(|(_, cell)| cell.failed > 0);
    lost.map(|(row, cell)| {
        let reason = cell.failure.as_deref().unwrap_or("no reason kept");
        let all = cell.failed + cell.trials;
        let text = format!("{}, no result in {} of {all} trials: {reason}", row.label, cell.failed);
        Note { key: text.clone(), text }
    })
    .collect()
}

pub fn lost_word(subject: &Subject, panel: &Panel, phase: &PhaseRow, index: usize) -> &'static str {
    let Some(row) = panel.rows.get(index) else { return "-" };
    let trials = subject.trials(&row.cell);
    let mut outcomes = trials.iter().map(|trial| {
        let record = trial.phase(&phase.phase);
        record.map_or(&trial.outcome, |record| &record.outcome)
    });
    if outcomes.clone().any(|outcome| matches!(outcome, Outcome::Failed { .. })) {
        return "failed";
    }
    match outcomes.any(|outcome| matches!(outcome, Outcome::Skipped { .. })) {
        true => "skipped",
        false => "-",
    }
}
