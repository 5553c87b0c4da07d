//! Choices on simulated runs whose truth is known: winners, ties, winners that a condition ruled
//! out, several runs, and everything that carries no choice.

use std::collections::BTreeMap;

use pickfs_analysis::{
    articles::Source,
    findings,
    objective::{Choice, ChoiceVerdict, Facts, FeatureAnswers, Need, choose, objective},
};
use pickfs_record::{
    BackingKind, Outcome, RunRecord,
    finding::AnswerEnd,
    origin::{Fact, Home, Origin},
    record::OpRecord,
};
use pickfs_testkit::{
    FakeCandidate, FakePhasedRun, FakeRun, LostPhase, Mishap, MishapKind, Speed, fake_phased_run,
    fake_run,
};

fn asked(text: &str, needs: &[&str], runs: &[RunRecord]) -> Choice {
    let found: Vec<_> = runs.iter().map(findings).collect();
    let sources: Vec<Source<'_>> =
        runs.iter().zip(&found).map(|(run, findings)| Source { run, findings }).collect();
    let needs: Vec<Need> = needs.iter().map(|need| need.parse().expect("a condition")).collect();
    let (origins, features) = (origins(), features());
    let facts = Facts { origins: &origins, features: Some(&features) };
    choose(&objective(text).expect("an objective"), &needs, &sources, &facts)
}

fn only(choice: &Choice) -> &ChoiceVerdict {
    let [verdict] = choice.verdicts.as_slice() else { panic!("{choice:?}") };
    verdict
}

/// Of one run with one table.
fn verdict_of(text: &str, needs: &[&str], ask: &FakeRun) -> ChoiceVerdict {
    only(&asked(text, needs, &[fake_run(ask)])).clone()
}

fn journal(blocks: u32, medians_us: [f64; 3]) -> FakeRun {
    let named = ["ext4", "xfs", "btrfs"].into_iter().zip(medians_us);
    FakeRun {
        seed: 12,
        blocks,
        measure_s: 30,
        candidates: named.map(|(fs, us)| FakeCandidate::new(fs, 500.0, us * 1000.0)).collect(),
        syncs: vec!["fdatasync".into()],
        reference: "ext4".into(),
        ..FakeRun::default()
    }
}

const NOTHING: Fact = Fact { text: "none", source: "a test" };

fn origin(
    served_by: &'static str,
    journal: &'static str,
    systems: &'static str,
    distributions: &'static str,
) -> Origin {
    let fact = |text| Fact { text, source: "a test" };
    Origin {
        home: Home::Linux,
        is_unix_by_design: true,
        article_class: None,
        designed: NOTHING,
        purpose: NOTHING,
        stable_since: NOTHING,
        served_by: fact(served_by),
        journal: fact(journal),
        devices: NOTHING,
        systems: fact(systems),
        distributions: fact(distributions),
        checksums: NOTHING,
        compression: NOTHING,
        snapshots: NOTHING,
        encryption: NOTHING,
        casefold: NOTHING,
        limits: NOTHING,
        looked_up: "2026-11",
    }
}

fn origins() -> BTreeMap<String, Origin> {
    let ext4 = origin(
        "the kernel's ext4 driver",
        "metadata",
        "FreeBSD; Windows needs added programs",
        "RHEL, Debian (default)",
    );
    let xfs = origin("the kernel's xfs driver", "metadata only", "IRIX", "RHEL (default), Debian");
    let btrfs = origin(
        "the kernel's btrfs driver",
        "none: copy on write",
        "none",
        "Debian; not in RHEL since 8; Ubuntu not looked up",
    );
    let zfs = origin(
        "the module zfs, outside the kernel's tree",
        "none: copy on write",
        "FreeBSD",
        "Ubuntu; not RHEL",
    );
    [("ext4", ext4), ("xfs", xfs), ("btrfs", btrfs), ("zfs", zfs)]
        .map(|(fs, origin)| (fs.to_string(), origin))
        .into()
}

