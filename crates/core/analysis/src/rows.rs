use std::collections::BTreeMap;

use pickfs_record::{
    BackingKind, Outcome, TrialRecord,
    finding::{OpSummary, Row, Spread},
    quantity::grouped,
};

use crate::{
    doubts::doubts,
    engine,
    panels::{Disturbed, Group, Member},
    summary::{CAPACITY_KEY, median, rate_held, spread, sustained},
};

pub fn rows(group: &Group<'_>, ops: Vec<Vec<OpSummary>>) -> Vec<Row> {
    group.members.iter().zip(ops).map(|(member, ops)| row(member, ops)).collect()
}

fn row(member: &Member<'_>, ops: Vec<OpSummary>) -> Row {
    let chosen = member.chosen(Disturbed::Kept);
    let failures: Vec<&str> = member.trials.iter().filter_map(|trial| failure(trial)).collect();
    let skips: Vec<&str> = member.trials.iter().filter_map(|trial| skip(trial)).collect();
    Row {
        cell: member.cell.id.clone(),
        label: member.label.clone(),
        backing: member.backing,
        durability: member.cell.durability,
        trials: chosen.len() as u32,
        failed: failures.len() as u32,
        failure: failures.first().map(|reason| told(reason)),
        skipped: skips.len() as u32,
        skip: skips.first().map(|reason| reason.to_string()),
        ops,
        rate: over(&chosen, rate_held),
        rate_asked: rate_asked(&chosen),
        sustained: over(&chosen, sustained),
        counts: counts(&chosen),
        figures: figures(&chosen),
        doubts: doubt_counts(&chosen),
        notes: notes(member, &chosen),
    }
}

/// What a row says of a failed trial; the end of a guest's console is the trial's own.
pub(crate) fn told(reason: &str) -> String {
    let Some((what, printed)) = reason.split_once("; console: ") else { return reason.into() };
    let said = printed.find("; it said: ").map_or("", |at| &printed[at..]);
    format!("{what}; what its kernel printed stands in the trial{said}")
}

fn failure(trial: &TrialRecord) -> Option<&str> {
    match &trial.outcome {
        Outcome::Failed { reason } => Some(reason),
        Outcome::Finished | Outcome::Skipped { .. } => None,
    }
}

fn skip(trial: &TrialRecord) -> Option<&str> {
    match &trial.outcome {
        Outcome::Skipped { reason } => Some(reason),
        Outcome::Finished | Outcome::Failed { .. } => None,
    }
}

fn over(trials: &[&TrialRecord], rate: fn(&TrialRecord) -> Option<f64>) -> Option<Spread> {
    let rates: Vec<f64> = trials.iter().filter_map(|trial| rate(trial)).collect();
    (!rates.is_empty()).then(|| spread(&rates))
}

/// The rate of the schedule; none where each trial looked for its own.
fn rate_asked(trials: &[&TrialRecord]) -> Option<f64> {
    let fixed = trials.iter().filter(|trial| !trial.counts.contains_key(CAPACITY_KEY));
    fixed.filter_map(|trial| trial.load.as_ref()?.asked_per_s).next()
}

fn counts(trials: &[&TrialRecord]) -> Vec<(String, f64)> {
    let mut values: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (name, value) in trials.iter().flat_map(|trial| &trial.counts) {
        values.entry(name).or_default().push(*value);
    }
    // Times, rates and shares are readings: their median stands for the trials, their sum for nothing.
    let over = |name: &str, values: &[f64]| match name {
        name if name.ends_with("_max_ns") => values.iter().copied().fold(0.0, f64::max),
        name if name.ends_with("_ns") || name.ends_with("_per_s") => median(values),
        name if name.contains("_share") => median(values),
        _ => values.iter().sum(),
    };
    values.iter().map(|(name, values)| (name.to_string(), over(name, values))).collect()
}

