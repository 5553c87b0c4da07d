use std::collections::BTreeMap;

use pickfs_record::{
    Outcome, PhaseRecord, TrialRecord,
    finding::{Panel, PhaseCell, PhaseRow, Spread},
    plan::{Metric, Statistic},
};

use super::scale::{UNEQUAL_SCALE, unlike_blocks};
use crate::{
    decide::Rules,
    panels::{Disturbed, Group, Member},
    rows::told,
    summary::{belongs_to, median, spread},
};

pub fn rate_metric(phase: &str) -> Metric {
    Metric::new(phase, Statistic::Rate)
}

/// A ratio of two rows' rates within blocks.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, schemars::JsonSchema)]
pub struct RowRatio {
    /// Reference divided by the other, median over blocks: above 1, the reference is faster.
    pub value: f64,
    /// Its interval at 95 per cent, which holds at every look; absent under six blocks.
    pub interval: Option<(f64, f64)>,
    pub blocks: u32,
}

/// A comparison of a row with the reference by the rate of a phase, as the tables print it.
pub fn ratio(panel: &Panel, label: &str, phase: &str) -> Option<RowRatio> {
    let metric = rate_metric(phase);
    let same = |m: &Metric| m.op == metric.op && m.statistic == metric.statistic;
    let found = panel.comparisons.iter().find(|c| c.other == label && same(&c.metric))?;
    Some(inverse(found.speedup, found.interval, found.blocks))
}

/// Every phase of a group's trials, in the order of the trials; empty where they have none.
pub fn rows(group: &Group<'_>) -> Vec<PhaseRow> {
    order(group).into_iter().map(|first| row(group, first)).collect()
}

/// A phase that the first trial lacks stands after the one that it follows in its own trial.
pub(crate) fn order<'a>(group: &Group<'a>) -> Vec<&'a PhaseRecord> {
    let mut order: Vec<&PhaseRecord> = Vec::new();
    for trial in group.members.iter().flat_map(|member| &member.trials) {
        let mut at = 0;
        for phase in &trial.phases {
            match order.iter().position(|known| known.phase == phase.phase) {
                Some(known) => at = known + 1,
                None => {
                    order.insert(at, phase);
                    at += 1;
                }
            }
        }
    }
    order
}

fn row(group: &Group<'_>, first: &PhaseRecord) -> PhaseRow {
    let rivals = group.rivals();
    let cells = group.members.iter().enumerate().map(|(index, member)| {
        let reference = rivals.contains(&index).then(|| &group.members[group.reference]);
        let unlike = reference.map_or(0, |reference| unlike_blocks(reference, member));
        let mut cell = cell(member, &first.phase);
        if unlike > 0 {
            cell.flags.push((UNEQUAL_SCALE.into(), unlike.min(cell.trials)));
        }
        cell
    });
    PhaseRow {
        phase: first.phase.clone(),
        label: first.label.clone(),
        suite: first.suite.clone(),
        heat: first.heat,
        is_high_impact: first.is_high_impact,
        is_derived: first.is_derived,
        unit: first.unit,
        cells: cells.collect(),
    }
}

/// The ratio as the tables print it, of logarithms that say how much faster the other is.
pub(crate) fn row_ratio(speedups: &[(u32, f64)], rules: Rules) -> Option<RowRatio> {
    (!speedups.is_empty()).then(|| {
        let duel = rules.duel(speedups);
        inverse(duel.ratio, duel.closed(), duel.blocks)
    })
}

fn inverse(speedup: f64, interval: Option<(f64, f64)>, blocks: u32) -> RowRatio {
    let interval = interval.map(|(low, high)| (1.0 / high, 1.0 / low));
    RowRatio { value: 1.0 / speedup, interval, blocks }
}

fn cell(member: &Member<'_>, phase: &str) -> PhaseCell {
    let chosen = member.chosen(Disturbed::Kept);
    let done: Vec<&PhaseRecord> = chosen
        .iter()
        .filter_map(|trial| trial.phase(phase))
        .filter(|record| record.is_finished())
        .collect();
    let failures = failures(member, phase);
    let over = |number: fn(&PhaseRecord) -> f64| -> Option<Spread> {
        let values: Vec<f64> =
            done.iter().map(|record| number(record)).filter(|v| v.is_finite()).collect();
        (!values.is_empty()).then(|| spread(&values))
    };
    PhaseCell {
        trials: done.len() as u32,
        failed: failures.len() as u32,
        failure: failures.first().map(|reason| told(reason)),
        rate: over(|record| record.rate_per_s),
        elapsed_s: over(|record| record.elapsed_ns as f64 / 1e9),
        cpu_share: over(cpu_share),
        latency_ns_max: longest(&chosen, phase),
        skew_ns: over(|record| record.start_skew_ns as f64),
        values: values(&done),
        flags: flags(&done),
    }
}