fn features() -> FeatureAnswers {
    let json = r#"{ "capabilities": [{ "key": "reflink" }], "rows": [
        { "label": "ext4", "fs": "ext4", "answers": [{ "verdict": "no", "words": "FICLONE: EOPNOTSUPP" }] },
        { "label": "btrfs", "fs": "btrfs", "answers": [{ "verdict": "yes", "words": "" }] } ] }"#;
    FeatureAnswers::read(json).expect("a table")
}

#[test]
fn the_fastest_is_chosen_and_the_others_stand_behind_it() {
    let verdict = verdict_of("journal tail", &[], &journal(9, [200.0, 140.0, 560.0]));
    assert_eq!(verdict.best, ["xfs"], "{verdict:?}");
    let order: Vec<_> = verdict.standings.iter().map(|duel| duel.other.as_str()).collect();
    assert_eq!(order, ["ext4", "btrfs"]);
    let nearest = &verdict.standings[0];
    let ratio = nearest.ratio.expect("a ratio");
    assert!((ratio - 200.0 / 140.0).abs() < 0.1, "{nearest:?}");
    let (low, high) = nearest.interval.expect("nine blocks");
    assert!(low > 1.0 && low < ratio && ratio < high);
    assert_eq!(verdict.sentences[0], "For journal tail on this loop image: xfs.");
    assert!(verdict.sentences[1].starts_with("xfs beside the others: 1."), "{verdict:?}");
    assert!(verdict.conditions.iter().any(|text| text.contains("relative, not absolute")));
    assert!(verdict.conditions.iter().any(|text| text.contains("noise +-")));
    assert!(verdict.conditions.iter().any(|text| text.contains("survives a power loss")));
    assert!(verdict.would_change.iter().any(|text| text.contains("--device")), "{verdict:?}");
}

#[test]
fn what_is_not_told_apart_is_named_and_what_is_equal_with_the_margin() {
    let verdict = verdict_of("journal tail", &[], &journal(9, [150.0, 150.0, 560.0]));
    assert_eq!(verdict.best, ["ext4", "xfs"], "{verdict:?}");
    assert!(verdict.sentences[0].ends_with("ext4 and xfs; they are not told apart."));
    assert!(verdict.sentences[1].contains("not told from xfs (1.00x ["), "{verdict:?}");
    assert!(verdict.would_change.iter().any(|text| text.contains("--until-decided")));
    let verdict = verdict_of("durable.p50", &[], &journal(40, [150.0, 150.0, 560.0]));
    assert_eq!((verdict.end, verdict.best.len()), (AnswerEnd::Equal, 2), "{verdict:?}");
    assert!(verdict.sentences[0].ends_with(": ext4 and xfs are equal within 5 %."));
}

#[test]
fn a_ruled_out_winner_is_named_with_its_condition() {
    let ask = journal(9, [200.0, 300.0, 100.0]);
    assert_eq!(verdict_of("journal tail", &[], &ask).best, ["btrfs"]);
    let verdict = verdict_of("journal tail", &["distribution=RHEL"], &ask);
    assert_eq!(verdict.best, ["ext4"], "{verdict:?}");
    assert_eq!((verdict.ruled_out.len(), verdict.ruled_out[0].label.as_str()), (1, "btrfs"));
    let text = verdict.sentences.join(" ");
    assert!(
        text.contains(
            "Ruled out, distribution=RHEL: btrfs (distributions: Debian; not in RHEL since 8"
        ),
        "{text}"
    );
    let change = &verdict.would_change[0];
    assert!(
        change.starts_with("without the condition distribution=RHEL: btrfs would be ahead (2.0"),
        "{change}"
    );
}

#[test]
fn a_loser_that_is_ruled_out_changes_nothing() {
    let ask = journal(9, [200.0, 300.0, 900.0]);
    let bound = verdict_of("journal tail", &["distribution=RHEL"], &ask);
    assert!(bound.would_change.iter().all(|text| !text.contains("distribution")), "{bound:?}");
}

