//! A fact that holds in over half of the blocks of two candidates withholds the verdict between
//! them ([`crate::decide::decide_but`]). A doubt is noted where the candidates differ in it, or
//! where the run would end otherwise without its trials. Neither looks at how fast a candidate was.

use std::collections::BTreeMap;

use pickfs_record::{
    Cell, Durability, TrialRecord,
    finding::AnswerEnd,
    plan::{Metric, Statistic, View},
    record::{Flag, Times},
    trial::{FINAL_SYNC_KEY, SUSTAINED, WITH_FINAL_SYNC},
};

use crate::{
    doubts::{doubts, is_short, rate_missed_share},
    summary::{CAPACITY_KEY, belongs_to, is_at_limit, op_in},
    wording::list,
};

#[derive(Debug, PartialEq)]
pub struct Gate {
    pub kind: &'static str,
    pub why: &'static str,
    pub mend: &'static str,
    pub option: Option<(&'static str, &'static str)>,
    /// More blocks of the same run may lift it.
    pub may_pass: bool,
}

const fn gate(kind: &'static str, why: &'static str, mend: &'static str) -> Gate {
    Gate { kind, why, mend, option: None, may_pass: false }
}

pub const GATES: [Gate; 10] = [
    Gate {
        may_pass: true,
        ..gate("disturbed", "others took the CPU", "run it again when they are quiet")
    },
    Gate {
        may_pass: true,
        ..gate(
            "throttled",
            "a CPU quota held pickfs back",
            "raise cpu.max of its control group, or run outside of the group",
        )
    },
    gate(
        "rate-missed",
        "the rate was not held, and service times leave out the wait behind it,",
        "ask for a lower rate with --set rate=..., or rank by response time",
    ),
    gate(
        OVERLOADED,
        "no candidate held the rate, and response times then grow with the trial,",
        "ask for a lower rate with --set rate=...",
    ),
    gate(
        AT_LIMIT,
        "both held the highest rate that the search tries",
        "raise limit under [capacity] in the plan",
    ),
    gate(
        "period-not-covered",
        "the periodic work of the file systems was not covered",
        "measure for two of its periods",
    ),
    gate(
        "not-cold",
        "reads that should be cold found their data in memory",
        "allow pickfs to drop the caches",
    ),
    Gate {
        option: Some(("--image-dir", "FOLDER")),
        ..gate(
            "not-direct",
            "the loop device did not use direct I/O",
            "name a folder whose file system has direct I/O",
        )
    },
    Gate {
        option: Some(("--image-dir", "FOLDER")),
        ..gate("holes", "parts of the image were not written", "name a folder on ext4 or xfs")
    },
    gate(
        ONE_OPERATION,
        "one operation made over half of the variance, so that the deviation ranks maxima,",
        "measure longer, or ask a quantile",
    ),
];

const ONE_OPERATION: &str = "one-operation";

/// Of two rows: neither holds the rate.
pub const OVERLOADED: &str = "overloaded";
/// Of two rows: both have the capacity at which the search ends.
const AT_LIMIT: &str = "at-limit";
/// Share of the rate by which a trial that is not overloaded may miss it: one late arrival of a short trial.
const OVERLOADED_SHARE: f64 = 0.05;

pub fn is_overloaded(trial: &TrialRecord) -> bool {
    let missed = trial.load.as_ref().and_then(rate_missed_share);
    missed.is_some_and(|missed| missed > OVERLOADED_SHARE)
}

/// Quantiles from here up are tails.
const TAIL: f64 = 0.99;
/// Candidates differ in a doubt whose shares of their trials are farther apart than this.
const SHARE_APART: f64 = 0.25;

pub fn of_kind(kind: &str) -> Option<&'static Gate> {
    GATES.iter().find(|gate| gate.kind == kind)
}

/// Whether operations of a cell are done before their data are on the device.
pub fn puts_off(cell: &Cell) -> bool {
    let sync = cell.workload.params.get("sync");
    let waits_not = sync.is_none_or(|sync| sync == "none" || sync == "msync-async");
    cell.durability == Durability::ProcessCrash && waits_not
}

