use std::collections::BTreeMap;

use pickfs_analysis::{
    articles::{Answer, Article, Known, Outcome, Source, answers, articles, find},
    findings,
    objective::FeatureAnswers,
};
use pickfs_record::{
    Outcome as TrialOutcome, RunRecord,
    finding::PhaseRow,
    origin::Origin,
    plan::{Metric, Statistic},
    record::Flag,
};
use pickfs_testkit::{
    FakeCandidate, FakePhasedRun, FakeRun, LostPhase, Mishap, MishapKind, Speed, fake_phased_run,
    fake_run, fake_trial::service_quantile,
};

const WORKLOADS: &[&str] = &["journal", "column", "files"];

fn ask_all(article: &[Article], runs: &[RunRecord]) -> Vec<Answer> {
    let found: Vec<_> = runs.iter().map(findings).collect();
    let sources: Vec<Source<'_>> =
        runs.iter().zip(&found).map(|(run, findings)| Source { run, findings }).collect();
    let known = Known { workloads: WORKLOADS, features: None, origins: &BTreeMap::new() };
    answers(article, &sources, &known)
}

fn shipped(id: &str, runs: &[RunRecord]) -> Answer {
    let article = find(&id[..3]).expect("an article");
    let all = ask_all(std::slice::from_ref(article), runs);
    all.into_iter().find(|answer| answer.claim.id == id).expect("a claim")
}

fn put(claim: &str, runs: &[RunRecord]) -> Answer {
    let text = format!(
        "id = \"999\"\ntitle = \"t\"\nby = \"b\"\nsetting = \"s\"\n[[claim]]\nid = \"999-x\"\nsays = \"x.\"\n{claim}"
    );
    let article: Article = toml::from_str(&text).expect("a legal claim");
    ask_all(&[article], runs).remove(0)
}

fn two(ext4_ns: f64, xfs_ns: f64) -> Vec<FakeCandidate> {
    vec![
        FakeCandidate::new("ext4", ext4_ns, 190_000.0),
        FakeCandidate::new("xfs", xfs_ns, 190_000.0),
    ]
}

fn mean_run(ext4_ns: f64, xfs_ns: f64, blocks: u32) -> RunRecord {
    let mean = Metric { statistic: Statistic::Mean, ..service_quantile("append", 0.5) };
    fake_run(&FakeRun {
        seed: 12,
        blocks,
        candidates: two(ext4_ns, xfs_ns),
        syncs: vec!["none".into()],
        reference: "ext4".into(),
        primary: vec![mean],
        ..FakeRun::default()
    })
}

const XFS_MEAN: &str = "workload = \"journal\"\nat = { sync = \"none\" }\nmeasure = \"append.mean service\"\n\
    subject = { fs = \"xfs\" }\nobject = { fs = \"ext4\" }\nrelation = \"faster\"\n";