#[test]
fn features_are_met_missing_or_not_known() {
    let verdict = verdict_of("journal tail", &["reflink"], &journal(9, [100.0, 200.0, 300.0]));
    assert_eq!(verdict.best, ["xfs"], "not known does not rule out: {verdict:?}");
    let text = verdict.sentences.join(" ");
    assert!(text.contains("Ruled out, reflink: ext4 (FICLONE: EOPNOTSUPP)."), "{text}");
    assert!(
        text.contains("Not known, reflink: xfs (pickfs features --fs xfs --json FILE"),
        "{text}"
    );
    assert!(verdict.would_change.iter().any(|text| text.contains("reflink of xfs")), "{verdict:?}");
}

#[test]
fn nobody_left_is_said() {
    let verdict =
        verdict_of("journal tail", &["systems=Plan9"], &journal(9, [100.0, 200.0, 300.0]));
    assert!(verdict.best.is_empty());
    assert!(
        verdict.sentences[0].ends_with("nothing is chosen: no candidate fulfils every condition."),
        "{verdict:?}"
    );
    let needs = ["reflink", "journal", "systems=IRIX"];
    let one = verdict_of("journal tail", &needs, &journal(9, [100.0, 200.0, 300.0]));
    let said = "xfs is the only one left, compared with nothing.";
    assert!(one.sentences[0].ends_with(said), "{one:?}");
    assert_eq!(one.end, AnswerEnd::NoAnswer, "nothing was beaten");
}

#[test]
fn too_few_blocks_choose_nothing_and_say_how_many_it_takes() {
    let verdict = verdict_of("journal tail", &[], &journal(5, [100.0, 200.0, 900.0]));
    assert!(verdict.best.is_empty(), "{verdict:?}");
    assert!(
        verdict.sentences[0].contains("5 blocks, and these candidates need 8 at least"),
        "{verdict:?}"
    );
    let enough = verdict_of("journal tail", &[], &journal(9, [100.0, 200.0, 900.0]));
    assert_eq!(enough.best, ["ext4"]);
}

#[test]
fn a_floor_takes_no_part_and_another_promise_neither() {
    let both =
        FakeRun { syncs: vec!["none".into(), "fdatasync".into()], blocks: 9, ..FakeRun::default() };
    let choice = asked("durable|append.p50", &[], &[fake_run(&both)]);
    assert_eq!(choice.verdicts.len(), 2, "a verdict per table");
    assert_eq!(choice.verdicts[0].place, "sync=none");
    assert_eq!(choice.verdicts[0].best, ["ext4:noatime"]);
    assert_eq!(choice.verdicts[1].best, ["xfs:noatime"]);
    let aside = &choice.verdicts[0].aside[0];
    assert_eq!(
        (aside.0.as_str(), aside.1.as_str()),
        ("tmpfs", "it lies in memory: a floor, not a choice")
    );
    let bound = asked("durable|append.p50", &["durability=power-loss"], &[fake_run(&both)]);
    assert!(bound.verdicts[0].best.is_empty(), "{:?}", bound.verdicts[0]);
    assert_eq!(bound.verdicts[1].best, ["xfs:noatime"]);
    let syncs = FakeRun { compare: "sync".into(), reference: "fdatasync".into(), ..both };
    let rows = asked("append.p50", &[], &[fake_run(&syncs)]);
    assert!(rows.verdicts[0].aside[0].1.contains("--need durability=process-crash"), "{rows:?}");
}

#[test]
fn weights_decide_and_each_number_alone_is_told() {
    let candidates = vec![
        FakeCandidate { tail: 0.2, ..FakeCandidate::new("ext4", 500.0, 200_000.0) },
        FakeCandidate { tail: 0.9, ..FakeCandidate::new("xfs", 500.0, 100_000.0) },
    ];
    let ask = FakeRun { candidates, ..journal(9, [1.0; 3]) };
    let tail = verdict_of("0.1*durable.p50 + durable.p99", &[], &ask);
    assert_eq!(tail.best, ["ext4"], "{tail:?}");
    let by_one = "other weights (exploratory): by durable.p50 alone xfs";
    assert!(tail.would_change.iter().any(|text| text == by_one), "{tail:?}");
    let middle = verdict_of("5*durable.p50 + durable.p99", &[], &ask);
    assert_eq!(middle.best, ["xfs"]);
}