/// Whether what the trial put off is in a metric of it: by its share of the final sync, or as a
/// capacity at which that sync kept up.
fn is_paid(trial: &TrialRecord, metric: &Metric) -> bool {
    let of_capacity =
        metric.statistic == Statistic::Rate && trial.counts.contains_key(CAPACITY_KEY);
    let has_sync = trial.counts.contains_key(FINAL_SYNC_KEY);
    let op = op_in(trial, metric).unwrap_or(&metric.op);
    has_sync && (of_capacity || op == SUSTAINED || op.ends_with(WITH_FINAL_SYNC))
}

/// Who syncs each operation waits for periodic work in few of them: it is all that such a metric shows. A share of the
/// final sync is the same for all, and no tail.
pub fn is_tail(metric: &Metric) -> bool {
    match metric.statistic {
        Statistic::Quantile(q) => q >= TAIL,
        statistic => matches!(statistic, Statistic::Sd | Statistic::Max | Statistic::Worst),
    }
}

/// Whether work that is put off could move a metric: not the shortest of all operations.
pub fn bears_work(metric: &Metric) -> bool {
    metric.statistic != Statistic::Min
}

/// Cold concerns what was read, and nothing else.
pub fn concerns(kind: &str, metric: &Metric) -> bool {
    kind != "not-cold" || metric.ops().any(is_read)
}

pub fn is_read(op: &str) -> bool {
    op.starts_with("read")
}

fn kinds(trial: &TrialRecord, metric: &Metric, puts_off: bool) -> Vec<String> {
    let is_time = metric.statistic.is_time() && bears_work(metric);
    // The rate of a phase holds the sync at its end.
    let is_owed = || !is_paid(trial, metric) && (is_time || trial.phases.is_empty());
    let owes = is_tail(metric) || puts_off && bears_work(metric) && is_owed();
    let withholds = |flag: &Flag| match flag.kind.as_str() {
        "period-not-covered" => owes,
        "rate-missed" => is_time && metric.view == View::Service,
        kind => concerns(kind, metric),
    };
    let own =
        trial.phases.iter().filter(|phase| metric.ops().any(|op| belongs_to(op, &phase.phase)));
    let of_phases = own.flat_map(|phase| phase.flags.clone());
    let of_phases = of_phases.filter(|flag| owes || flag.kind != "period-not-covered");
    let all = doubts(trial).into_iter().filter(withholds).chain(of_phases);
    let is_behind = is_time && metric.view != View::Service && is_overloaded(trial);
    let has_more = metric.statistic == Statistic::Rate && is_at_limit(trial);
    // A program takes the time that it takes, and its tails need their periods all the same.
    let is_brief = is_tail(metric) && !trial.figures.is_empty() && is_short(trial);
    let own = [
        (is_behind, OVERLOADED),
        (has_more, AT_LIMIT),
        (is_brief, "period-not-covered"),
        (is_of_one(trial, metric), ONE_OPERATION),
    ];
    let own = own.into_iter().filter(|(holds, _)| *holds).map(|(_, kind)| kind.into());
    all.map(|flag| flag.kind).chain(own).collect()
}

/// Whether the largest operation alone makes over half of a trial's variance.
fn is_of_one(trial: &TrialRecord, metric: &Metric) -> bool {
    let times = || trial.op(op_in(trial, metric)?)?.view(metric.view);
    let is_half = |times: &Times| {
        let from_mean = times.max_ns as f64 - times.mean_ns;
        2.0 * from_mean * from_mean > times.count as f64 * times.sd_ns * times.sd_ns
    };
    metric.statistic == Statistic::Sd && times().is_some_and(is_half)
}

pub struct Facts {
    rows: Vec<BTreeMap<u32, Vec<String>>>,
}