/// CPU of all lanes over the elapsed time; NaN without any.
fn cpu_share(record: &PhaseRecord) -> f64 {
    (record.cpu_user_ns + record.cpu_system_ns) as f64 / record.elapsed_ns as f64
}

fn failures<'a>(member: &Member<'a>, phase: &str) -> Vec<&'a str> {
    let own = |trial: &&'a TrialRecord| reason(&trial.phase(phase)?.outcome);
    let reasons = member.trials.iter().filter_map(|trial| own(trial).or(reason(&trial.outcome)));
    reasons.filter(|reason| *reason != pickfs_record::INTERRUPTED).collect()
}

fn reason(outcome: &Outcome) -> Option<&str> {
    match outcome {
        Outcome::Failed { reason } | Outcome::Skipped { reason } => Some(reason),
        Outcome::Finished => None,
    }
}

fn longest(trials: &[&TrialRecord], phase: &str) -> Option<u64> {
    let ops = trials.iter().flat_map(|trial| &trial.ops);
    ops.filter(|op| belongs_to(&op.op, phase) && op.service.count > 0)
        .map(|op| op.service.max_ns)
        .max()
}

fn values(records: &[&PhaseRecord]) -> Vec<(String, f64)> {
    let mut found: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (name, value) in records.iter().flat_map(|record| &record.values) {
        found.entry(name).or_default().push(*value);
    }
    let over = |name: &str, values: &[f64]| match name.contains("_max_") {
        true => values.iter().copied().fold(f64::MIN, f64::max),
        false => median(values),
    };
    found.iter().map(|(name, values)| (name.to_string(), over(name, values))).collect()
}

