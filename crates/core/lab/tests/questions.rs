//! Which comparison answers the question of each built-in plan, played through on a run in which every row differs: a
//! plan that cannot answer its own title fails here and not after hours of measuring.

use pickfs_analysis::{
    articles::{Claim, Measure, articles},
    doubts::LONGEST_PERIOD_KEY,
    findings,
    panels::property,
    summary,
};
use pickfs_candidate::{fs, knob::ENGINE};
use pickfs_lab::{
    engines::tell_engines_apart,
    expand::{expand, level_text},
    final_sync,
    plans::{BuiltInPlan, PLANS, built_in},
    preflight::ceiling,
};
use pickfs_record::{
    BackingKind, BackingSpec, CandidateSpec, Cell, Metric, PhaseRecord, Plan, RunRecord, Scope,
    TrialRecord,
    finding::{AnswerEnd, Findings, Panel},
    plan::{Statistic, View},
    trial::{FINAL_SYNC_KEY, WITH_FINAL_SYNC},
};
use pickfs_testkit::{
    Dice, FakeRun, fake_run,
    fake_trial::{FakeOperations, fake_load, fake_op},
};

const OF_BONNIE: &[&str] = &["ext4", "ext2", "ext3", "xfs", "btrfs", "reiserfs-3.6"];

/// Plan, operation (empty for each), and what must be told apart by it, where that is not all that the plan compares:
/// others promise something else, run in another engine, or do not have the operation.
const TOLD: &[(&str, &str, &[&str])] = &[
    ("journal", "", &["ext4", "xfs", "btrfs", "f2fs"]),
    ("files", "", &["ext4", "xfs", "btrfs", "ext3"]),
    (
        "dispute-latency",
        "durable",
        &["flush per record", "group commit", "direct blocks", "io_uring"],
    ),
    ("dispute-latency", "append", &["page cache", "direct blocks", "group commit"]),
    ("dispute-capacity", "", &["page cache", "flush per record", "direct blocks"]),
    ("article-002-ubuntu", "", &["xfs", "ext4", "btrfs", "f2fs", "zfs:compression=off"]),
    ("article-004", "", OF_BONNIE),
    ("article-004-guests", "", OF_BONNIE),
    ("article-004-guests-large", "", &["ext4", "ext2", "xfs", "btrfs"]),
];

/// Plans whose question is of syncs, which memory does not have.
const WITHOUT_FLOORS: &[&str] = &["quick", "journal"];

/// What a plan compares, where that is not its candidates, and the word for it in the plan's question.
const NAMED: &[(&str, &str)] = &[
    ("environment", "jni"),
    ("guest.kernel", "kernel"),
    ("madvise", "read-ahead"),
    ("neighbour_rate", "neighbour"),
    ("preallocation", "preallocation"),
    ("roll", "roll"),
    ("store", "where"),
    ("variant", "flush"),
    ("write_path", "pwrite"),
];

/// It compares a file system with itself.
const OF_ITSELF: &str = "trust";

/// What a claim may ask of machine and mount: no plan fixes it.
const OF_THE_MACHINE: &[&str] = &["backing", "capacity_per_s", "device.rotational", "driver"];

/// Claims that ask for more files than their plan makes as it is shipped; `--set files=70000` makes them, or 512000.
const AT_ANOTHER_SIZE: &[&str] = &["004-fails-affs", "004-fails-hfs", "004-hpfs-many"];

/// As it would be launched on a machine that has all it names.
fn played(plan: &BuiltInPlan) -> RunRecord {
    let mut plan = plan.read().expect("a good plan");
    final_sync::settle(&mut plan);
    let workload = pickfs_workload::find(&plan.workload).expect("a workload");
    let backing = plan.backing.clone();
    let mut expansion = expand(&plan, workload, |c| ceiling(c, &backing)).expect("expands");
    for cell in &mut expansion.cells {
        // What `auto` is for has drivers in no kernel.
        cell.knobs.retain(|knob, value| knob != ENGINE || value != "auto");
    }
    tell_engines_apart(&mut expansion);
    let mut run = fake_run(&FakeRun { blocks: 1, ..FakeRun::default() });
    let (template, mut dice) = (run.trials[0].clone(), Dice::new(7));
    let blocks = 1..=plan.design.blocks.min(24);
    let of = |block| expansion.cells.iter().map(move |cell| (block, cell));
    run.trials = blocks
        .flat_map(of)
        .map(|(block, cell)| TrialRecord { block, ..trial(&plan, cell, &template, &mut dice) })
        .collect();
    (run.cells, run.skipped, run.plan) = (expansion.cells, expansion.skipped, plan);
    run
}