pub type Found = (&'static Gate, usize, usize);

impl Facts {
    pub fn of(rows: &[(&Cell, Vec<&TrialRecord>)], metric: &Metric) -> Facts {
        let of_row = |(cell, trials): &(&Cell, Vec<&TrialRecord>)| {
            let kinds = |trial| kinds(trial, metric, puts_off(cell));
            trials.iter().map(|trial| (trial.block, kinds(trial))).collect()
        };
        Facts { rows: rows.iter().map(of_row).collect() }
    }

    /// The heaviest gate that holds in over half of the blocks of two rows.
    pub fn gate(&self, a: usize, b: usize) -> Option<Found> {
        let both: Vec<_> = self.rows[a]
            .iter()
            .filter_map(|(block, kinds)| Some((kinds, self.rows[b].get(block)?)))
            .collect();
        let count = |gate: &Gate| {
            let has = |kinds: &[String]| kinds.iter().any(|kind| kind == gate.kind);
            let is_it = |(own, theirs): &&(&Vec<String>, &Vec<String>)| match gate.kind {
                OVERLOADED | AT_LIMIT => has(own) && has(theirs),
                _ => has(own) || has(theirs),
            };
            both.iter().filter(is_it).count()
        };
        let counted = GATES.iter().map(|gate| (gate, count(gate), both.len()));
        counted.into_iter().find(|(_, count, blocks)| 2 * count > *blocks)
    }

    /// The heaviest gate between any two of these rows.
    pub fn heaviest(&self, rows: &[usize]) -> Option<(Found, [usize; 2])> {
        let pairs = rows.iter().flat_map(|a| rows.iter().map(|b| [*a, *b])).filter(|[a, b]| a < b);
        let gated = pairs.filter_map(|pair| Some((self.gate(pair[0], pair[1])?, pair)));
        let weight = |gate: &Gate| GATES.iter().position(|known| known == gate);
        gated.min_by_key(|((gate, ..), _)| weight(gate))
    }

    /// With what is known of the same blocks by another metric.
    pub fn join(&mut self, other: Facts) {
        for (row, theirs) in self.rows.iter_mut().zip(other.rows) {
            for (block, kinds) in theirs {
                row.entry(block).or_default().extend(kinds);
            }
        }
    }

    pub fn withheld(&self) -> Vec<(usize, usize)> {
        let rows = 0..self.rows.len();
        let pairs = rows.clone().flat_map(|a| rows.clone().map(move |b| (a, b)));
        pairs.filter(|(a, b)| a != b && self.gate(*a, *b).is_some()).collect()
    }

    pub fn apart(&self) -> Vec<String> {
        let mut kinds: Vec<&String> =
            self.rows.iter().flat_map(|row| row.values().flatten()).collect();
        kinds.sort();
        kinds.dedup();
        let differs = |kind: &&String| {
            let share = |row: &BTreeMap<u32, Vec<String>>| {
                let having = row.values().filter(|kinds| kinds.contains(kind)).count();
                having as f64 / row.len().max(1) as f64
            };
            let shares = || self.rows.iter().filter(|row| !row.is_empty()).map(share);
            shares().fold(0.0, f64::max) - shares().fold(1.0, f64::min) > SHARE_APART
        };
        kinds.into_iter().filter(differs).cloned().collect()
    }
}

/// `other programs took the CPU (cc1plus 0.9, rustc 0.4) in 8 of 8 blocks of ext4 and xfs`.
pub fn sentence((gate, count, blocks): Found, labels: &[&str], trials: &[&TrialRecord]) -> Flag {
    let why = match (gate.kind, crate::disturbed::others(trials)) {
        ("disturbed", (by, what, Some(who))) => format!("{by} {what} ({who})"),
        ("disturbed", (by, what, None)) => format!("{by} {what}"),
        _ => gate.why.into(),
    };
    let text = format!("{why} in {count} of {blocks} blocks of {}", list(labels));
    Flag { kind: gate.kind.into(), text }
}

/// A doubt to note beside an answer: its kind, and how the question would end without its trials.
pub fn note(kind: &str, now: (AnswerEnd, &[String]), without: (AnswerEnd, &[String])) -> Flag {
    let text = match now == without {
        true => "without them the same answer".into(),
        false => format!("without them {} {}", without.0, list(without.1)),
    };
    Flag { kind: kind.into(), text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        findings,
        panels::groups,
        summary::{AT_LIMIT_KEY, AT_LIMIT_WORDS},
    };
    use pickfs_record::{PhaseRecord, RunRecord};
    use pickfs_testkit::{
        FakeRun, Mishap, MishapKind, fake_run, fake_trial::service_quantile as quantile,
    };

    fn gate_of(cell: &Cell, trial: &TrialRecord, metric: &Metric) -> Option<&'static str> {
        let row = || (cell, vec![trial]);
        Facts::of(&[row(), row()], metric).gate(0, 1).map(|(gate, ..)| gate.kind)
    }

    /// Two periods, a sync in each operation, or a share of the final sync: something must pay.
    #[test]
    fn what_was_put_off_and_not_paid_withholds_the_verdict() {
        let RunRecord { mut cells, mut trials, .. } = fake_run(&FakeRun::default());
        let (cell, trial) = (&mut cells[0], &mut trials[0]);
        cell.durability = Durability::ProcessCrash;
        cell.workload.params.insert("sync".into(), "none".into());
        let short = Some("period-not-covered");
        let append = quantile("append", 0.5);
        let paid = quantile("append with final sync", 0.5);
        let rate = Metric { statistic: Statistic::Rate, ..append.clone() };
        assert_eq!(gate_of(cell, trial, &append), None, "the flag is not raised");
        trial.environment.put(crate::doubts::LONGEST_PERIOD_KEY, 30);
        assert_eq!(gate_of(cell, trial, &append), short);
        assert_eq!(gate_of(cell, trial, &paid), short, "without the sync its row pays nothing");
        trial.counts.insert(FINAL_SYNC_KEY.into(), 1e6);
        assert_eq!((gate_of(cell, trial, &append), gate_of(cell, trial, &paid)), (short, None));
        let tail = quantile("append with final sync", 0.99);
        assert_eq!(
            gate_of(cell, trial, &tail),
            short,
            "a share that is the same for all is no tail"
        );
        assert_eq!(gate_of(cell, trial, &rate), short);
        let by = |statistic| Metric { statistic, ..append.clone() };
        let gate = |cell: &Cell, statistic| gate_of(cell, trial, &by(statistic));
        assert_eq!((gate(cell, Statistic::Worst), gate(cell, Statistic::Sd)), (short, short));
        assert_eq!(gate(cell, Statistic::Min), None, "the shortest waits for nobody");
        trial.counts.insert(CAPACITY_KEY.into(), 1e4);
        assert_eq!(gate_of(cell, trial, &rate), None, "the sync kept up at this rate");
        cell.workload.params.insert("sync".into(), "fdatasync".into());
        assert_eq!(gate_of(cell, trial, &append), None);
        assert_eq!(gate_of(cell, trial, &quantile("append", 0.98)), None);
        assert_eq!(gate_of(cell, trial, &quantile("append", 0.99)), short, "a tail needs periods");
        assert_eq!(
            gate_of(cell, trial, &Metric { statistic: Statistic::Max, ..append.clone() }),
            short
        );
        trial.figures.insert("IOPS".into(), 1.0);
        assert_eq!(gate_of(cell, trial, &append), None, "a program takes what it takes");
        assert_eq!(gate_of(cell, trial, &quantile("append", 0.99)), short, "and its tail the same");
    }

    #[test]
    fn a_spread_that_one_operation_makes_ranks_nobody() {
        let RunRecord { cells, mut trials, .. } = fake_run(&FakeRun::default());
        let has = |trial: &&mut TrialRecord| trial.op("append").is_some();
        let (cell, trial) = (&cells[0], trials.iter_mut().find(has).expect("appends"));
        let sd = Metric { statistic: Statistic::Sd, ..quantile("append", 0.5) };
        assert_eq!(gate_of(cell, trial, &sd), None);
        let times = &mut trial.ops.iter_mut().find(|op| op.op == "append").expect("ops").service;
        (times.count, times.mean_ns, times.sd_ns) = (60_000, 1e3, 204e3);
        times.max_ns = 50_000_000;
        assert_eq!(gate_of(cell, trial, &sd), Some("one-operation"));
        let mean = Metric { statistic: Statistic::Mean, ..sd };
        assert_eq!(gate_of(cell, trial, &mean), None);
    }

    /// Both held the limit in every block: that is no tie.
    #[test]
    fn who_holds_the_limit_of_the_search_is_not_equal_to_another_that_does() {
        let rate = Metric { statistic: Statistic::Rate, ..quantile("append", 0.5) };
        let end = |at_limit: usize, is_old: bool| {
            let mut run = fake_run(&FakeRun {
                blocks: 20,
                primary: vec![rate.clone()],
                syncs: vec!["fdatasync".into()],
                ..FakeRun::default()
            });
            let labels = ["ext4:noatime", "xfs:noatime", "btrfs:noatime"];
            for (index, label) in labels.into_iter().enumerate() {
                let mut cells = run.cells.iter().filter(|cell| cell.candidate.label == label);
                let id = cells.next().expect("a cell").id.clone();
                for trial in run.trials.iter_mut().filter(|trial| trial.cell == id) {
                    let held = if index < 2 { 1e6 } else { 1e5 };
                    trial.counts.insert(CAPACITY_KEY.into(), held);
                    match index < at_limit {
                        true if is_old => trial.notes.push(format!("capacity: {AT_LIMIT_WORDS}")),
                        true => drop(trial.counts.insert(AT_LIMIT_KEY.into(), 1.0)),
                        false => {}
                    }
                }
            }
            findings(&run).endings[0].line()
        };
        assert_eq!(end(2, true), end(2, false), "a file without the count says it in words");
        let said = end(2, false);
        let begin = "NO ANSWER both held the highest rate that the search tries in 20 of 20 blocks";
        assert!(said.starts_with(begin) && !said.contains("btrfs"), "{said}");
        assert!(said.ends_with("; raise limit under [capacity] in the plan."), "{said}");
        let said = end(1, false);
        assert!(said.starts_with("EQUAL "), "{said}");
    }

    #[test]
    fn cold_that_was_warm_withholds_what_was_read_and_nothing_else() {
        let RunRecord { cells, mut trials, .. } = fake_run(&FakeRun::default());
        let mut trial = trials.remove(0);
        let gate = |trial: &TrialRecord, op: &str| gate_of(&cells[0], trial, &quantile(op, 0.5));
        let flag = Flag { kind: "not-cold".into(), text: "3 reads".into() };
        trial.flags.push(flag.clone());
        assert_eq!((gate(&trial, "read-2"), gate(&trial, "append")), (Some("not-cold"), None));
        trial.flags.clear();
        trial.phases = vec![PhaseRecord { flags: vec![flag], ..PhaseRecord::named("scan cold") }];
        assert_eq!((gate(&trial, "scan cold"), gate(&trial, "scan")), (Some("not-cold"), None));
    }

    /// Who is told from the others is told; only the pair of the gated one is open.
    #[test]
    fn a_gate_concerns_its_own_pairs() {
        let kind = MishapKind::Image(4096, true);
        let mishaps = vec![Mishap::new("xfs:noatime", "", 0, kind)];
        let found = findings(&fake_run(&FakeRun { blocks: 15, mishaps, ..FakeRun::default() }));
        let answer = &found.answers[1];
        assert_eq!(answer.left, ["ext4:noatime", "xfs:noatime"], "btrfs is out by ext4");
        assert_eq!(answer.gate.as_ref().map(|gate| gate.kind.as_str()), Some("holes"));
    }

    #[test]
    fn a_doubt_of_all_alike_is_no_note_and_one_of_some_is() {
        let notes = |labels: &[&str]| {
            let flag = MishapKind::Flagged("settle-timeout".into(), "9 MiB".into());
            let mishap = |label: &&str| Mishap::new(label, "", 0, flag.clone());
            let mishaps = labels.iter().map(mishap).collect();
            let run = fake_run(&FakeRun { blocks: 15, mishaps, ..FakeRun::default() });
            let groups = groups(&run);
            let row = |index: usize| {
                let member = &groups[1].members[index];
                (member.cell, member.chosen(crate::panels::Disturbed::Kept))
            };
            Facts::of(&[row(0), row(1), row(2)], &quantile("durable", 0.5)).apart()
        };
        assert_eq!(notes(&["xfs:noatime"]), ["settle-timeout"]);
        assert!(notes(&["ext4:noatime", "xfs:noatime", "btrfs:noatime"]).is_empty());
    }
}