fn flags(records: &[&PhaseRecord]) -> Vec<(String, u32)> {
    let mut kinds: BTreeMap<&str, u32> = BTreeMap::new();
    for record in records {
        let mut own: Vec<&str> = record.flags.iter().map(|flag| flag.kind.as_str()).collect();
        own.sort_unstable();
        own.dedup();
        own.into_iter().for_each(|kind| *kinds.entry(kind).or_default() += 1);
    }
    kinds.into_iter().map(|(kind, count)| (kind.to_string(), count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{findings, panels::groups};
    use pickfs_record::finding::Panel;
    use pickfs_testkit::{FakePhasedRun, LostPhase, Mishap, Speed, fake_phased_run};

    fn panel(ask: &FakePhasedRun) -> Panel {
        findings(&fake_phased_run(ask)).panels.remove(0)
    }

    fn row<'a>(panel: &'a Panel, phase: &str) -> &'a PhaseRow {
        panel.phases.iter().find(|row| row.phase == phase).expect("the phase was run")
    }

    fn eight() -> FakePhasedRun {
        FakePhasedRun { blocks: 8, ..FakePhasedRun::column() }
    }

    #[test]
    fn ratios_are_the_references_rate_divided_by_this_one() {
        let panel = panel(&eight());
        let row = row(&panel, "write float large");
        assert!(ratio(&panel, "xfs", &row.phase).is_none(), "xfs is the reference");
        let ext4 = ratio(&panel, "ext4", &row.phase).expect("both ran");
        assert!((ext4.value - 1.0 / 0.62).abs() < 0.2, "{ext4:?}");
        let (low, high) = ext4.interval.expect("eight blocks");
        assert!(low < ext4.value && ext4.value < high && low > 1.0, "{ext4:?}");
        assert_eq!((ext4.blocks, row.cells[1].trials), (8, 8));
        let rate = row.cells[0].rate.expect("finished");
        assert!(rate.low <= rate.median && (rate.median / 2.17e9 - 1.0).abs() < 0.1, "{rate:?}");
    }

    #[test]
    fn nine_in_ten_intervals_hold_the_planted_ratio() {
        let panel = panel(&FakePhasedRun { blocks: 10, ..FakePhasedRun::column() });
        let truth = |row: &PhaseRow| if row.is_derived { None } else { Some(1.0 / 0.7) };
        let of = |row: &PhaseRow| ratio(&panel, "btrfs", &row.phase);
        let cells = panel.phases.iter().filter_map(|row| Some((truth(row)?, of(row)?)));
        let all: Vec<bool> = cells
            .map(|(truth, ratio)| {
                let (low, high) = ratio.interval.expect("ten blocks");
                low <= truth && truth <= high
            })
            .collect();
        let held = all.iter().filter(|held| **held).count();
        assert!(all.len() > 50 && held * 10 >= all.len() * 9, "{held} of {}", all.len());
    }

    #[test]
    fn under_five_blocks_there_is_a_ratio_and_no_interval() {
        let panel = panel(&FakePhasedRun { blocks: 4, ..FakePhasedRun::column() });
        let ratio = ratio(&panel, "btrfs", "disk sort").expect("both ran");
        assert_eq!((ratio.interval, ratio.blocks), (None, 4));
    }

    #[test]
    fn a_failed_phase_is_a_cell_with_its_reason() {
        let panel = panel(&FakePhasedRun::files());
        let cell = &row(&panel, "seq create").cells[3];
        assert_eq!((cell.trials, cell.failed, cell.rate), (0, 6, None));
        assert_eq!(ratio(&panel, "fat16", "seq create"), None);
        let reason = cell.failure.as_deref().expect("it failed");
        assert!(reason.contains("65,536"), "{reason}");
        assert_eq!(row(&panel, "block write").cells[3].trials, 6);
    }

    #[test]
    fn a_skip_in_one_block_leaves_the_others() {
        let outcome = Outcome::Skipped { reason: "no space".into() };
        let lost = LostPhase { label: "ext4".into(), phase: "disk sort".into(), block: 2, outcome };
        let panel = panel(&FakePhasedRun { lost: vec![lost], ..eight() });
        let cell = &row(&panel, "disk sort").cells[1];
        assert_eq!((cell.trials, cell.failed, cell.failure.as_deref()), (7, 1, Some("no space")));
        assert_eq!(ratio(&panel, "ext4", "disk sort").expect("seven blocks").blocks, 7);
    }

    #[test]
    fn a_trial_that_failed_as_a_whole_fails_each_of_its_phases() {
        let mishaps = vec![Mishap::failed("btrfs", "", 3, "mount: EIO")];
        let panel = panel(&FakePhasedRun { mishaps, ..eight() });
        let cell = &row(&panel, "disk sort").cells[2];
        assert_eq!((cell.trials, cell.failed, cell.failure.as_deref()), (7, 1, Some("mount: EIO")));
    }

    #[test]
    fn a_trial_that_somebody_stopped_has_not_failed() {
        let mishaps = vec![Mishap::failed("btrfs", "", 3, pickfs_record::INTERRUPTED)];
        let panel = panel(&FakePhasedRun { mishaps, ..eight() });
        let cell = &row(&panel, "disk sort").cells[2];
        assert_eq!((cell.trials, cell.failed, cell.failure.as_deref()), (7, 0, None));
    }

    #[test]
    fn flags_latencies_and_shares_stand_in_the_cell() {
        let panel = panel(&eight());
        let cell = &row(&panel, "sequential read binary cold").cells[0];
        assert_eq!(cell.flags, [("not-cold".to_string(), 8)]);
        assert_eq!(cell.latency_ns_max, None);
        let random = &row(&panel, "random read 4k cold").cells[0];
        assert!(random.latency_ns_max.expect("it repeats") > 3_100);
        let share = random.cpu_share.expect("it ran").median;
        assert!((share - 0.433).abs() < 0.01, "{share}");
        assert!(random.values.iter().any(|(name, _)| name == "latency_max_ns"));
        assert_eq!(random.skew_ns.expect("it ran").median, 40_000.0);
    }

    #[test]
    fn a_disturbed_trial_counts_as_it_came() {
        let mishaps = vec![Mishap::disturbed("xfs", "", 3, 1.5)];
        let panel = panel(&FakePhasedRun { mishaps, ..eight() });
        let rate = row(&panel, "disk sort").cells[0].rate.expect("finished");
        assert!(rate.low < 0.75 * rate.median, "{rate:?}");
        assert_eq!(row(&panel, "disk sort").cells[0].trials, 8);
    }

    #[test]
    fn phases_keep_the_workloads_order_also_where_the_first_trial_lacks_one() {
        let mut run = fake_phased_run(&eight());
        run.trials[0].phases.remove(3);
        let group = &groups(&run)[0];
        let names: Vec<String> = rows(group).into_iter().map(|row| row.phase).collect();
        let expected: Vec<String> =
            run.trials[1].phases.iter().map(|phase| phase.phase.clone()).collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn lanes_are_panels_of_their_own() {
        let ask = FakePhasedRun {
            lanes: vec![1, 64],
            speeds: vec![Speed::new("ext4", "", 0.5)],
            ..eight()
        };
        let found = findings(&fake_phased_run(&ask));
        let titles: Vec<_> = found.panels.iter().map(|panel| panel.title.as_str()).collect();
        assert_eq!(titles, ["lanes=1", "lanes=64"]);
        assert!(titles.iter().all(|title| found.answers.iter().any(|a| a.panel == *title)));
    }
}
