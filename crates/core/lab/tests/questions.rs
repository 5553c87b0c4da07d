//! Which comparison answers the question of each built-in plan, played through on a run in which every row differs: a
//! plan that cannot answer its own title fails here and not after hours of measuring.

use std::collections::BTreeSet;

use pickfs_analysis::{doubts::LONGEST_PERIOD_KEY, findings, summary};
use pickfs_candidate::{fs, knob::ENGINE};
use pickfs_lab::{
    engines::tell_engines_apart,
    expand::{expand, level_text},
    final_sync,
    plan_file::read_plan,
    plans::PLANS,
    preflight::ceiling,
};
use pickfs_record::{
    BackingKind, BackingSpec, Cell, Metric, PhaseRecord, Plan, RunRecord, TrialRecord,
    finding::{AnswerEnd, Findings},
    trial::{FINAL_SYNC_KEY, WITH_FINAL_SYNC},
};
use pickfs_testkit::{
    Dice, FakeRun, fake_run,
    fake_trial::{FakeOperations, fake_load, fake_op},
};

/// Plan, the statistic that its question asks for, what must be told apart by it in one answer, and what must stand
/// beside that with a value where it cannot be ranked. A plan that asks several things has several lines.
type Asked = (&'static str, &'static str, &'static [&'static str], &'static [&'static str]);

const DISK: &[&str] = &["ext4", "xfs", "btrfs"];
const TWO: &[&str] = &["ext4:noatime", "xfs:noatime"];
const WAYS: &[&str] = &["flush per record", "group commit", "direct blocks", "io_uring"];
const DEGREES: &[&str] =
    &["alone", "alone, synced", "received there", "received there, synced here", "durable there"];
const STORES: &[&str] = &["queue", "journal", "file-store", "pair", "journal-fdatasync"];
const FILLED: &[&str] = &["none", "precreated", "sparse", "zero-filled-hot"];
const OF_FIX: &[&str] = &["ext4", "ext2", "ext3", "xfs", "btrfs"];
const IN_MEMORY: &[&str] = &["tmpfs", "ramfs"];
const OF_BTRFS: &[&str] = &["btrfs none", "btrfs lzo", "btrfs zstd"];
const OF_ZFS: &[&str] = &["zfs none", "zfs lz4"];
const OF_F2FS: &[&str] = &["f2fs none", "f2fs lz4"];
const OF_NANO: &[&str] = &["xfs", "ext4", "btrfs", "f2fs", "zfs:compression=off"];
const OF_BONNIE: &[&str] = &["ext4", "ext2", "ext3", "xfs", "btrfs", "jfs", "reiserfs-3.6"];

