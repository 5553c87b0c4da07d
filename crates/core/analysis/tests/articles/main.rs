mod phases;
mod plans;

use std::collections::{BTreeMap, BTreeSet};

use pickfs_analysis::{
    articles::{Answer, Article, Known, Outcome, Source, answers, articles, find},
    findings,
    objective::FeatureAnswers,
};
use pickfs_record::{
    Level, RunRecord,
    origin::Origin,
    plan::{Metric, Statistic},
};
use pickfs_testkit::{
    FakeCandidate, FakePhasedRun, FakeRun, Mishap, MishapKind, explained, fake_phased_run,
    fake_run, fake_trial::service_quantile,
};

fn ask_all(article: &[Article], runs: &[RunRecord]) -> Vec<Answer> {
    let found: Vec<_> = runs.iter().map(findings).collect();
    let sources: Vec<Source<'_>> =
        runs.iter().zip(&found).map(|(run, findings)| Source { run, findings }).collect();
    let plans = BTreeMap::from([("roll", "12 min".to_owned()), ("kernels", String::new())]);
    let known = Known { plans: &plans, features: None, origins: &BTreeMap::new() };
    answers(article, &sources, &known)
}

/// As a run of that plan in its whole size says of itself.
fn made_for(plan: &str, run: &RunRecord) -> RunRecord {
    let mut run = run.clone();
    run.plan.name = plan.into();
    for cell in run.cells.iter_mut().filter(|cell| cell.workload.name != "journal") {
        for (name, value) in [("scale", "full"), ("files", "512000"), ("cache", "cold")] {
            cell.workload.params.insert(name.into(), value.into());
        }
    }
    run
}

fn shipped(id: &str, runs: &[RunRecord]) -> Answer {
    let article = find(&id[..3]).expect("an article");
    let claim = article.claims.iter().find(|claim| claim.id == id).expect("a claim");
    let plan = claim.plans().next().expect("a plan");
    let runs: Vec<RunRecord> = runs.iter().map(|run| made_for(plan, run)).collect();
    let all = ask_all(std::slice::from_ref(article), &runs);
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
    mean_run_of(two(ext4_ns, xfs_ns), blocks)
}

fn mean_run_of(candidates: Vec<FakeCandidate>, blocks: u32) -> RunRecord {
    let mean = Metric { statistic: Statistic::Mean, ..service_quantile("append", 0.5) };
    fake_run(&FakeRun {
        seed: 12,
        blocks,
        candidates,
        syncs: vec!["none".into()],
        reference: "ext4".into(),
        primary: vec![mean],
        ..FakeRun::default()
    })
}

const XFS_P50: &str = "workload = \"journal\"\nat = { sync = \"none\" }\nmeasure = \"append.p50\"\n\
    subject = { fs = \"xfs\" }\nobject = { fs = \"ext4\" }\nrelation = \"faster\"\n";

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
    let of_two = XFS_MEAN.replace("append.mean", "roll|append.mean");
    let seen = put(&of_two, &[mean_run(700.0, 500.0, 16)]);
    assert_eq!(seen.outcome, Outcome::Seen);
    let run = seen.first().expect("a run");
    let evidence = &run.evidence[0];
    assert!((evidence.ratio.expect("a ratio") - 1.4).abs() < 0.1, "{evidence:?}");
    assert_eq!((evidence.blocks, evidence.is_planned), (16, true));
    assert!(evidence.text.starts_with("append.mean service: xfs 1."), "{}", evidence.text);
    assert!(evidence.text.contains("faster than ext4 [1."), "{}", evidence.text);
    assert_eq!(run.conditions, ["loop image", "Imaginary NVMe 1", "Linux 6.18.0"]);

    let mut changed = mean_run(700.0, 500.0, 16);
    for trial in &mut changed.trials {
        let block = u64::from(trial.block);
        trial.raw.iter_mut().for_each(|raw| raw.p50_ns *= block);
    }
    let doubt = put(&of_two, &[changed]).runs[0].conditions.last().cloned();
    assert_eq!(doubt.as_deref(), Some("doubt: the machine changed during the run"));

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
fn a_run_of_all_that_a_claim_names_answers_before_a_longer_one_of_a_part() {
    let mut all = two(700.0, 500.0);
    all.push(FakeCandidate::new("btrfs", 300.0, 190_000.0));
    let (wide, long) = (mean_run_of(all, 16), mean_run(700.0, 500.0, 20));
    let of_two = XFS_MEAN.replace("\"ext4\"", "\"ext4|btrfs\"");
    let answer = put(&of_two, &[long, wide]);
    assert_eq!((answer.outcome, answer.runs[0].evidence.len()), (Outcome::Opposite, 2));
}