fn reason(answer: &Answer) -> &str {
    match &answer.outcome {
        Outcome::NotTestable { reason } => reason,
        Outcome::NotDecided { why, .. } => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_loop_plants_seen_opposite_and_no_difference() {
    let seen = put(XFS_MEAN, &[mean_run(700.0, 500.0, 16)]);
    assert_eq!(seen.outcome, Outcome::Seen);
    let run = seen.first().expect("a run");
    let evidence = &run.evidence[0];
    assert!((evidence.ratio.expect("a ratio") - 1.4).abs() < 0.1, "{evidence:?}");
    assert_eq!((evidence.blocks, evidence.is_planned), (16, true));
    assert!(evidence.text.starts_with("append.mean service: xfs 1."), "{}", evidence.text);
    assert!(evidence.text.contains("faster than ext4 [1."), "{}", evidence.text);
    assert_eq!(run.conditions, ["loop image", "Imaginary NVMe 1", "Linux 6.18.0"]);

    let opposite = put(XFS_MEAN, &[mean_run(500.0, 700.0, 16)]);
    assert_eq!(opposite.outcome, Outcome::Opposite);
    assert!(opposite.runs[0].evidence[0].text.contains("xfs 1."), "{opposite:?}");
    assert!(opposite.runs[0].evidence[0].text.contains("slower than ext4"));

    let tie = put(XFS_MEAN, &[mean_run(500.0, 500.0, 16)]);
    assert!(matches!(tie.outcome, Outcome::NotDecided { blocks: 16, .. }), "{tie:?}");
}

#[test]
fn few_blocks_decide_nothing() {
    let few = put(XFS_MEAN, &[mean_run(900.0, 500.0, 4)]);
    assert!(matches!(few.outcome, Outcome::NotDecided { blocks: 4, .. }), "{few:?}");
    assert!(!few.runs[0].evidence[0].text.contains("faster"), "{few:?}");
}

#[test]
fn the_run_that_carries_most_answers_and_dissent_is_named() {
    let long = mean_run(700.0, 500.0, 20);
    let short = RunRecord { name: "short".into(), ..mean_run(500.0, 700.0, 16) };
    let open = RunRecord { name: "open".into(), ..mean_run(500.0, 700.0, 3) };
    let answer = put(XFS_MEAN, &[open, short, long]);
    assert_eq!(answer.outcome, Outcome::Seen);
    assert_eq!(answer.runs[0].evidence[0].blocks, 20);
    let dissent: Vec<_> = answer.dissent().map(|run| run.run.as_str()).collect();
    assert_eq!(dissent, ["short"]);
}

#[test]
fn what_is_missing_is_named_the_nearest_first() {
    let run = mean_run(700.0, 500.0, 16);
    let with = |from: &str, to: &str| put(&XFS_MEAN.replace(from, to), std::slice::from_ref(&run));
    let said = |from: &str, to: &str| reason(&with(from, to)).to_string();
    assert_eq!(said("\"journal\"", "\"fix\""), "pickfs has no workload fix yet");
    assert_eq!(said("\"journal\"", "\"files\""), "no run of the workload files was given");
    assert_eq!(said("fs = \"xfs\"", "fs = \"f2fs|zfs\""), "no row of f2fs or zfs");
    assert_eq!(
        said("sync = \"none\"", "sync = \"fdatasync\""),
        "no row with sync=fdatasync (here none)"
    );
    assert_eq!(said("sync = \"none\"", "readers = \">=1\""), "no row with readers>=1 (not set)");
    let needs = "relation = \"faster\"\nneeds = { \"device.rotational\" = \"1\" }";
    assert_eq!(said("relation = \"faster\"", needs), "needs device.rotational=1, here 0");
    assert_eq!(said("append.mean", "roll.p50"), "roll.p50 service was not measured");
    assert_eq!(
        said("append.mean", "append.max"),
        "the largest and the smallest of n operations are shown and never ranked"
    );
    let unkept = said("append.mean service", "unkept the weather");
    assert_eq!(unkept, "runs hold no comparison of the weather");
}

#[test]
fn a_skipped_file_system_keeps_its_reason_and_a_failed_one_too() {
    let ask = |mishap| {
        let candidates = two(500.0, 700.0);
        let candidates = [candidates, vec![FakeCandidate::new("btrfs", 600.0, 190_000.0)]].concat();
        FakeRun {
            blocks: 16,
            candidates,
            reference: "ext4".into(),
            mishaps: vec![mishap],
            ..FakeRun::default()
        }
    };
    let claim = XFS_MEAN.replace("append.mean", "append.p50").replace("\"xfs\"", "\"btrfs\"");
    let skipped = fake_run(&ask(Mishap::skipped("btrfs", "no btrfs in this kernel", "modprobe")));
    assert_eq!(reason(&put(&claim, &[skipped])), "no row of btrfs (no btrfs in this kernel)");
    let failed = fake_run(&ask(Mishap::failed("btrfs", "", 0, "mkfs: ENOSPC")));
    assert_eq!(reason(&put(&claim, &[failed])), "btrfs has no result: mkfs: ENOSPC");
}

#[test]
fn memory_and_disk_are_never_compared() {
    let run = fake_run(&FakeRun { blocks: 16, ..FakeRun::default() });
    let answer = shipped("003-memory-write", &[run]);
    assert_eq!(reason(&answer), "rows on loop image and on memory are not compared");
}

#[test]
fn rows_that_are_no_reference_are_compared_themselves() {
    let run = fake_run(&FakeRun { blocks: 16, ..FakeRun::default() });
    let claim = "workload = \"journal\"\nat = { sync = \"none\" }\nmeasure = \"append.p50\"\n\
        subject = { fs = \"xfs\" }\nobject = { fs = \"btrfs|zfs\" }\nrelation = \"at least 2\"\n";
    let answer = put(claim, &[run]);
    assert_eq!(answer.outcome, Outcome::Seen, "{answer:?}");
    let evidence = &answer.runs[0].evidence[0];
    assert!((evidence.ratio.expect("both have one") - 1480.0 / 550.0).abs() < 0.2);
    assert_eq!(answer.runs[0].without, ["zfs"]);
}

#[test]
fn one_pair_that_goes_the_other_way_makes_it_the_opposite() {
    let run = fake_run(&FakeRun { blocks: 16, ..FakeRun::default() });
    let claim = "workload = \"journal\"\nat = { sync = \"none\" }\nmeasure = \"append.p50\"\n\
        subject = { fs = \"xfs\" }\nobject = { fs = \"btrfs|ext4\" }\nrelation = \"faster\"\n";
    let answer = put(claim, &[run]);
    assert_eq!(answer.outcome, Outcome::Opposite, "{answer:?}");
    assert_eq!(answer.runs[0].evidence.len(), 2);
}

#[test]
fn levels_of_an_axis_are_subject_and_object() {
    let run = fake_run(&FakeRun {
        blocks: 16,
        compare: "sync".into(),
        reference: "none".into(),
        primary: vec![service_quantile("append", 0.5)],
        ..FakeRun::default()
    });
    let claim = "workload = \"journal\"\nat = { fs = \"xfs\" }\nmeasure = \"append.p50\"\n\
        subject = { sync = \"fdatasync\" }\nobject = { sync = \"none\" }\nrelation = \"within 1.3\"\n";
    let answer = put(claim, &[run]);
    assert_eq!(answer.outcome, Outcome::Seen, "{answer:?}");
    assert_eq!(answer.runs[0].evidence[0].panel, "xfs:noatime");
}

#[test]
fn values_of_one_row_are_over_or_under_a_bound() {
    let run = || mean_run(700.0, 500.0, 16);
    let fast = shipped("003-five-microseconds", &[run()]);
    assert_eq!(fast.outcome, Outcome::Seen, "{fast:?}");
    assert!(fast.runs[0].evidence[0].text.contains("smallest of 1280000 appends"), "{fast:?}");
    let claim = |measure: &str, relation: &str| {
        format!(
            "workload = \"journal\"\nmeasure = \"{measure}\"\nsubject = {{ fs = \"xfs\" }}\nrelation = \"{relation}\"\n"
        )
    };
    let said = |measure, relation| put(&claim(measure, relation), &[run()]).outcome.words();
    assert_eq!(said("append.p50", "under 20us"), "seen here");
    assert_eq!(said("append.p50", "over 20us"), "opposite here");
    assert_eq!(said("append.max", "over 1s"), "opposite here");
    assert_eq!(said("append.rate", "reaches 9000"), "seen here");
    assert_eq!(said("append.rate", "reaches 90000"), "opposite here");
}

#[test]
fn no_large_operation_in_short_trials_proves_nothing() {
    let mishaps = vec![Mishap::new(
        "ext4",
        "",
        0,
        MishapKind::Flagged("period-not-covered".into(), "8 s of 30 s".into()),
    )];
    let run = fake_run(&FakeRun {
        blocks: 16,
        candidates: two(500.0, 500.0),
        mishaps,
        ..FakeRun::default()
    });
    let claim = "workload = \"journal\"\nat = { sync = \"none\" }\nmeasure = \"append.max\"\n\
        subject = { fs = \"ext4\" }\nrelation = \"over 1s\"\n";
    let answer = put(claim, std::slice::from_ref(&run));
    assert!(reason(&answer).contains("too short"), "{answer:?}");
    let tiny = put(&claim.replace("over 1s", "over 1us"), &[run]);
    assert_eq!(tiny.outcome, Outcome::Seen, "one operation over the bound is enough");
}

fn column(lanes: u32, blocks: u32, speeds: Vec<Speed>) -> RunRecord {
    fake_phased_run(&FakePhasedRun {
        blocks,
        lanes: vec![1, lanes],
        speeds,
        ..FakePhasedRun::column()
    })
}

fn slow_ext4() -> Vec<Speed> {
    vec![
        Speed::new("ext4", "write", 0.3),
        Speed::new("ext4", "sequential read binary", 0.2),
        Speed::new("btrfs", "", 0.7),
    ]
}

#[test]
fn phases_plant_seen_opposite_no_difference_and_few_blocks() {
    let run = || column(64, 16, slow_ext4());
    let seen = shipped("002-write-float-64", &[run()]);
    assert_eq!(seen.outcome, Outcome::Seen, "{seen:?}");
    let evidence = &seen.runs[0].evidence[0];
    assert_eq!(
        (evidence.panel.as_str(), evidence.blocks, evidence.is_planned),
        ("lanes=64", 16, false)
    );
    assert!((evidence.ratio.expect("rates") - 1.0 / 0.3).abs() < 0.4);
    let opposite = shipped("002-write-small-1", &[run()]);
    assert_eq!(opposite.outcome, Outcome::Opposite, "{opposite:?}");
    let smaller =
        shipped("002-write-float-64", &[column(64, 16, vec![Speed::new("ext4", "write", 0.7)])]);
    assert_eq!(smaller.outcome, Outcome::Weaker, "{smaller:?}");
    let tie = shipped("002-sort-64", &[run()]);
    let is_open = matches!(tie.outcome, Outcome::NoDifference { .. } | Outcome::NotDecided { .. });
    assert!(is_open, "{tie:?}");
    let few = shipped("002-write-float-64", &[column(64, 4, slow_ext4())]);
    assert!(matches!(few.outcome, Outcome::NotDecided { blocks: 4, .. }), "{few:?}");
    let lanes = shipped("002-write-float-64", &[fake_phased_run(&FakePhasedRun::column())]);
    assert_eq!(reason(&lanes), "no row with lanes>=16 (here 1)");
}

#[test]
fn tables_and_several_rows_answer_as_one() {
    let run = || column(64, 26, slow_ext4());
    let mean = shipped("002-write-mean-64", &[run()]);
    assert_eq!(mean.outcome, Outcome::Seen, "{mean:?}");
    assert!(
        mean.runs[0].evidence[0].text.starts_with("mean of 10 rows (table high impact)"),
        "{mean:?}"
    );
    let rows = shipped("002-write-consistent-64", &[run()]);
    assert_eq!(rows.outcome, Outcome::Seen, "{rows:?}");
    assert!(rows.runs[0].evidence[0].text.contains("faster in 6 of 10 rows"), "{rows:?}");
    let all = shipped("002-no-single-best", &[run()]);
    assert_eq!(all.outcome, Outcome::Opposite, "ext4 and btrfs are slower throughout: {all:?}");
    assert_eq!(all.runs[0].without, ["f2fs", "zfs"]);
    let hot = shipped("002-hot-1", &[run()]);
    assert!(hot.runs[0].evidence[0].text.contains("mean of 11 rows (table hot)"), "{hot:?}");
}

#[test]
fn a_cold_row_that_was_warm_decides_nothing() {
    let answer = shipped("002-cold-binary-64", &[column(64, 16, slow_ext4())]);
    let said = "reads that should be cold found their data in memory in 16 of 16 blocks";
    assert!(reason(&answer).starts_with(said), "{answer:?}");
}

/// What a gate leaves out of a claim over several rows is told, and half of them withhold it.
#[test]
fn rows_that_are_left_out_are_counted_and_half_of_them_decide_nothing() {
    let run = column(64, 26, slow_ext4());
    let found = findings(&run);
    let panel = found.panels.iter().find(|panel| panel.title == "lanes=64").expect("a panel");
    let is_row = |phase: &&PhaseRow| phase.is_high_impact && !phase.is_derived;
    let names: Vec<String> = panel.phases.iter().filter(is_row).map(|p| p.phase.clone()).collect();
    let gated = |count: usize, claim: &str| {
        let mut run = run.clone();
        let phases = run.trials.iter_mut().flat_map(|trial| &mut trial.phases);
        for phase in phases.filter(|phase| names[..count].contains(&phase.phase)) {
            phase.flags.push(Flag { kind: "not-cold".into(), text: "3 reads".into() });
        }
        shipped(claim, &[run])
    };
    let why = "reads that should be cold found their data in memory in 26 of 26 blocks";
    for claim in ["002-write-mean-64", "002-write-consistent-64"] {
        let some = gated(3, claim);
        let text = &some.runs[0].evidence[0].text;
        assert!(text.contains(&format!("; 3 of 10 rows left out: {why}")), "{some:?}");
        assert_eq!(some.outcome, Outcome::Seen, "{some:?}");
        let half = gated(5, claim);
        assert!(reason(&half).starts_with(&format!("5 of 10 rows left out: {why}")), "{half:?}");
    }
}

#[test]
fn a_planned_phase_is_judged_with_its_plan() {
    let answer =
        shipped("002-advice-ingest", &[column(64, 12, vec![Speed::new("ext4", "ingest", 0.6)])]);
    let planned: Vec<bool> =
        answer.runs[0].evidence.iter().map(|evidence| evidence.is_planned).collect();
    assert!(planned.iter().all(|planned| *planned), "{answer:?}");
}

#[test]
fn failures_are_claims_too() {
    let files = fake_phased_run(&FakePhasedRun::files());
    let failed = shipped("004-fails-fat", std::slice::from_ref(&files));
    assert_eq!(failed.outcome, Outcome::Seen, "{failed:?}");
    assert!(failed.runs[0].evidence[0].text.contains("65,536"), "{failed:?}");
    let works = "workload = \"files\"\nmeasure = \"seq create.rate\"\nsubject = { fs = \"fat16\" }\nrelation = \"works\"\n";
    assert_eq!(put(works, std::slice::from_ref(&files)).outcome, Outcome::Opposite);
    let outcome = TrialOutcome::Failed { reason: "EIO".into() };
    let lost = LostPhase { label: "xfs".into(), phase: "seq create".into(), block: 2, outcome };
    let once = fake_phased_run(&FakePhasedRun { lost: vec![lost], ..FakePhasedRun::files() });
    let claim = works.replace("fat16", "xfs");
    assert!(reason(&put(&claim, &[once])).contains("some trials failed"));
}

#[test]
fn features_answer_from_their_table_and_facts_from_their_sources() {
    let article = find("004").expect("built in");
    let features = FeatureAnswers::read(
        r#"{ "capabilities": [{ "key": "hard-links" }], "rows": [
            { "label": "fat32", "fs": "fat32", "answers": [{ "verdict": "no", "words": "link: EPERM" }] },
            { "label": "xfs", "fs": "xfs", "answers": [{ "verdict": "yes", "words": "" }] },
            { "label": "jfs", "fs": "jfs", "answers": [{ "verdict": "no", "words": "link: EPERM" }] } ] }"#,
    )
    .expect("a table");
    let origins: BTreeMap<String, Origin> = BTreeMap::new();
    let known = Known { workloads: WORKLOADS, features: Some(&features), origins: &origins };
    let all = answers(std::slice::from_ref(article), &[], &known);
    let of = |id: &str| all.iter().find(|answer| answer.claim.id == id).expect("a claim");
    assert_eq!(of("004-foreign-no-links").outcome, Outcome::Seen);
    assert_eq!(
        of("004-foreign-no-links").runs[0].evidence[0].text,
        "fat32: hard-links no (link: EPERM)"
    );
    assert_eq!(of("004-foreign-no-links").runs[0].without, ["affs", "fat16", "hfs", "hpfs"]);
    assert_eq!(of("004-supported-links").outcome, Outcome::Opposite);
    assert!(reason(of("004-hfsx-case")).contains("no answer of hfsx"));
    assert!(reason(of("004-ext3-journal")).starts_with("a fact of the file system"));
}

#[test]
fn every_claim_gets_an_answer_from_any_runs() {
    let runs = [
        fake_run(&FakeRun { blocks: 16, ..FakeRun::default() }),
        column(64, 26, slow_ext4()),
        fake_phased_run(&FakePhasedRun { blocks: 16, ..FakePhasedRun::files() }),
    ];
    let all = ask_all(articles(), &runs);
    let claims: usize = articles().iter().map(|article| article.claims.len()).sum();
    assert_eq!(all.len(), claims);
    let answered = all.iter().filter(|answer| answer.outcome.is_answer()).count();
    assert!(answered > 30, "{answered} of {claims}");
    for answer in &all {
        for evidence in answer.runs.iter().flat_map(|run| &run.evidence) {
            assert!(evidence.ratio.is_none_or(|ratio| ratio.is_finite() && ratio > 0.0));
            assert!(
                !evidence.text.contains("NaN") && !evidence.text.contains("inf"),
                "{}",
                evidence.text
            );
        }
    }
}