const ASKED: &[Asked] = &[
    ("quick", "durable.p50@sync=fdatasync", DISK, &[]),
    ("journal", "durable.p50", &["ext4", "xfs", "btrfs", "f2fs"], &[]),
    ("dispute-latency", "durable.p99", WAYS, &[]),
    ("dispute-latency", "append.p99", &["page cache", "direct blocks", "group commit"], &[]),
    ("dispute-capacity", "append.rate", &["page cache", "flush per record", "direct blocks"], &[]),
    ("article-001-preallocation", "append.mean service", FILLED, &[]),
    ("article-001-preallocation", "append.worst service", FILLED, &[]),
    ("article-001-readers", "append.p99@readers=2 service", TWO, &[]),
    ("article-001-neighbour", "append.p99 service", &["0", "200"], &[]),
    ("article-001-neighbour", "append.worst service", &["0", "200"], &[]),
    ("article-003-ext3-ext4", "append.worst service", &["ext3:noatime", "ext4:noatime"], &[]),
    ("article-003-ext3-ext4", "append.p99.9 service", &["ext3:noatime", "ext4:noatime"], &[]),
    ("article-003-ext3-ext4", "append.p50 service", &["ext3:noatime", "ext4:noatime"], &[]),
    ("roll", "roll.p50 service", &["inline", "ahead"], &[]),
    ("roll", "append.worst", &["inline", "ahead"], &[]),
    ("seek-write-or-pwrite", "append.p50 service", &["seek-write", "pwrite"], &[]),
    ("question-noatime", "append with final sync.mean@sync=none", &["noatime", "relatime"], &[]),
    ("question-noatime", "read.mean@sync=fdatasync service", &["noatime", "relatime"], &[]),
    ("question-noatime", "durable.p50@sync=fdatasync", &["noatime", "relatime"], &[]),
    (
        "question-barrier",
        "append with final sync.mean@variant=no sync",
        &["barriers", "barrier=0"],
        &[],
    ),
    ("question-barrier", "durable.p50@variant=sync of data", &["barriers", "barrier=0"], &[]),
    ("question-barrier", "durable.p50@variant=sync with a commit", &["barriers", "barrier=0"], &[]),
    ("kernels", "append.p50 service", &["5.10", "6.12"], &[]),
    ("kernels", "append.worst service", &["5.10", "6.12"], &[]),
    ("queue", "append with final sync.p50@medium=queue", DISK, &["tmpfs"]),
    ("queue-throughput", "append with final sync.rate", DISK, &["tmpfs"]),
    ("queue-read-ahead", "append.p99.99@touch=none", &["normal", "random"], &[]),
    ("fix", "order with final sync.p50@store=queue service", DISK, &["tmpfs"]),
    ("fix-stores", "order with final sync.p50 service", STORES, &[]),
    ("article-000", "order.p99.9 service", OF_FIX, IN_MEMORY),
    ("article-000", "order.p99.99 service", OF_FIX, IN_MEMORY),
    ("article-000", "order.mean service", OF_FIX, IN_MEMORY),
    ("article-000", "order.sd service", OF_FIX, IN_MEMORY),
    ("article-000-ram", "order with final sync.p50 service", &["ext4", "ext2", "xfs"], &["tmpfs"]),
    ("pair", "gate.p50@medium=pair service", DISK, &["tmpfs"]),
    ("pair-degrees", "processed with final sync.p50", DEGREES, &[]),
    ("column-tiny", "ingest, durable.rate", DISK, &[]),
    ("column-tiny", "hot tier.rate", DISK, &[]),
    ("column-tiny", "mid tier.rate", DISK, &[]),
    ("column-tiny", "cold tier.rate", DISK, &[]),
    ("column", "ingest, durable.rate", DISK, &[]),
    ("column", "hot tier.rate", DISK, &[]),
    ("column", "mid tier.rate", DISK, &[]),
    ("column", "cold tier.rate", DISK, &[]),
    ("column", "query beside appends.rate@lanes=4", DISK, &[]),
    ("column", "append batch beside queries.rate@lanes=4", DISK, &[]),
    ("compression", "cold tier.rate@data=nano,fs=btrfs", OF_BTRFS, &[]),
    ("compression", "cold tier.rate@data=nano,fs=zfs", OF_ZFS, &[]),
    ("compression", "cold tier.rate@data=nano,fs=f2fs", OF_F2FS, &[]),
    ("compression", "write float large, durable.rate@data=nano,fs=btrfs", OF_BTRFS, &[]),
    ("compression", "write float large, durable.rate@data=nano,fs=zfs", OF_ZFS, &[]),
    ("compression", "write float large, durable.rate@data=nano,fs=f2fs", OF_F2FS, &[]),
    ("article-002-rhel9", "ingest, durable.rate", &["xfs", "ext4"], &[]),
    ("article-002-rhel9", "hot tier.rate", &["xfs", "ext4"], &[]),
    ("article-002-rhel9", "cold tier.rate", &["xfs", "ext4"], &[]),
    ("article-002-ubuntu", "ingest, durable.rate", OF_NANO, &[]),
    ("article-002-ubuntu", "hot tier.rate", OF_NANO, &[]),
    ("article-002-ubuntu", "cold tier.rate", OF_NANO, &[]),
    ("article-002-guests", "ingest, durable.rate", OF_NANO, &[]),
    ("article-002-guests", "hot tier.rate", OF_NANO, &[]),
    ("article-002-guests", "mid tier.rate", OF_NANO, &[]),
    ("article-002-guests", "cold tier.rate", OF_NANO, &[]),
    ("files-tiny", "seq create.rate", DISK, &[]),
    ("files-tiny", "ran delete.rate", DISK, &[]),
    ("files-tiny", "safe save.rate", DISK, &[]),
    ("files", "safe save.rate", &["ext4", "xfs", "btrfs", "ext3"], &[]),
    ("files", "seq create.rate", &["ext4", "xfs", "btrfs", "ext3"], &[]),
    ("files", "ran delete.rate", &["ext4", "xfs", "btrfs", "ext3"], &[]),
    ("article-004", "block write.rate", OF_BONNIE, &[]),
    ("article-004", "block read.rate", OF_BONNIE, &[]),
    ("article-004", "seq create.rate", OF_BONNIE, &[]),
    ("article-004", "ran stat.rate", OF_BONNIE, &[]),
    ("article-004", "ran delete.rate", OF_BONNIE, &[]),
    ("article-004-guests", "seq create.rate", OF_BONNIE, &["ramfs"]),
    ("article-004-guests", "ran stat.rate", OF_BONNIE, &["ramfs"]),
    ("article-004-guests", "ran delete.rate", OF_BONNIE, &["ramfs"]),
    ("article-004-guests-large", "block write.rate", &["ext4", "ext2", "xfs", "btrfs", "jfs"], &[]),
    ("article-004-guests-large", "block read.rate", &["ext4", "ext2", "xfs", "btrfs", "jfs"], &[]),
    ("postgresql", "tps.higher", DISK, &[]),
    ("sqlite", "wall.mean service", DISK, &[]),
    ("etcd", "etcd sync.p50 service", DISK, &[]),
    ("redis", "sets.higher", DISK, &[]),
    ("rocksdb", "ops.higher", DISK, &[]),
    ("git-checkout", "wall.mean service", DISK, &[]),
    ("cargo-build", "wall.mean service", DISK, &[]),
    ("journal-java", "append.p50 service", &["by=pickfs", "by=java"], &[]),
    ("journal-java", "append.p99.9 service", &["by=pickfs", "by=java"], &[]),
    ("queue-chronicle", "append.p99.9 service", OF_FIX, IN_MEMORY),
    ("queue-chronicle", "write-to-read.p99.9 service", OF_FIX, IN_MEMORY),
    ("queue-chronicle", "write-to-read.p50 service", OF_FIX, IN_MEMORY),
    ("fix-quickfix", "round-trip.p50 service", OF_FIX, IN_MEMORY),
    ("fix-quickfix", "round-trip.p99.9 service", OF_FIX, IN_MEMORY),
    ("trust", "durable.p50", &["ext4", "ext4-again", "ext4-slowed"], &[]),
];