#[test]
fn a_gate_withholds_a_choice_and_tails_need_episodes() {
    let short = vec![Mishap::new(
        "xfs",
        "",
        0,
        MishapKind::Flagged("period-not-covered".into(), "30 s of 60 s".into()),
    )];
    let plain =
        FakeRun { syncs: vec!["none".into()], mishaps: short, ..journal(9, [100.0, 200.0, 300.0]) };
    let said =
        "the periodic work of the file systems was not covered in 9 of 9 blocks of ext4 and xfs";
    let first = &verdict_of("journal tail", &[], &plain).sentences[0];
    assert!(first.contains(said) && !first.contains("at least"), "{first}");
    let mut run = fake_run(&FakeRun { measure_s: 4, ..plain.clone() });
    let is_short = |trial: &mut pickfs_record::TrialRecord| {
        trial.flags.clear();
        trial.environment.put("period.longest_s", 30);
        let paid = trial.ops.iter().find(|op| op.op == "append").cloned().expect("appends");
        trial.ops.push(OpRecord { op: "append with final sync".into(), ..paid });
        trial.counts.insert("final_sync_ns".into(), 1e6);
    };
    run.trials.iter_mut().for_each(is_short);
    for (metric, is_withheld) in [("p99", true), ("p50", false)] {
        let metric = format!("append with final sync.{metric}");
        let choice = asked(&metric, &[], std::slice::from_ref(&run));
        assert_eq!(only(&choice).sentences[0].contains(said), is_withheld, "{choice:?}");
    }
    let rare = FakeRun { rate_per_s: 10.0, ..journal(9, [100.0, 200.0, 300.0]) };
    let far = verdict_of("durable.p99.999", &[], &rare);
    assert!(far.sentences[0].contains("no candidate has a result that carries it"), "{far:?}");
}

#[test]
fn a_rate_that_the_plan_set_is_no_score() {
    let verdict = verdict_of("append.rate", &[], &journal(9, [100.0, 200.0, 300.0]));
    assert!(verdict.aside.iter().all(|(_, why)| why.contains("set by the plan")), "{verdict:?}");
}

#[test]
fn phases_of_a_column_store_choose_too() {
    let ask = FakePhasedRun { blocks: 9, ..FakePhasedRun::column() };
    let run = fake_phased_run(&ask);
    let ingest = asked("ingest", &[], std::slice::from_ref(&run));
    assert_eq!(only(&ingest).best, ["xfs"], "{ingest:?}");
    assert!(only(&ingest).conditions[0].ends_with("its plan fixed these numbers"), "{ingest:?}");
    let hot = asked("query hot", &[], std::slice::from_ref(&run));
    assert!(
        hot.verdicts[0].best.contains(&"xfs".to_string())
            && !hot.verdicts[0].best.contains(&"btrfs".to_string())
    );
    let formula = asked("write float large.rate + 0.5*disk sort.rate", &[], &[run]);
    assert!(only(&formula).conditions[0].contains("exploratory"), "{formula:?}");
}

#[test]
fn a_phase_that_failed_takes_no_part() {
    let outcome = Outcome::Failed { reason: "ENOSPC".into() };
    let lost =
        LostPhase { label: "ext4".into(), phase: "ingest, durable".into(), block: 0, outcome };
    let run =
        fake_phased_run(&FakePhasedRun { blocks: 9, lost: vec![lost], ..FakePhasedRun::column() });
    let choice = asked("ingest", &[], &[run]);
    assert_eq!(only(&choice).aside, [("ext4".to_string(), "ENOSPC".to_string())]);
}