fn trial(plan: &Plan, cell: &Cell, template: &TrialRecord, dice: &mut Dice) -> TrialRecord {
    let workload = pickfs_workload::find(&plan.workload).expect("a workload");
    let params = workload.validate(&cell.workload.params).expect("legal parameters");
    let is_clocked = (workload.length)(&params) == pickfs_workload::Length::Clock;
    let slower = slower(plan, cell);
    let operations = FakeOperations {
        median_ns: 5_000.0 * slower * (0.01 * dice.normal()).exp(),
        tail: 0.4,
        rate_per_s: 1_000.0 / if plan.params.contains_key("arrival") { slower } else { 1.0 },
        measure_s: plan.timing.measure_s.clamp(3.0, 90.0) as u32,
        unsteady: 1.0,
        scheduled: is_clocked
            || plan.design.primary.iter().any(|metric| metric.view == View::Response),
        began_ns: 0,
    };
    let row = fs::find(&cell.candidate.fs).expect("a file system");
    let mut trial = TrialRecord { cell: cell.id.clone(), ..template.clone() };
    trial.backing = match &plan.backing {
        _ if row.ground == fs::Ground::Memory => BackingKind::Memory,
        BackingSpec::Ram { .. } => BackingKind::RamImage,
        _ => BackingKind::LoopImage,
    };
    if cell.knobs.contains_key(ENGINE) {
        trial.environment.put("guest.engine", "qemu-tcg");
    }
    let periods = fs::periods(Some(row), &cell.candidate.mount_options);
    if let Some(longest) = periods.iter().map(|period| period.seconds as u64).max() {
        trial.environment.put(LONGEST_PERIOD_KEY, longest);
    }
    trial.load = is_clocked.then(|| fake_load(&operations, 1.0, dice));
    trial.ops.clear();
    let named = |op: &String| {
        let mut asked = plan.design.primary.iter();
        asked.any(|metric| metric.op.strip_suffix(WITH_FINAL_SYNC).unwrap_or(&metric.op) == op)
    };
    for op in (workload.ops)(&params).into_iter().filter(named) {
        trial.figures.insert(op.clone(), if is_higher(plan, &op) { 1e3 / slower } else { slower });
        trial.phases.push(PhaseRecord { rate_per_s: 1e6 / slower, ..PhaseRecord::named(&op) });
        trial.ops.push(fake_op(&op, &operations, dice));
    }
    if is_clocked || plan.design.primary.iter().any(|metric| metric.statistic.is_time()) {
        trial.phases.clear();
    }
    if is_clocked {
        trial.figures.clear();
        trial.counts.insert(FINAL_SYNC_KEY.into(), 1e6 * slower);
        final_sync::add_rows(&final_sync::ops(plan, cell), &mut trial);
    }
    if plan.capacity.is_some() {
        trial.counts.insert(summary::CAPACITY_KEY.into(), 1e5 / slower);
    }
    trial
}

fn is_higher(plan: &Plan, op: &str) -> bool {
    let mut asked = plan.design.primary.iter().filter(|metric| metric.op == op);
    asked.any(|metric| metric.statistic.is_better_higher())
}

/// By a fifth from each to the next of those that the plan compares.
fn slower(plan: &Plan, cell: &Cell) -> f64 {
    let compare = plan.design.compare.as_str();
    let place = match plan.axes.iter().find(|axis| axis.name == compare) {
        Some(axis) => {
            axis.levels.iter().position(|level| Some(&*level_text(level)) == cell.level(compare))
        }
        None => plan.candidates.iter().position(|candidate| *candidate == cell.candidate),
    };
    1.2f64.powi(place.expect("it is compared") as i32)
}

fn is_memory(name: &str) -> bool {
    fs::find(name).is_some_and(|row| row.ground == fs::Ground::Memory)
}

/// What must be told apart, and what in memory must stand beside it with a value.
fn compared(plan: &Plan, metric: &Metric) -> [Vec<String>; 2] {
    let told = TOLD.iter().find(|(name, op, _)| *name == plan.name && metric.op.starts_with(op));
    let told: Option<Vec<String>> =
        told.map(|(.., labels)| labels.iter().copied().map(String::from).collect());
    if let Some(axis) = plan.axes.iter().find(|axis| axis.name == plan.design.compare) {
        let levels = || axis.levels.iter().map(level_text).collect();
        return [told.unwrap_or_else(levels), Vec::new()];
    }
    // `@fs=btrfs`: of that file system alone.
    let of = metric.at.get("fs");
    let labels = |in_memory: bool| {
        let all = plan.candidates.iter().filter(|one| is_memory(&one.fs) == in_memory);
        let all = all.filter(|one| of.is_none_or(|fs| fs.holds(&one.fs)));
        all.map(|one| one.label.clone()).collect::<Vec<_>>()
    };
    let has_floors = !WITHOUT_FLOORS.contains(&plan.name.as_str());
    let floors = if has_floors { labels(true) } else { Vec::new() };
    [told.unwrap_or_else(|| labels(false)), floors]
}