/// As it would be launched on a machine that has all it names.
fn played(name: &str, text: &str) -> RunRecord {
    let mut plan = read_plan(name, text).expect("a good plan");
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
        scheduled: is_clocked,
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

fn metric((plan, by, ..): &Asked) -> Metric {
    by.parse().unwrap_or_else(|error| panic!("{plan}: {error}"))
}

fn is_answered(run: &RunRecord, found: &Findings, asked: &Asked) -> bool {
    let (metric, (_, _, rivals, beside)) = (metric(asked), asked);
    let has_all = |labels: &[&String], wanted: &[&str]| {
        wanted.iter().all(|label| labels.iter().any(|known| known == label))
    };
    let is_shown = |panel: &pickfs_record::finding::Panel| {
        let has_value = |label: &&str| {
            let row = panel.rows.iter().find(|row| row.label == **label);
            let of = |trial: &&TrialRecord| row.is_some_and(|row| row.cell == trial.cell);
            let mut values = run.trials.iter().filter(of);
            values.any(|trial| summary::metric_value(trial, &metric).is_some())
        };
        beside.iter().all(has_value)
    };
    let shown = || found.panels.iter().filter(|panel| is_shown(panel));
    found.answers.iter().filter(|answer| answer.metric == metric).any(|answer| {
        let labels: Vec<&String> =
            answer.left.iter().chain(answer.out.iter().map(|out| &out.label)).collect();
        has_all(&labels, rivals)
            && answer.end == AnswerEnd::Winner
            && shown().any(|panel| panel.title == answer.panel)
    })
}

#[test]
fn each_question_is_answered_by_a_comparison_of_its_own_plan() {
    pickfs_engine_workloads::add();
    let mut faults = Vec::new();
    for known in PLANS {
        let run = played(known.name, known.text);
        let found = findings(&run);
        let asked = ASKED.iter().filter(|asked| asked.0 == known.name);
        let by: BTreeSet<String> = asked.clone().map(|asked| metric(asked).to_string()).collect();
        let primary: BTreeSet<String> =
            run.plan.design.primary.iter().map(ToString::to_string).collect();
        if by != primary {
            faults.push(format!("{}: ranks {primary:?}, its question asks {by:?}", known.name));
        }
        for asked in asked.filter(|asked| !is_answered(&run, &found, asked)) {
            let ends: Vec<String> = found.endings.iter().map(|ending| ending.line()).collect();
            faults.push(format!("{}: {} does not tell {:?}: {ends:#?}", asked.0, asked.1, asked.2));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
