//! Rows of a panel: a cell's numbers over its trials, with what a reader must know.

use std::collections::BTreeMap;

use pickfs_model::{
    BackingKind, Outcome, TrialRecord,
    finding::{OpSummary, Row, Spread},
};

use crate::{
    doubts::doubts,
    panels::{Group, Member, Robbed},
    robbed,
    summary::spread,
};

/// One row per member, in plan order; `ops` holds the summaries in the same order.
pub fn rows(group: &Group<'_>, ops: Vec<Vec<OpSummary>>) -> Vec<Row> {
    group.members.iter().zip(ops).map(|(member, ops)| row(member, ops)).collect()
}

fn row(member: &Member<'_>, ops: Vec<OpSummary>) -> Row {
    let chosen = member.chosen(Robbed::Kept);
    let failures: Vec<&str> = member.trials.iter().filter_map(|trial| failure(trial)).collect();
    Row {
        cell: member.cell.id.clone(),
        label: member.label.clone(),
        backing: member.backing,
        durability: member.cell.durability,
        trials: chosen.len() as u32,
        failed: failures.len() as u32,
        failure: failures.first().map(|reason| reason.to_string()),
        ops,
        rate: rate(&chosen),
        rate_asked: chosen.iter().find_map(|trial| trial.load.as_ref()?.asked_per_s),
        counts: counts(&chosen),
        notes: notes(member, &chosen),
    }
}

fn failure(trial: &TrialRecord) -> Option<&str> {
    match &trial.outcome {
        Outcome::Failed { reason } | Outcome::Skipped { reason } => Some(reason),
        Outcome::Finished => None,
    }
}

fn rate(trials: &[&TrialRecord]) -> Option<Spread> {
    let rates: Vec<f64> =
        trials.iter().filter_map(|trial| Some(trial.load.as_ref()?.achieved_per_s)).collect();
    (!rates.is_empty()).then(|| spread(&rates))
}

fn counts(trials: &[&TrialRecord]) -> Vec<(String, f64)> {
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for (name, value) in trials.iter().flat_map(|trial| &trial.counts) {
        *sums.entry(name).or_default() += value;
    }
    sums.into_iter().map(|(name, sum)| (name.to_string(), sum)).collect()
}

fn notes(member: &Member<'_>, chosen: &[&TrialRecord]) -> Vec<String> {
    let mut notes: Vec<String> =
        backing_note(member.backing).map(String::from).into_iter().collect();
    let repeated = member.trials.iter().filter(|trial| trial.attempt > 1).count();
    let robbed = member.trials.iter().filter(|trial| robbed::is_robbed(trial)).count();
    if robbed > 0 {
        notes.push(format!("{robbed} robbed trials, {repeated} repeated; both are kept"));
    }
    let mut kinds: BTreeMap<String, u32> = BTreeMap::new();
    for flag in chosen.iter().flat_map(|trial| doubts(trial)).filter(|f| f.kind != "robbed") {
        *kinds.entry(flag.kind).or_default() += 1;
    }
    notes.extend(kinds.iter().map(|(kind, n)| format!("{kind}: {n} of {} trials", chosen.len())));
    for note in chosen.iter().flat_map(|trial| &trial.notes) {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    notes
}

fn backing_note(backing: BackingKind) -> Option<&'static str> {
    match backing {
        BackingKind::Memory => Some("a floor: memory, without a device or durability"),
        BackingKind::RamImage => Some("in RAM: the software path without flush or device"),
        BackingKind::Directory => {
            Some("existing directory: not comparable with fresh file systems")
        }
        BackingKind::Disk | BackingKind::LoopImage => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::panels::groups;
    use pickfs_testkit::{FakeRun, Mishap, MishapKind, fake_run};

    #[test]
    fn a_row_counts_its_trials_and_names_its_doubts() {
        let mishaps = vec![
            Mishap::failed("xfs:noatime", "none", 1, "append: EIO"),
            Mishap::new("xfs:noatime", "none", 2, MishapKind::Unsteady(1.6)),
            Mishap::robbed("xfs:noatime", "none", 3, 1.2),
        ];
        let run = fake_run(&FakeRun { mishaps, ..FakeRun::default() });
        let groups = groups(&run);
        let row = row(&groups[0].members[1], Vec::new());
        assert_eq!((row.trials, row.failed, row.failure.as_deref()), (4, 1, Some("append: EIO")));
        assert_eq!(
            row.notes,
            ["1 robbed trials, 1 repeated; both are kept", "not-steady: 1 of 4 trials"]
        );
        assert_eq!(row.counts, [("bytes_written".to_string(), 4.0 * 8.0 * 10_000.0 * 256.0)]);
    }
}