fn figures(trials: &[&TrialRecord]) -> Vec<(String, Spread)> {
    let mut values: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (name, value) in trials.iter().flat_map(|trial| &trial.figures) {
        values.entry(name).or_default().push(*value);
    }
    values.iter().map(|(name, values)| (name.to_string(), spread(values))).collect()
}

fn doubt_counts(trials: &[&TrialRecord]) -> Vec<(String, u32)> {
    let mut kinds: BTreeMap<String, u32> = BTreeMap::new();
    for flag in trials.iter().flat_map(|trial| doubts(trial)) {
        *kinds.entry(flag.kind).or_default() += 1;
    }
    kinds.into_iter().collect()
}

fn notes(member: &Member<'_>, chosen: &[&TrialRecord]) -> Vec<String> {
    let backing = backing_note(member.backing).map(String::from);
    let survived = member.cell.survived.as_ref();
    let survived = survived.map(|survived| format!("what it survives is {survived}"));
    let guests = chosen.iter().filter_map(|trial| engine::note(trial));
    let told = chosen.iter().flat_map(|trial| &trial.notes).cloned();
    let told = missed(chosen).into_iter().chain(guests).chain(told);
    let told = told.filter(|note| !is_told_by_the_rate(note));
    merged(backing.into_iter().chain(survived).chain(told))
}

/// Notes that differ in numbers alone are one, with the range of each.
fn merged(notes: impl Iterator<Item = String>) -> Vec<String> {
    let number = |word: &str| {
        let plain = word.ends_with(|c: char| c.is_ascii_digit()).then(|| word.replace(',', ""))?;
        plain.parse::<f64>().ok()
    };
    let mut found: Vec<Vec<[String; 2]>> = Vec::new();
    for note in notes {
        let words: Vec<&str> = note.split(' ').collect();
        let is_like = |ends: &[String; 2], word: &str| {
            ends[0] == *word || number(&ends[0]).and(number(word)).is_some()
        };
        let like = found.iter_mut().find(|all| {
            all.len() == words.len()
                && all.iter().zip(&words).all(|(ends, word)| is_like(ends, word))
        });
        let Some(like) = like else {
            found.push(words.iter().map(|word| [word.to_string(), word.to_string()]).collect());
            continue;
        };
        for (ends, word) in like.iter_mut().zip(words) {
            let at = number(word);
            if at < number(&ends[0]) {
                ends[0] = word.into();
            } else if at > number(&ends[1]) {
                ends[1] = word.into();
            }
        }
    }
    let text =
        |[low, high]: [String; 2]| if low == high { low } else { format!("{low} to {high}") };
    found.into_iter().map(|all| all.into_iter().map(text).collect::<Vec<_>>().join(" ")).collect()
}

/// Operations that were due in the measured time and never begun, behind a stall that outlasted it.
fn missed(trials: &[&TrialRecord]) -> Option<String> {
    let loads = trials.iter().filter_map(|trial| trial.load.as_ref());
    let (missed, due) =
        loads.fold((0, 0), |(m, due), load| (m + load.missed, due + load.arrivals + load.missed));
    (missed > 0).then(|| {
        let [missed, due] = [missed, due].map(|count| grouped(count as i64));
        format!("missed {missed} of {due} operations (due in the measured time, never begun)")
    })
}

/// What a capacity search found stands in the row's rate, with the range over trials.
fn is_told_by_the_rate(note: &str) -> bool {
    note.starts_with("capacity: ")
}

