//! Runs of one plan and of others, compared.

use super::*;
use crate::findings;
use pickfs_record::{BackingKind, Outcome, TrialRecord, finding::Claim, record::Disturbance};
use pickfs_testkit::{FakeCandidate, FakeRun, fake_run};

fn pair() -> (RunRecord, RunRecord) {
    let there = FakeRun { name: "later".into(), seed: 8, ..FakeRun::default() };
    (fake_run(&FakeRun::default()), fake_run(&there))
}

fn compared(runs: &[&RunRecord]) -> RunComparison {
    let all: Vec<_> = runs.iter().map(|run| (*run, findings(run))).collect();
    let named = all.iter().map(|(run, findings)| Named { name: &run.name, run, findings });
    compare(&named.collect::<Vec<_>>())
}

/// A run of one candidate whose durable append truly takes so long, in microseconds.
fn run(name: &str, candidate: &str, durable_us: f64, seed: u64) -> RunRecord {
    fake_run(&FakeRun {
        name: name.into(),
        seed,
        blocks: 15,
        candidates: vec![FakeCandidate::new(candidate, 500.0, durable_us * 1e3)],
        reference: candidate.into(),
        syncs: vec!["fdatasync".into()],
        ..FakeRun::default()
    })
}

fn ratio(of: &RunRatio) -> f64 {
    of.ratio.expect("blocks that both have")
}

/// The old run again, every time in it longer by a fifth, and changed beyond that.
fn slower_copy(mut change: impl FnMut(&mut TrialRecord)) -> CellRatio {
    let old = run("old", "ext4", 400.0, 1);
    let mut copy = RunRecord { name: "copy".into(), ..old.clone() };
    for trial in &mut copy.trials {
        let service = trial.ops.iter_mut().flat_map(|op| &mut op.service.quantiles);
        service.for_each(|row| row.value_ns += row.value_ns / 5);
        change(trial);
    }
    compared(&[&old, &copy]).cells.swap_remove(0)
}

/// A gate of answers is one of comparisons: what others did is not put down to the later run.
#[test]
fn a_disturbed_copy_is_not_called_slower() {
    let calm = slower_copy(|_| ());
    assert_eq!((calm.whole.claim, &calm.withheld), (Claim::Slower, &None));
    assert!((ratio(&calm.whole) - 1.2).abs() < 1e-3, "{:?}", calm.whole);
    let busy = slower_copy(|trial| {
        let taken = Disturbance { foreign_user_share: 0.9, ..Disturbance::default() };
        trial.disturbance = Some(taken);
    });
    assert_eq!((busy.whole.claim, busy.whole.interval), (Claim::Open, None));
    let why = "other programs took the CPU in 15 of 15 blocks of old and copy";
    assert_eq!((busy.withheld.as_deref(), busy.shares), (Some(why), None));
}

#[test]
fn a_run_whose_trials_fail_is_behind_and_has_no_ratio() {
    let failing = slower_copy(|trial| {
        if trial.block > 1 {
            trial.outcome = Outcome::Failed { reason: "ENOSPC".into() };
        }
    });
    assert_eq!((failing.whole.claim, failing.whole.ratio), (Claim::Slower, None));
    assert_eq!((failing.whole.blocks, failing.whole.slower), (15, 15));
}

fn upgrades() -> [RunRecord; 3] {
    let old = run("old", "ext4", 400.0, 1);
    let mut kernel = run("kernel", "ext4", 200.0, 2);
    kernel.environment.put("kernel.release", "6.19.0");
    let mut other = run("xfs", "xfs", 100.0, 3);
    other.environment.put("kernel.release", "6.19.0");
    [old, kernel, other]
}

#[test]
fn equal_machines_differ_in_nothing_and_cells_meet() {
    let (here, there) = pair();
    let found = compared(&[&here, &there]);
    assert!(found.steps[0].changed.is_empty(), "{:?}", found.steps[0].changed);
    assert_eq!((found.cells.len(), found.uncompared.len()), (8, 0));
    assert!(found.cells.iter().all(|cell| (ratio(&cell.whole) - 1.0).abs() < 0.2));
    assert_eq!((found.warnings.len(), &found.steps[0].warning), (1, &None));
}

#[test]
fn one_change_is_stated_and_two_are_warned_of() {
    let (here, mut there) = pair();
    there.environment.put("kernel.release", "6.19.0");
    let one = &compared(&[&here, &there]).steps[0];
    assert_eq!(one.changed.len(), 1);
    assert_eq!(one.changed[0].there.as_deref(), Some("6.19.0"));
    assert_eq!(one.warning, None);
    there.environment.put("cpu.governor", "powersave");
    there.environment.put("cpu.load_at_start", "7.0 1.0 1.0");
    there.environment.put("memory.available_at_start_bytes", 1);
    there.card.put("card.flush_p50_ns", 1);
    let two = &compared(&[&here, &there]).steps[0];
    let keys: Vec<_> = two.changed.iter().map(|changed| changed.key.as_str()).collect();
    assert_eq!(keys, ["cpu.governor", "kernel.release", "card.flush_p50_ns"]);
    let warning = two.warning.as_deref().expect("two things");
    assert!(warning.starts_with("2 things changed (cpu and kernel)"), "{warning}");
}