#[test]
fn several_workloads_are_weighed_together_and_missing_ones_named() {
    let speeds = vec![Speed::new("ext4", "", 0.5), Speed::new("btrfs", "", 0.3)];
    let column = fake_phased_run(&FakePhasedRun { blocks: 12, speeds, ..FakePhasedRun::column() });
    let run = fake_run(&journal(12, [200.0, 150.0, 560.0]));
    let choice = asked("all-round", &[], &[run, column]);
    let verdict = only(&choice);
    assert_eq!(verdict.best, ["xfs"], "{verdict:?}");
    assert_eq!(verdict.runs, ["2026-11-21-journal", "2026-11-21-column"]);
    assert_eq!(choice.missing.len(), 2, "two parts are files: {:?}", choice.missing);
    assert!(choice.missing[0].ends_with("no run of the workload files was given"));
    let said = ", of which a part is missing, so far: xfs.";
    assert!(verdict.sentences[0].ends_with(said), "{verdict:?}");
    assert_eq!(verdict.end, AnswerEnd::NoAnswer, "a part of the question was not asked");
}

#[test]
fn a_workload_that_is_not_there_is_named() {
    let run = fake_run(&journal(9, [1.0, 2.0, 3.0]));
    let fix = asked("FIX round trip", &[], std::slice::from_ref(&run));
    assert!(
        fix.verdicts.is_empty() && fix.missing[0].contains("no run of the workload fix was given"),
        "{fix:?}"
    );
    let readers = asked("journal with readers", &[], &[run]);
    assert!(readers.missing[0].contains("no run with readers>=1 holds it"), "{readers:?}");
}

#[test]
fn disturbed_trials_choose_nothing_and_the_choice_without_them_is_told() {
    let mishaps = (1..=9).map(|block| Mishap::disturbed("xfs", "", block, 3.0)).collect();
    let ask = FakeRun { mishaps, ..journal(9, [200.0, 140.0, 560.0]) };
    let verdict = verdict_of("durable.p50", &[], &ask);
    assert_eq!(verdict.end, AnswerEnd::NoAnswer, "{verdict:?}");
    let gate = "other virtual machines took the CPU in 9 of 9 blocks of ext4 and xfs; these are not ranked";
    assert!(verdict.sentences[0].contains(gate), "{verdict:?}");
    let without = "disturbed trials: without them xfs (exploratory)".to_string();
    assert!(verdict.would_change.contains(&without), "{verdict:?}");
}

#[test]
fn skipped_candidates_and_directories_are_told() {
    let mishaps = vec![Mishap::skipped("btrfs", "no btrfs here", "modprobe btrfs")];
    let ask = FakeRun { mishaps, ..journal(9, [200.0, 140.0, 560.0]) };
    let said = verdict_of("durable.p50", &[], &ask).sentences.join("\n");
    assert!(said.contains("btrfs (skipped: no btrfs here)"), "{said}");
    let folder = FakeRun { backing: BackingKind::Directory, ..journal(9, [200.0, 140.0, 560.0]) };
    let verdict = verdict_of("durable.p50", &[], &folder);
    assert!(verdict.conditions[0].contains("never ranked against fresh"), "{verdict:?}");
}

#[test]
fn conditions_are_read_or_explained() {
    for text in [
        "durability=power-loss",
        "systems=Windows",
        "distribution=RHEL",
        "journal",
        "untainted",
        "in-kernel",
        "on-device",
        "reflink",
    ] {
        let need: Need = text.parse().expect(text);
        assert_eq!(need.to_string(), text);
    }
    for text in ["", "durability=some", "systems", "memory=much", "journal=yes", "reflink=yes"] {
        let error = text.parse::<Need>().expect_err(text).to_string();
        assert!(error.contains("pickfs features"), "{error}");
    }
}

#[test]
fn what_is_written_down_rules_out_or_not() {
    let fit = |fs: &str, need: &str| {
        let candidates = [fs, "xfs"].map(|fs| FakeCandidate::new(fs, 500.0, 1e5)).into();
        let ask = FakeRun { candidates, reference: fs.into(), ..journal(5, [1.0; 3]) };
        let verdict = verdict_of("durable.p50", &[need], &ask);
        let is_out = verdict.ruled_out.iter().any(|entry| entry.label == fs);
        let is_open = verdict.not_known.iter().any(|entry| entry.label == fs);
        (is_out, is_open)
    };
    assert_eq!(fit("ext4", "journal"), (false, false));
    assert_eq!(fit("btrfs", "journal"), (false, false), "copy on write is met, with a remark");
    assert_eq!(fit("ext4", "systems=Windows"), (false, false), "by added programs");
    assert_eq!(fit("btrfs", "systems=Windows"), (true, false));
    assert_eq!(fit("zfs", "untainted"), (true, false));
    assert_eq!(fit("ext4", "in-kernel"), (false, false));
    assert_eq!(fit("btrfs", "distribution=Ubuntu"), (false, true));
    assert_eq!(fit("zfs", "distribution=RHEL"), (true, false));
    assert_eq!(fit("f2fs", "journal"), (false, true), "nothing is written down of it");
    assert_eq!(fit("ext4", "memory=64GiB"), (false, false));
    assert_eq!(fit("ext4", "memory=4GiB"), (false, true));
}