#[test]
fn what_is_missing_is_named_the_nearest_first() {
    let run = mean_run(700.0, 500.0, 16);
    let with = |from: &str, to: &str| put(&XFS_MEAN.replace(from, to), std::slice::from_ref(&run));
    let said = |from: &str, to: &str| reason(&with(from, to)).to_string();
    let none = "no run of a plan of files with rows of files was given";
    assert_eq!(said("\"journal\"", "\"files\""), none);
    assert_eq!(said("fs = \"xfs\"", "fs = \"f2fs|zfs\""), "no row of f2fs or zfs");
    assert_eq!(
        said("sync = \"none\"", "sync = \"fdatasync\""),
        "no row with sync=fdatasync (here none)"
    );
    assert_eq!(said("sync = \"none\"", "readers = \">=1\""), "no row with readers>=1 (not set)");
    let needs = "relation = \"faster\"\nneeds = { \"device.rotational\" = \"1\" }";
    assert_eq!(said("relation = \"faster\"", needs), "needs device.rotational=1, here 0");
    assert_eq!(said("append.mean", "roll.p50"), "roll.p50 service was not measured");
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
fn memory_beside_a_disk_is_shown_and_decides_nothing() {
    let run = fake_run(&FakeRun { blocks: 20, ..FakeRun::default() });
    let memory = shipped("003-memory-write", std::slice::from_ref(&run));
    assert!(matches!(&memory.outcome, Outcome::Shown { why } if why.contains("memory")));
    let evidence = &memory.runs[0].evidence[0];
    assert!(evidence.ratio.is_some() && evidence.interval.is_none(), "{evidence:?}");
    let named = XFS_P50.replace("\"xfs\"", "\"tmpfs\", backing = \"memory\"");
    assert_eq!(put(&named, std::slice::from_ref(&run)).outcome, Outcome::Seen, "it asks for that");
}

#[test]
fn rows_of_two_tables_are_compared_where_nothing_else_differs() {
    let run = fake_run(&FakeRun { blocks: 20, ..FakeRun::default() });
    let claim = "workload = \"journal\"\nat = { fs = \"xfs\" }\nmeasure = \"append.p50 service\"\n\
        subject = { sync = \"fdatasync\" }\nobject = { sync = \"none\" }\nrelation = \"within 1.3\"\n";
    let answer = put(claim, std::slice::from_ref(&run));
    assert_eq!(answer.outcome, Outcome::Seen, "{answer:?}");
    let evidence = &answer.runs[0].evidence[0];
    let words = [&evidence.panel, &evidence.subject, &evidence.object].map(String::as_str);
    assert_eq!(words, ["xfs:noatime", "sync=fdatasync", "sync=none"]);
    let both = claim.replace("at = { fs = \"xfs\" }\n", "");
    let all = put(&both, std::slice::from_ref(&run));
    assert_eq!(all.runs[0].evidence.len(), 4, "each with itself and none with another: {all:?}");
    let mut slower = run;
    let synced = |cell: &&mut pickfs_record::Cell| cell.level("sync") == Some("fdatasync");
    for cell in slower.cells.iter_mut().filter(synced) {
        cell.workload.params.insert("rate".into(), 1_000.into());
    }
    let other = put(claim, &[slower]);
    assert!(reason(&other).ends_with("these in rate too"), "{other:?}");
}

/// The level of sync stands for the kernel of a guest.
#[test]
fn kernels_of_guests_are_levels_like_others() {
    let candidates = [("ext4", 500.0), ("ext3", 2_000.0)];
    let candidates = candidates.map(|(fs, ns)| FakeCandidate::new(fs, ns, 190_000.0)).to_vec();
    let mut run = fake_run(&FakeRun {
        blocks: 24,
        candidates,
        reference: "ext4".into(),
        ..FakeRun::default()
    });
    for cell in &mut run.cells {
        let kernel = if cell.level("sync") == Some("none") { "5.10" } else { "6.12" };
        let known = [("guest.kernel", kernel), ("guest.engine", "qemu")];
        cell.knobs = known.map(|(name, value)| (name.into(), value.into())).into();
        cell.workload.params.insert("sync".into(), "none".into());
        cell.levels[0] = Level { axis: "guest.kernel".into(), value: kernel.into() };
    }
    let both = shipped("003-kernel-and-ext4", std::slice::from_ref(&run));
    assert_eq!(both.outcome, Outcome::Seen, "{both:?}");
    assert_eq!(both.runs[0].evidence[0].subject, "ext4, guest.kernel=6.12");
    let oldest = shipped("003-baseline", &[run]);
    assert!(oldest.takes.contains("2.6.32"), "{oldest:?}");
}

#[test]
fn spread_shortest_and_worst_of_each_second_are_statistics() {
    let mut candidates = two(500.0, 500.0);
    candidates[0].tail = 0.8;
    let run = fake_run(&FakeRun {
        blocks: 20,
        candidates,
        syncs: vec!["none".into()],
        reference: "ext4".into(),
        ..FakeRun::default()
    });
    let said = |measure: &str, relation: &str| {
        let claim = XFS_P50.replace("append.p50", measure).replace("faster", relation);
        put(&claim, std::slice::from_ref(&run)).outcome.words()
    };
    assert_eq!(said("append.sd service", "at least 2"), "seen here");
    assert_eq!(said("append.worst service", "faster"), "seen here");
    assert_eq!(said("append.min service", "faster"), "opposite here");
}

/// The typical second is no answer to what is said of each.
#[test]
fn seconds_over_a_bound_are_counted_where_one_is_enough() {
    let run = mean_run(500.0, 500.0, 8);
    let claim = "workload = \"journal\"\nshown = true\nmeasure = \"append.worst service\"\n\
        subject = { fs = \"ext4\" }\nrelation = \"under 100ms\"\n";
    let answer = put(claim, &[run]);
    assert!(
        matches!(&answer.outcome, Outcome::Shown { why } if why.contains("seconds are counted"))
    );
    let text = &answer.runs[0].evidence[0].text;
    assert!(text.contains(" seconds with an append over 100 ms in 8 trials, the"), "{text}");
}

#[test]
fn the_ledger_of_an_explained_run_answers_for_causes() {
    let run = explained(mean_run(500.0, 500.0, 20));
    let claim = |word: &str, fs: &str| {
        format!(
            "workload = \"journal\"\nmeasure = \"cause {word} of append\"\n\
             subject = {{ fs = \"{fs}\" }}\nrelation = \"some\"\n"
        )
    };
    let said = |word: &str, fs: &str| put(&claim(word, fs), std::slice::from_ref(&run));
    assert_eq!(said("jbd2", "ext4").outcome, Outcome::Seen);
    let text = &said("jbd2", "ext4").runs[0].evidence[0].text;
    let wanted = "ext4: jbd2: 70 % of the slow time of append (waiting for an ext4 journal commit)";
    assert!(text.starts_with(wanted) && text.ends_with("in 20 of 20 blocks"), "{text}");
    assert_eq!(said("jbd2", "xfs").outcome, Outcome::Opposite);
    assert_eq!(said("xfs-inode-lock", "xfs").outcome, Outcome::Seen);
    let plain = put(&claim("jbd2", "ext4"), &[mean_run(500.0, 500.0, 20)]);
    assert_eq!(reason(&plain), "the slow appends of no trial were explained");
    assert_eq!(plain.takes, "a run of a plan of journal with --explain");
}

/// Not the run that says most, nor the one with most blocks.
#[test]
fn runs_of_the_claims_own_plan_alone_answer() {
    let own = |blocks| {
        let mut run = mean_run(500.0, 700.0, blocks);
        run.plan.name = "article-001-preallocation".into();
        RunRecord { name: format!("own-{blocks}"), ..run }
    };
    let claim = format!("plan = \"article-001-preallocation\"\n{XFS_MEAN}");
    let few = put(&claim, &[mean_run(700.0, 500.0, 30), own(4)]);
    let runs: Vec<_> = few.runs.iter().map(|run| run.run.as_str()).collect();
    assert_eq!((runs.as_slice(), few.outcome.words()), (&["own-4"][..], "not decided"));
    assert!(few.takes.starts_with("a run of article-001-preallocation with --blocks "), "{few:?}");
    let most = put(&claim, &[own(4), own(16), mean_run(700.0, 500.0, 30)]);
    assert_eq!((most.runs[0].run.as_str(), most.outcome.words()), ("own-16", "opposite here"));
    assert_eq!(most.takes, "");
}

#[test]
fn rows_that_are_no_reference_are_compared_themselves() {
    let run = fake_run(&FakeRun { blocks: 20, ..FakeRun::default() });
    let claim = "workload = \"journal\"\nat = { sync = \"none\" }\nmeasure = \"append.p50\"\n\
        subject = { fs = \"xfs\" }\nobject = { fs = \"btrfs|zfs\" }\nrelation = \"at least 2\"\n";
    let answer = put(claim, std::slice::from_ref(&run));
    assert_eq!(reason(&answer), "zfs is not in this run");
    assert_eq!(answer.takes, "a run of a plan of journal with zfs");
    let evidence = &answer.runs[0].evidence[0];
    assert!((evidence.ratio.expect("both have one") - 1480.0 / 550.0).abs() < 0.2);
    assert_eq!(evidence.outcome, Outcome::Seen);
    assert_eq!(answer.runs[0].without, ["zfs"]);
    let there = put(&claim.replace("btrfs|zfs", "btrfs"), std::slice::from_ref(&run));
    assert_eq!(there.outcome, Outcome::Seen, "{there:?}");
    let other = put(&claim.replace("at least 2", "slower"), &[run]);
    assert_eq!(other.outcome, Outcome::Opposite, "one that is there is enough");
}

#[test]
fn one_pair_that_goes_the_other_way_makes_it_the_opposite() {
    let run = fake_run(&FakeRun { blocks: 20, ..FakeRun::default() });
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
    let run = || mean_run(700.0, 500.0, 20);
    let fast = shipped("003-five-microseconds", &[run()]);
    assert_eq!(fast.outcome, Outcome::Seen, "{fast:?}");
    assert!(fast.runs[0].evidence[0].text.starts_with("ext4: append.min service 0."), "{fast:?}");
    let claim = |measure: &str, relation: &str| {
        format!(
            "workload = \"journal\"\nmeasure = \"{measure}\"\nsubject = {{ fs = \"xfs\" }}\nrelation = \"{relation}\"\n"
        )
    };
    let said = |measure, relation| put(&claim(measure, relation), &[run()]).outcome.words();
    assert_eq!(said("append.p50", "under 20us"), "seen here");
    assert_eq!(said("append.p50", "over 20us"), "opposite here");
    assert_eq!(said("append.p50 service", "under 500ns"), "not decided", "it lies on both sides");
    assert_eq!(said("append.rate", "reaches 9000"), "seen here");
    assert_eq!(said("append.rate", "reaches 90000"), "opposite here");
    let few = put(&claim("append.p50", "under 20us"), &[mean_run(700.0, 500.0, 4)]);
    assert!(matches!(few.outcome, Outcome::NotDecided { blocks: 4, .. }), "{few:?}");
    let text = |kind| {
        let mishaps = vec![Mishap::new("xfs", "", 3, kind)];
        let syncs = vec!["none".into()];
        let run = FakeRun {
            blocks: 20,
            candidates: two(700.0, 500.0),
            syncs,
            mishaps,
            ..FakeRun::default()
        };
        put(&claim("append.p50", "under 20us"), &[fake_run(&run)]).runs[0].evidence[0].text.clone()
    };
    let failed = text(MishapKind::Failed("EIO".into()));
    assert!(failed.contains(" of 19 blocks that finished"), "{failed}");
    let lost = text(MishapKind::Flagged("records-lost".into(), "one".into()));
    assert!(lost.starts_with("xfs: append.p50 has no value; "), "{lost}");
}

#[test]
fn a_tail_of_short_trials_proves_nothing_and_says_what_would() {
    let mishaps = vec![Mishap::new(
        "ext4",
        "",
        0,
        MishapKind::Flagged("period-not-covered".into(), "8 s of 30 s".into()),
    )];
    let run = fake_run(&FakeRun {
        blocks: 20,
        candidates: two(500.0, 500.0),
        mishaps,
        ..FakeRun::default()
    });
    let claim = "workload = \"journal\"\nat = { sync = \"none\" }\nmeasure = \"append.worst service\"\n\
        subject = { fs = \"ext4\" }\nrelation = \"over 1us\"\n";
    let answer = put(claim, std::slice::from_ref(&run));
    assert!(reason(&answer).contains("periodic work of the file systems was not covered"));
    assert_eq!(answer.takes, "another run of journal: measure for two of its periods");
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
    let plans = &BTreeMap::new();
    let known = Known { plans, features: Some(&features), origins: &origins };
    let all = answers(std::slice::from_ref(article), &[], &known);
    let of = |id: &str| all.iter().find(|answer| answer.claim.id == id).expect("a claim");
    let said = "affs, fat16, hfs and hpfs are not in this table";
    assert_eq!(reason(of("004-foreign-no-links")), said);
    assert_eq!(
        of("004-foreign-no-links").runs[0].evidence[0].text,
        "fat32: hard-links no (link: EPERM)"
    );
    assert_eq!(of("004-foreign-no-links").runs[0].without, ["affs", "fat16", "hfs", "hpfs"]);
    assert_eq!(of("004-supported-links").outcome, Outcome::Opposite);
    assert!(reason(of("004-hfsx-case")).contains("no answer of hfsx"));
    let unknown = of("004-ext3-journal");
    assert_eq!(reason(unknown), "no answer of ext3 is in the facts with their sources");
    assert_eq!((unknown.runs.len(), unknown.takes.as_str()), (0, "a source that says it"));
}

/// Each claim as these runs answer it where they are of its plan.
fn of_their_plans(runs: &[RunRecord]) -> Vec<Answer> {
    let all = || articles().iter().flat_map(|article| &article.claims);
    let plans: BTreeSet<&str> = all().map(|claim| claim.plan.as_str()).collect();
    let of_plan = |plan: &&str| {
        let first = plan.split('|').next().unwrap_or(plan);
        let named: Vec<RunRecord> = runs.iter().map(|run| made_for(first, run)).collect();
        let mut answers = ask_all(articles(), &named);
        answers.retain(|answer| answer.claim.plan == **plan);
        answers
    };
    plans.iter().flat_map(of_plan).collect()
}

#[test]
fn every_claim_gets_an_answer_from_any_runs() {
    let runs = [
        fake_run(&FakeRun { blocks: 16, ..FakeRun::default() }),
        phases::column(64, 26, phases::slow_ext4()),
        fake_phased_run(&FakePhasedRun { blocks: 16, ..FakePhasedRun::files() }),
    ];
    let all = of_their_plans(&runs);
    let claims: usize = articles().iter().map(|article| article.claims.len()).sum();
    assert_eq!(all.len(), claims);
    let answered = all.iter().filter(|answer| answer.outcome.is_answer()).count();
    assert!(answered > 15, "{answered} of {claims}");
    for answer in &all {
        assert_eq!(answer.outcome.is_open(), !answer.takes.is_empty(), "{answer:?}");
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
