//! Without sync a trial shorter than two periods of the write-back times a copy into memory: who puts off more looks
//! faster. Such a trial ends with a sync of the file system, and the rows that rank hold their share of it.

use std::collections::BTreeSet;

use pickfs_analysis::{gates, panels::applies};
use pickfs_candidate::fs;
use pickfs_record::{
    Cell, Plan, TrialRecord,
    plan::{Metric, Statistic},
    record::{OpRecord, Times},
    trial::{FINAL_SYNC_KEY, SUSTAINED, WITH_FINAL_SYNC},
};

use crate::{doubts::PERIODS_MIN, length::cells_asked};

/// By the rule of the gate that withholds what was not paid; a phase of work holds the sync at its end.
fn puts_off(cell: &Cell) -> bool {
    let Ok(workload) = pickfs_workload::find(&cell.workload.name) else { return false };
    let params = workload.validate(&cell.workload.params);
    gates::puts_off(cell) && params.is_ok_and(|params| !(workload.length)(&params).is_work())
}

/// The plan asks for times with their share of the final sync where nothing else pays for what was put off.
pub fn settle(plan: &mut Plan) {
    let asked = cells_asked(plan);
    let is_short = |cell: &Cell| {
        let periods = fs::periods(fs::find(&cell.candidate.fs), &cell.candidate.mount_options);
        let mut seconds = periods.iter().map(|period| PERIODS_MIN * period.seconds);
        seconds.any(|seconds| plan.timing.measure_s < seconds)
    };
    let owes = |metric: &Metric| {
        let cells = asked.iter().filter(|cell| applies(metric, cell));
        cells.filter(|cell| puts_off(cell)).any(is_short)
    };
    let is_search = plan.capacity.is_some();
    for metric in &mut plan.design.primary {
        let is_paid = metric.op.ends_with(WITH_FINAL_SYNC)
            || metric.op == SUSTAINED
            || matches!(metric.statistic, Statistic::Figure(_))
            || metric.statistic == Statistic::Rate && is_search;
        // A share that is the same for all makes no tail, and a read owes nothing of what the writer put off: they are
        // withheld where their plan is too short for them.
        let has_share = !gates::is_tail(metric)
            && gates::bears_work(metric)
            && !metric.ops().any(gates::is_read);
        if !is_paid && has_share && owes(metric) {
            metric.op.push_str(WITH_FINAL_SYNC);
        }
    }
}

/// What is asked of cells that put work off where the plan asks nothing of them: the mean of their first operation.
pub fn question(plan: &Plan) -> Option<Metric> {
    let cells = cells_asked(plan);
    let op = first_op(cells.first()?)?;
    cells.iter().all(puts_off).then(|| Metric::new(&op, Statistic::Mean))
}

/// Operations that have such a row: those that the plan asks for, and the first one of a cell that puts work off.
pub fn ops(plan: &Plan, cell: &Cell) -> Vec<String> {
    let asked = plan.design.primary.iter().filter(|metric| applies(metric, cell));
    let asked = asked.filter_map(|metric| metric.op.strip_suffix(WITH_FINAL_SYNC));
    let first = puts_off(cell).then(|| first_op(cell)).flatten();
    let ops: BTreeSet<String> = asked.map(String::from).chain(first).collect();
    ops.into_iter().collect()
}

fn first_op(cell: &Cell) -> Option<String> {
    let workload = pickfs_workload::find(&cell.workload.name).ok()?;
    let params = workload.validate(&cell.workload.params).ok()?;
    (workload.ops)(&params).into_iter().next()
}

/// Every arrival of the trial has the same share.
pub fn add_rows(ops: &[String], record: &mut TrialRecord) {
    let sync_ns = record.counts.get(FINAL_SYNC_KEY).copied().unwrap_or(0.0);
    let arrivals = record.load.as_ref().map_or(0, |load| load.arrivals);
    if arrivals == 0 {
        return;
    }
    let share_ns = sync_ns / arrivals as f64;
    let with_share = |op: &OpRecord| OpRecord {
        op: format!("{}{WITH_FINAL_SYNC}", op.op),
        service: shifted(&op.service, share_ns),
        response: op.response.as_ref().map(|operations| shifted(operations, share_ns)),
        raw_response: op.raw_response.as_ref().map(|operations| shifted(operations, share_ns)),
        intervals: Vec::new(),
        spikes: Vec::new(),
        interval_log: String::new(),
    };
    let asked = record.ops.iter().filter(|op| ops.contains(&op.op) && op.service.count > 0);
    let rows: Vec<OpRecord> = asked.map(with_share).collect();
    record.ops.extend(rows);
}