/// Runs are decided as candidates are: the later one is faster in each block, and its interval leaves 1 out.
#[test]
fn blocks_decide_between_runs() {
    let [old, kernel, _] = upgrades();
    let whole = compared(&[&old, &kernel]).cells[0].whole;
    assert_eq!((whole.claim, whole.blocks, whole.slower), (Claim::Faster, 15, 0));
    let (low, high) = whole.interval.expect("fifteen blocks");
    assert!(low <= ratio(&whole) && ratio(&whole) <= high && high < 1.0, "{whole:?}");
    let few = |run: &RunRecord| {
        let mut few = run.clone();
        few.trials.retain(|trial| trial.block <= 3);
        few
    };
    let open = compared(&[&few(&old), &few(&kernel)]).cells[0].whole;
    assert_eq!((open.claim, open.interval, open.blocks), (Claim::Open, None, 3));
}

#[test]
fn runs_are_told_apart_by_the_names_that_are_given() {
    let (here, mut there) = pair();
    there.cells[0].candidate.mount_options.push("compress".into());
    let all = [(&here, findings(&here), "old/a"), (&there, findings(&there), "new/a")];
    let named = all.each_ref().map(|(run, findings, name)| Named { name, run, findings });
    let found = compare(&named);
    assert_eq!(found.runs, ["old/a", "new/a"]);
    assert!(found.uncompared.iter().any(|(_, why)| why == "not in old/a"));
}

#[test]
fn other_scales_are_refused_with_the_reason() {
    let (mut here, mut there) = pair();
    let first = there.cells[0].id.clone();
    let scales = [(&mut here, 0.2), (&mut there, 0.15)];
    for (run, scale) in scales {
        for trial in run.trials.iter_mut().filter(|trial| trial.cell == first) {
            trial.counts.insert(crate::phases::scale::SCALE_KEY.into(), scale);
        }
    }
    let found = compared(&[&here, &there]);
    assert_eq!(found.cells.len(), 7);
    assert_eq!(found.uncompared[0].1, "scale 0.20 against 0.15: not the same work");
}

#[test]
fn other_versions_and_backings_are_refused_with_the_reason() {
    let (here, mut there) = pair();
    there.cells[0].workload.version = 2;
    let moved = there.cells[1].id.clone();
    let trials = there.trials.iter_mut().filter(|trial| trial.cell == moved);
    trials.for_each(|trial| trial.backing = BackingKind::RamImage);
    there.cells[2].candidate.mount_options.push("compress".into());
    let found = compared(&[&here, &there]);
    assert_eq!(found.cells.len(), 5);
    let whys: Vec<_> = found.uncompared.iter().map(|(_, why)| why.as_str()).collect();
    assert_eq!(
        whys,
        [
            "workload version 1 against 2: numbers may have moved",
            "loop image against loop image in RAM: backings are not mixed",
            "not in later",
            "not in 2026-11-21-journal"
        ]
    );
}

#[test]
fn two_halvings_have_half_of_the_whole_each() {
    let runs = upgrades();
    let found = compared(&runs.each_ref());
    assert_eq!(found.runs, ["old", "kernel", "xfs"]);
    assert_eq!(found.steps[0].subjects, ["kernel"]);
    assert_eq!(found.steps[1].subjects, ["plan.candidate"]);
    assert!(found.choices.is_empty(), "the candidate changed: {:?}", found.choices);
    let cell = &found.cells[0];
    assert_eq!((&*cell.labels, cell.values.len()), (&["ext4".into(), "xfs".into()][..], 3));
    assert!((ratio(&cell.whole) - 0.25).abs() < 0.05, "{:?}", cell.whole);
    let shares = cell.shares.as_ref().expect("the ends are told apart");
    assert!((shares[0] - 0.5).abs() < 0.1, "{shares:?}");
    assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
}

#[test]
fn ends_that_are_not_apart_have_no_shares() {
    let [old, kernel, _] = upgrades();
    let again = run("again", "ext4", 400.0, 4);
    let found = compared(&[&old, &kernel, &again]);
    assert!(!found.cells[0].whole.is_told_apart() && found.cells[0].shares.is_none());
    assert_eq!(found.cells[0].steps.len(), 2);
}

#[test]
fn a_cell_that_a_later_run_lacks_is_named() {
    let (first, second) = pair();
    let found = compared(&[&first, &second, &upgrades()[2]]);
    assert!(found.cells.is_empty());
    assert!(
        found
            .uncompared
            .iter()
            .any(|(name, why)| { name.starts_with("xfs:noatime") && why == "not in xfs" })
    );
    assert!(compared(&[&first]).steps.is_empty());
}