fn is_answered(run: &RunRecord, found: &Findings, metric: &Metric) -> bool {
    let [rivals, floors] = compared(&run.plan, metric);
    let has_floors = |panel: &Panel| {
        let has_value = |label: &String| {
            let row = panel.rows.iter().find(|row| row.label == *label);
            let of = |trial: &&TrialRecord| row.is_some_and(|row| row.cell == trial.cell);
            let mut values = run.trials.iter().filter(of);
            values.any(|trial| summary::metric_value(trial, metric).is_some())
        };
        floors.iter().all(has_value)
    };
    found.answers.iter().filter(|answer| answer.metric == *metric).any(|answer| {
        let out = |label: &String| answer.out.iter().any(|out| out.label == *label);
        answer.end == AnswerEnd::Winner
            && rivals.len() > 1
            && rivals.iter().all(|label| answer.left.contains(label) || out(label))
            && found.panels.iter().any(|panel| panel.title == answer.panel && has_floors(panel))
    })
}

#[test]
fn each_question_is_answered_by_a_comparison_of_its_own_plan() {
    pickfs_engine_workloads::add();
    let mut faults = Vec::new();
    for known in PLANS {
        let run = played(known);
        let found = findings(&run);
        let asked = &run.plan.design.primary;
        assert!(!asked.is_empty(), "{} asks nothing", known.name);
        for metric in asked.iter().filter(|metric| !is_answered(&run, &found, metric)) {
            let [rivals, floors] = compared(&run.plan, metric);
            let ends: Vec<String> = found.endings.iter().map(|ending| ending.line()).collect();
            faults.push(format!(
                "{}: {metric} does not tell {rivals:?} beside {floors:?}: {ends:#?}",
                known.name
            ));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Their questions name an option, and compare it with its absence.
const BY_ITS_OPTION: &[&str] = &["question-barrier", "question-noatime"];

#[test]
fn each_question_names_what_its_plan_compares() {
    pickfs_engine_workloads::add();
    for known in PLANS.iter().filter(|plan| plan.name != OF_ITSELF) {
        let plan = known.read().expect("a good plan");
        let question = plan.question.to_lowercase();
        let word = NAMED.iter().find(|(name, _)| *name == plan.design.compare);
        let names_it = match word {
            Some((_, word)) => question.contains(word),
            None => {
                assert_eq!(plan.design.compare, "candidate", "{}: no word for it", known.name);
                let own = |one: &CandidateSpec| {
                    let words = [&one.fs, &one.label].map(|word| question.contains(&**word));
                    words.contains(&true)
                        || one.mount_options.iter().any(|word| question.contains(&**word))
                };
                question.contains("file system")
                    || plan.candidates.iter().all(own)
                    || BY_ITS_OPTION.contains(&known.name)
            }
        };
        assert!(names_it, "{} compares {}: {question}", known.name, plan.design.compare);
    }
}

/// Whether the cells of a plan, with the defaults of its workload, hold the rows of a claim and the operation that it
/// asks about.
fn has_rows(plan: &BuiltInPlan, claim: &Claim) -> bool {
    let plan = plan.read().expect("a good plan");
    let workload = pickfs_workload::find(&plan.workload).expect("a workload");
    let cells = expand(&plan, workload, |c| ceiling(c, &plan.backing)).expect("expands").cells;
    let has_op = |cell: &Cell| match &claim.measure {
        Measure::Number(metric) => {
            let params = workload.validate(&cell.workload.params).expect("legal parameters");
            let ops = (workload.ops)(&params);
            metric.ops().any(|own| ops.iter().any(|op| op.split(':').next() == Some(own)))
        }
        _ => true,
    };
    let has = |scope: &Scope| {
        cells.iter().filter(|cell| has_op(cell)).any(|cell| {
            scope.iter().chain(&claim.at).chain(&claim.needs).all(|(name, condition)| {
                OF_THE_MACHINE.contains(&name.as_str())
                    || property(cell, name).is_some_and(|value| condition.holds(&value))
            })
        })
    };
    workload.name == claim.workload && has(&claim.subject) && has(&claim.object)
}

#[test]
fn each_claim_finds_its_rows_in_a_plan_that_it_names() {
    pickfs_engine_workloads::add();
    let all = articles().iter().flat_map(|article| &article.claims);
    let of_plans = all.filter(|claim| !claim.plan.is_empty() && claim.takes.is_empty());
    let has_plan = |claim: &&Claim| {
        claim.plans().any(|plan| has_rows(built_in(plan).expect("a built-in plan"), claim))
    };
    let lost: Vec<&str> =
        of_plans.filter(|claim| !has_plan(claim)).map(|claim| claim.id.as_str()).collect();
    assert_eq!(lost, AT_ANOTHER_SIZE);
}

/// The largest of n operations has no interval: what a claim says of it is asked as the worst of each second.
#[test]
fn no_claim_asks_a_maximum() {
    let claims = articles().iter().flat_map(|article| &article.claims);
    let is_maximum = |claim: &&Claim| matches!(&claim.measure, Measure::Number(metric) if metric.statistic == Statistic::Max);
    assert_eq!(claims.filter(is_maximum).map(|claim| &claim.id).collect::<Vec<_>>(), [""; 0]);
}
