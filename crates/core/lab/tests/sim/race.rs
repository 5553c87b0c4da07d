use pickfs_lab::referee::Race;
use pickfs_record::{
    RunRecord,
    plan::{Metric, Statistic, StopRule, View},
};
use pickfs_testkit::{FakeCandidate, FakeRun, fake_run};

use super::{Script, empty, play};

/// One sync, three candidates, raced by the mean append.
fn raced(append_ns: [f64; 3], noise: f64, budget_s: f64) -> RunRecord {
    let labels = ["ext4:noatime", "xfs:noatime", "btrfs:noatime"];
    let candidates = labels.iter().zip(append_ns).map(|(label, append_ns)| FakeCandidate {
        noise,
        ..FakeCandidate::new(label, append_ns, 150_000.0)
    });
    let mean = Metric {
        op: "append".into(),
        view: View::Service,
        statistic: Statistic::Mean,
        at: Default::default(),
    };
    let ask = FakeRun {
        blocks: 80,
        measure_s: 2,
        candidates: candidates.collect(),
        syncs: vec!["none".into()],
        primary: vec![mean],
        stop: StopRule::Decided { budget_s, tie_margin: 0.05 },
        ..FakeRun::default()
    };
    let run = fake_run(&ask);
    let folder = tempfile::tempdir().expect("a folder");
    let (path, record) = (folder.path().join("r.pickfs"), empty(&run));
    let mut script = Script { run: Some(run), ..Script::default() };
    play(&path, record, &mut Race::new(80, budget_s), &mut script).0
}

fn blocks_of(run: &RunRecord, label: &str) -> Vec<u32> {
    let cell = run.cells.iter().find(|cell| cell.candidate.label == label).expect("a cell");
    run.trials.iter().filter(|t| t.cell == cell.id).map(|t| t.block).collect()
}

#[test]
fn one_that_is_far_behind_drops_out_and_returns_as_a_sentinel_even_as_the_reference() {
    let run = raced([1_500.0, 550.0, 500.0], 0.1, 1e6);
    let end = run.ended.as_ref().expect("ended");
    assert_eq!(end.how, "decided");
    assert!(end.note.contains(": append mean: WINNER btrfs:noatime"), "{}", end.note);
    let last = run.last_block();
    assert!((12..60).contains(&last), "{last} blocks");
    let reference = blocks_of(&run, "ext4:noatime");
    let out_after = (1..).take_while(|block| reference.contains(block)).count() as u32;
    assert!((6..=14).contains(&out_after), "{reference:?}");
    let later: Vec<u32> = reference.iter().copied().filter(|block| *block > out_after).collect();
    let sentinels: Vec<u32> = (out_after + 1..=last).filter(|block| block % 5 == 0).collect();
    assert_eq!(later, sentinels);
    assert_eq!(blocks_of(&run, "btrfs:noatime").len() as u32, last);
    assert!((run.trials.len() as u32) < 3 * last);
}

#[test]
fn a_budget_ends_a_race_between_equals_before_it_is_spent() {
    let run = raced([500.0, 500.0, 500.0], 0.3, 600.0);
    let end = run.ended.as_ref().expect("ended");
    assert_eq!(end.how, "budget-spent");
    assert_eq!((run.trials.len(), run.trials.len() % 3), (60, 0), "twenty blocks of 30 s fill it");
    assert!(end.note.starts_with("not settled after 20 blocks ("), "{}", end.note);
    assert!(end.note.contains("NO ANSWER ext4:noatime, xfs:noatime and btrfs"));
    let short = raced([500.0, 500.0, 500.0], 0.3, 70.0);
    assert_eq!(short.trials.len(), 6, "a third block would end after 90 s");
}

#[test]
fn equals_on_a_quiet_machine_end_in_a_tie_within_the_margin() {
    let run = raced([500.0, 501.0, 499.0], 0.01, 1e6);
    let end = run.ended.as_ref().expect("ended");
    assert_eq!(end.how, "decided");
    assert!(end.note.contains("EQUAL "), "{}", end.note);
}