fn backing_note(backing: BackingKind) -> Option<&'static str> {
    match backing {
        BackingKind::RamImage => Some("in RAM: the software path without flush or device"),
        BackingKind::Directory => {
            Some("existing directory: not comparable with fresh file systems")
        }
        BackingKind::Disk
        | BackingKind::LoopImage
        | BackingKind::GuestImage
        | BackingKind::Memory => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::panels::groups;
    use pickfs_testkit::{FakeRun, Mishap, MishapKind, fake_run};

    #[test]
    fn a_skipped_trial_has_not_failed() {
        let mishaps = vec![Mishap::failed("xfs:noatime", "none", 1, "no O_DIRECT here")];
        let mut run = fake_run(&FakeRun { mishaps, ..FakeRun::default() });
        for trial in run.trials.iter_mut().filter(|trial| trial.outcome != Outcome::Finished) {
            trial.outcome = Outcome::Skipped { reason: "no O_DIRECT here".into() };
        }
        let groups = groups(&run);
        let row = row(&groups[0].members[1], Vec::new());
        assert_eq!((row.trials, row.failed, row.failure.as_deref()), (4, 0, None));
        assert_eq!((row.skipped, row.skip.as_deref()), (1, Some("no O_DIRECT here")));
    }

    #[test]
    fn a_row_counts_its_trials_and_names_its_doubts() {
        let mishaps = vec![
            Mishap::failed("xfs:noatime", "none", 1, "append: EIO"),
            Mishap::new("xfs:noatime", "none", 2, MishapKind::Unsteady(1.6)),
            Mishap::disturbed("xfs:noatime", "none", 3, 1.2),
        ];
        let run = fake_run(&FakeRun { mishaps, ..FakeRun::default() });
        let groups = groups(&run);
        let row = row(&groups[0].members[1], Vec::new());
        assert_eq!((row.trials, row.failed, row.failure.as_deref()), (4, 1, Some("append: EIO")));
        assert_eq!((row.skipped, row.skip.as_deref()), (0, None));
        let said = "died; what its kernel printed stands in the trial";
        assert_eq!(told("died; console: RIP: 0010 | CS: 0010"), said);
        assert_eq!(told("died; console: RIP; it said: a"), format!("{said}; it said: a"));
        assert_eq!(row.doubts, [("disturbed".to_string(), 1), ("not-steady".to_string(), 1)]);
        assert!(row.notes.is_empty());
        assert_eq!(row.counts, [("bytes_written".to_string(), 4.0 * 8.0 * 10_000.0 * 256.0)]);
    }

    #[test]
    fn notes_that_differ_in_numbers_alone_are_one_with_their_ranges() {
        let notes = [
            "2.5 % of 1,000 were late",
            "on CPU 1, alone",
            "1.2 % of 900 were late",
            "on CPU 0, alone",
        ];
        let notes = merged(notes.into_iter().chain(["9 % of 950 were late"]).map(String::from));
        assert_eq!(
            notes,
            ["1.2 to 9 % of 900 to 1,000 were late", "on CPU 1, alone", "on CPU 0, alone"]
        );
        assert_eq!(merged(["a  b", "a  b", "a b"].map(String::from).into_iter()), ["a  b", "a b"]);
    }

    #[test]
    fn operations_that_were_never_begun_are_told_beside_the_rate() {
        let mut run = fake_run(&FakeRun::default());
        for load in run.trials.iter_mut().filter_map(|trial| trial.load.as_mut()) {
            (load.arrivals, load.missed) = (1_750, if load.arrivals > 0 { 250 } else { 0 });
        }
        let groups = groups(&run);
        let row = row(&groups[0].members[1], Vec::new());
        let said = "missed 1,250 of 10,000 operations (due in the measured time, never begun)";
        assert_eq!((row.trials, row.notes), (5, vec![said.to_string()]));
    }

    #[test]
    fn a_capacity_is_the_rate_and_is_not_summed() {
        let mut run = fake_run(&FakeRun::default());
        for trial in &mut run.trials {
            trial.counts.insert(CAPACITY_KEY.into(), 1_000.0 * f64::from(trial.block));
            trial.notes.push(format!("capacity: {} operations a second were held", trial.block));
        }
        let groups = groups(&run);
        let row = row(&groups[0].members[0], Vec::new());
        let held = row.rate.expect("a rate");
        assert_eq!((held.median, held.low, held.high), (3_000.0, 1_000.0, 5_000.0));
        assert!(row.counts.contains(&(CAPACITY_KEY.to_string(), 3_000.0)), "{:?}", row.counts);
        assert_eq!((row.rate_asked, row.notes.len()), (None, 0));
    }
}
