use pickfs_analysis::{
    articles::{Outcome, find},
    findings,
};
use pickfs_record::{Outcome as TrialOutcome, RunRecord, finding::PhaseRow, record::Flag};
use pickfs_testkit::{FakePhasedRun, LostPhase, Speed, fake_phased_run};

use super::{ask_all, put, reason, shipped};

pub fn column(lanes: u32, blocks: u32, speeds: Vec<Speed>) -> RunRecord {
    fake_phased_run(&FakePhasedRun {
        blocks,
        lanes: vec![1, lanes],
        speeds,
        ..FakePhasedRun::column()
    })
}

pub fn slow_ext4() -> Vec<Speed> {
    vec![
        Speed::new("ext4", "write", 0.3),
        Speed::new("ext4", "sequential read binary", 0.2),
        Speed::new("btrfs", "", 0.7),
    ]
}

fn all_slow() -> RunRecord {
    column(64, 26, vec![Speed::new("ext4", "", 0.3)])
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
    assert_eq!(tie.outcome, Outcome::Weaker, "{tie:?}");
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
    assert!(reason(&rows).starts_with("faster in 6, slower in 0, open in "), "{rows:?}");
    let rows = shipped("002-write-consistent-64", &[all_slow()]);
    assert_eq!(rows.outcome, Outcome::Seen, "{rows:?}");
    assert!(rows.runs[0].evidence[0].text.contains("faster in 10 of 10 rows"), "{rows:?}");
    let all = shipped("002-no-single-best", &[run()]);
    assert!(matches!(all.outcome, Outcome::NotDecided { .. }), "others are not there: {all:?}");
    assert_eq!(all.runs[0].without, ["f2fs", "zfs"]);
    let hot = shipped("002-hot-1", &[run()]);
    assert!(hot.runs[0].evidence[0].text.contains("mean of 11 rows (table hot)"), "{hot:?}");
}

#[test]
fn a_cold_row_that_was_warm_decides_nothing() {
    let claim = "workload = \"column\"\nmeasure = \"sequential read binary cold.rate\"\n\
        subject = { fs = \"xfs\" }\nobject = { fs = \"ext4\" }\nrelation = \"at least 3\"\n";
    let answer = put(claim, &[column(64, 16, slow_ext4())]);
    let said = "reads that should be cold found their data in memory in 16 of 16 blocks";
    assert!(reason(&answer).starts_with(said), "{answer:?}");
}

#[test]
fn a_smaller_run_answers_with_its_scale_and_after_one_of_full_scale() {
    let of = |name: &str, scale: &str, lanes| {
        let mut run = column(lanes, 16, slow_ext4());
        (run.plan.name, run.name) = ("article-002-rhel9".into(), name.into());
        let params = run.cells.iter_mut().map(|cell| &mut cell.workload.params);
        params.for_each(|params| drop(params.insert("scale".into(), scale.into())));
        run
    };
    let runs = [of("small", "tiny", 16), of("full", "full", 64)];
    let article = std::slice::from_ref(find("002").expect("built in"));
    let asked = |id: &str, runs: &[RunRecord]| {
        ask_all(article, runs).into_iter().find(|answer| answer.claim.id == id).expect("a claim")
    };
    let alone = asked("002-write-float-64", &runs[..1]);
    assert_eq!(alone.runs[0].scale, ["16 processes", "scale tiny"]);
    assert_eq!(alone.outcome, Outcome::Seen);
    let both = asked("002-write-float-64", &runs);
    assert_eq!((both.runs[0].run.as_str(), both.runs[0].scale.len()), ("full", 0));
    assert_eq!(reason(&asked("002-huge-64", &runs[..1])), "needs scale=full, here tiny");
    let mut cut = of("cut", "tiny", 16);
    let counts = cut.trials.iter_mut().map(|trial| &mut trial.counts);
    counts.for_each(|counts| {
        counts.insert("scale_factor".into(), 0.003);
    });
    let of_cut = asked("002-write-float-64", &[cut]);
    assert_eq!(reason(&of_cut), "needs scale_factor>=0.01, here 0.003");
}

#[test]
fn a_phase_beside_another_is_longer_or_not() {
    let mut run = column(64, 20, slow_ext4());
    for phase in run.trials.iter_mut().flat_map(|trial| &mut trial.phases) {
        phase.elapsed_mean_ns = if phase.phase == "write float large" { 3_000 } else { 1_000 };
        (phase.cpu_user_ns, phase.cpu_system_ns) = (1_500, 1_000);
    }
    let said = |time: &str| {
        let rest = "subject = { fs = \"xfs\" }\nrelation = \"some\"\n";
        let claim = format!("workload = \"column\"\nmeasure = \"time {time}\"\n{rest}");
        put(&claim, std::slice::from_ref(&run))
    };
    let longer = said("write float large over sync float large");
    assert_eq!(longer.outcome, Outcome::Seen, "{longer:?}");
    let text = &longer.runs[0].evidence[0].text;
    assert!(text.contains(": 300 % of the time of sync float large, in 20 of 20"), "{text}");
    assert_eq!(said("cpu of write float large over write float large").outcome, Outcome::Opposite);
}

/// What a gate leaves out of a claim over several rows is told, and half of them withhold it.
#[test]
fn rows_that_are_left_out_are_counted_and_half_of_them_decide_nothing() {
    let run = all_slow();
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
    let fails = "workload = \"files\"\nmeasure = \"seq create.rate\"\nsubject = { fs = \"fat16|fat32\" }\nrelation = \"fails\"\n";
    let many = format!("needs = {{ files = \">=70000\" }}\n{fails}");
    let few = put(&many, std::slice::from_ref(&files));
    assert!(reason(&few).starts_with("needs files>=70000, here "), "{few:?}");
    let failed = put(fails, std::slice::from_ref(&files));
    assert_eq!(reason(&failed), "fat32 is not in this run");
    assert_eq!(failed.runs[0].evidence[0].outcome, Outcome::Seen, "{failed:?}");
    assert!(failed.runs[0].evidence[0].text.contains("65,536"), "{failed:?}");
    let works = "workload = \"files\"\nmeasure = \"seq create.rate\"\nsubject = { fs = \"fat16\" }\nrelation = \"works\"\n";
    assert_eq!(put(works, std::slice::from_ref(&files)).outcome, Outcome::Opposite);
    let outcome = TrialOutcome::Failed { reason: "EIO".into() };
    let lost = LostPhase { label: "xfs".into(), phase: "seq create".into(), block: 2, outcome };
    let once = fake_phased_run(&FakePhasedRun { lost: vec![lost], ..FakePhasedRun::files() });
    let claim = works.replace("fat16", "xfs");
    assert!(reason(&put(&claim, &[once])).contains("some trials failed"));
}