/// xfs had less room in these blocks, and is fast by it.
fn with_small_xfs(is_small: fn(u32) -> bool) -> RunRecord {
    let mut run = fake_run(&journal(12, [200.0, 20.0, 400.0]));
    let xfs = run.cells.iter().find(|cell| cell.candidate.label == "xfs").expect("a row");
    let xfs = xfs.id.clone();
    for trial in &mut run.trials {
        let is_small = trial.cell == xfs && is_small(trial.block);
        trial.counts.insert("scale_factor".into(), if is_small { 0.15 } else { 0.2 });
    }
    run
}

#[test]
fn other_work_is_ranked_with_nothing() {
    let choice = asked("journal", &[], &[with_small_xfs(|_| true)]);
    let verdict = only(&choice);
    assert_eq!(verdict.best, ["ext4"], "{verdict:?}");
    assert!(verdict.standings.iter().all(|duel| duel.other != "xfs"));
    let why = "it ran at another scale than the others: not the same work";
    assert!(verdict.aside.contains(&("xfs".into(), why.into())), "{:?}", verdict.aside);
}

#[test]
fn blocks_of_other_work_are_in_no_pair() {
    let choice = asked("journal", &[], &[with_small_xfs(|block| block == 2)]);
    let verdict = only(&choice);
    assert_eq!(verdict.best, ["xfs"]);
    assert!(verdict.standings.iter().all(|duel| duel.blocks == 11), "{:?}", verdict.standings);
}

#[test]
fn what_is_not_chosen_has_estimates_and_the_number_of_blocks_that_it_needs() {
    let verdict = verdict_of("journal", &[], &journal(4, [200.0, 140.0, 560.0]));
    assert!(verdict.best.is_empty(), "{verdict:?}");
    let said = verdict.sentences.join(" ");
    let begin =
        "Estimates that carry no choice: xfs beside the others: not decided against ext4 (1.";
    assert!(said.contains(begin) && said.contains("x, 4 blocks)"), "{said}");
    let changes = &verdict.would_change;
    assert!(changes.iter().any(|text| text.ends_with(" --blocks 8")), "{changes:?}");
    assert!(changes.iter().all(|text| !text.contains("--until-decided")), "{changes:?}");
}

#[test]
fn only_a_loop_image_is_called_one() {
    let mut run = fake_run(&journal(9, [200.0, 140.0, 560.0]));
    run.trials.iter_mut().for_each(|trial| trial.backing = BackingKind::Directory);
    let choice = asked("journal", &[], &[run]);
    let changes = only(&choice).would_change.join(" ");
    assert!(
        changes.contains("an existing directory") && !changes.contains("loop image"),
        "{changes}"
    );
}

#[test]
fn of_several_parts_the_tables_that_are_not_weighed_are_named() {
    let named = |name: &str, seed: u64| {
        let mut run = fake_run(&FakeRun { seed, ..journal(12, [200.0, 140.0, 560.0]) });
        run.name = name.into();
        run
    };
    let files = || fake_phased_run(&FakePhasedRun { blocks: 12, ..FakePhasedRun::files() });
    let choice = asked("all-round", &[], &[named("one", 1), named("two", 2), files()]);
    let said = only(&choice).sentences.join(" ");
    assert!(said.contains("Not weighed, as each part counts its first table: "), "{said}");
    assert!(said.contains(" of two"), "{said}");
    assert!(!said.contains(" of one"), "{said}");
}