fn shifted(operations: &Times, by_ns: f64) -> Times {
    let more_ns = by_ns.round() as u64;
    let mut shifted = Times { overflow: 0, histogram: String::new(), ..operations.clone() };
    shifted.mean_ns += by_ns;
    shifted.min_ns += more_ns;
    shifted.max_ns += more_ns;
    shifted.quantiles.iter_mut().for_each(|row| row.value_ns += more_ns);
    shifted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plans::planned as plan;
    use pickfs_record::BackingSpec;
    use pickfs_testkit::{FakeRun, fake_run};

    fn asked(mut plan: Plan) -> Vec<String> {
        settle(&mut plan);
        plan.design.primary.into_iter().map(|metric| metric.op).collect()
    }

    #[test]
    fn short_trials_without_sync_are_asked_with_their_share_of_the_final_sync() {
        pickfs_engine_workloads::add();
        let of = |name: &str| asked(plan(name));
        assert_eq!(of("question-barrier"), ["append with final sync", "durable", "durable"]);
        let noatime = ["append with final sync", "read", "durable"];
        assert_eq!(of("question-noatime"), noatime);
        assert_eq!(of("queue-throughput"), ["append with final sync"]);
        assert_eq!(
            of("dispute-capacity"),
            ["append"],
            "a capacity is one that the sync kept up with"
        );
        let mut reads = plan("question-noatime");
        reads.design.primary[1].at = reads.design.primary[0].at.clone();
        assert_eq!(asked(reads), noatime, "a share of the writer's sync is no read");
        for name in ["quick", "journal", "column", "files", "git-checkout"] {
            assert!(of(name).iter().all(|op| !op.ends_with(WITH_FINAL_SYNC)), "{name}");
        }
    }

    /// The gate sees what a cell can promise on its backing, and so must what pays.
    #[test]
    fn a_synced_store_on_a_ram_image_pays_too() {
        pickfs_engine_workloads::add();
        let on = |backing: BackingSpec| {
            let mut fix = plan("fix");
            fix.backing = backing;
            fix.axes.clear();
            fix.params.insert("store".into(), "journal-fdatasync".into());
            fix.design.primary.iter_mut().for_each(|metric| metric.at = Default::default());
            asked(fix)
        };
        assert_eq!(on(plan("fix").backing), ["order"]);
        assert_eq!(on(BackingSpec::Ram { size_bytes: 1 << 30 }), ["order with final sync"]);
    }

    #[test]
    fn two_periods_pay_for_themselves_and_a_plan_of_nothing_asked_has_a_question() {
        let mut noatime = plan("question-noatime");
        noatime.timing.measure_s = 1e4;
        assert_eq!(asked(noatime), ["append", "read", "durable"]);
        let mut quick = plan("quick");
        assert_eq!(question(&quick), None, "half of it syncs");
        quick.axes[0].levels = vec!["none".into()];
        quick.design.primary = question(&quick).into_iter().collect();
        assert_eq!(asked(quick), ["append with final sync"]);
    }

    #[test]
    fn each_arrival_has_the_same_share_in_every_view_and_none_without_arrivals() {
        let mut record = fake_run(&FakeRun::default()).trials.remove(0);
        let arrivals = record.load.as_ref().expect("a load").arrivals;
        record.counts.insert(FINAL_SYNC_KEY.into(), 7_000.0 * arrivals as f64);
        let before = record.ops.len();
        add_rows(&["append".into()], &mut record);
        let [own, .., paid] = &record.ops[..] else { panic!("{before} and one") };
        assert_eq!((record.ops.len(), paid.op.as_str()), (before + 1, "append with final sync"));
        assert!((paid.service.mean_ns - own.service.mean_ns - 7_000.0).abs() < 1e-6);
        let median = |operations: &Option<Times>| {
            let row = operations.as_ref()?.quantile(0.5)?;
            Some((row.value_ns, row.episodes))
        };
        let (of_own, of_paid) = (median(&own.response), median(&paid.response));
        assert_eq!(of_own.map(|(ns, episodes)| (ns + 7_000, episodes)), of_paid);
        record.load = None;
        add_rows(&["append".into()], &mut record);
        assert_eq!(record.ops.len(), before + 1);
    }
}
