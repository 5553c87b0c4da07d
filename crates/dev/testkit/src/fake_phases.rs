//! A phased run that never happened: trials that are a list of phases, with known rates.

use pickfs_record::{
    Heat, Outcome, PhaseRecord, RunRecord, TrialRecord, WorkUnit,
    plan::{Metric, Statistic},
    record::Flag,
};
use serde_json::json;

use crate::{
    Dice, FakeCandidate, FakeRun, Mishap, fake_run,
    fake_trial::{FakeOperations, fake_op},
    phase_list,
};

#[derive(Debug, Clone)]
pub struct FakePhasedRun {
    pub workload: String,
    pub question: String,
    pub seed: u64,
    pub blocks: u32,
    /// The first one is the reference.
    pub candidates: Vec<String>,
    /// A single one makes a plan without axes.
    pub lanes: Vec<u32>,
    pub phases: Vec<FakePhase>,
    /// Than the list's rate.
    pub speeds: Vec<Speed>,
    /// Standard deviation of the logarithm of a phase's rate, from trial to trial.
    pub noise: f64,
    pub lost: Vec<LostPhase>,
    /// Phases in which the plan's comparisons are fixed; their rates.
    pub primary: Vec<String>,
    pub mishaps: Vec<Mishap>,
}

#[derive(Debug, Clone)]
pub struct FakePhase {
    pub phase: String,
    pub label: String,
    pub suite: String,
    pub heat: Option<Heat>,
    pub is_high_impact: bool,
    pub is_derived: bool,
    pub unit: WorkUnit,
    /// With one lane.
    pub rate_per_s: f64,
    /// None where nothing repeats.
    pub op_ns: Option<f64>,
}

/// A candidate's truth: its rate is multiplied in all phases that hold the words.
#[derive(Debug, Clone)]
pub struct Speed {
    pub label: String,
    /// Every phase when empty.
    pub words: String,
    pub factor: f64,
}

impl Speed {
    pub fn new(label: &str, words: &str, factor: f64) -> Self {
        Speed { label: label.into(), words: words.into(), factor }
    }
}

#[derive(Debug, Clone)]
pub struct LostPhase {
    pub label: String,
    pub phase: String,
    /// From 1; every block when 0.
    pub block: u32,
    pub outcome: Outcome,
}

impl FakePhasedRun {
    /// The column store: xfs leads in writing, ext4 ties in hot reads, btrfs lags.
    pub fn column() -> Self {
        FakePhasedRun {
            workload: "column".into(),
            question: "Which file system for a column store?".into(),
            candidates: ["xfs", "ext4", "btrfs"].map(String::from).into(),
            lanes: vec![1],
            phases: phase_list::column(),
            speeds: vec![
                Speed::new("ext4", "write", 0.62),
                Speed::new("ext4", "ingest", 0.8),
                Speed::new("ext4", "cold", 0.93),
                Speed::new("btrfs", "", 0.7),
            ],
            primary: phase_list::TIERS.map(String::from).into(),
            ..FakePhasedRun::files()
        }
    }

    /// bonnie++'s phases: hfsplus is slow to write, fat16 cannot hold the files.
    pub fn files() -> Self {
        let too_many = "seq create: a FAT directory holds 65,536 entries (ENOSPC)";
        let lost = |phase: &FakePhase| LostPhase {
            label: "fat16".into(),
            phase: phase.phase.clone(),
            block: 0,
            outcome: Outcome::Failed { reason: too_many.into() },
        };
        let phases = phase_list::files();
        let in_files = phases.iter().filter(|phase| phase.suite.ends_with(" files"));
        FakePhasedRun {
            workload: "files".into(),
            question: "Which file system for many small files?".into(),
            seed: 7,
            blocks: 6,
            candidates: ["ext4", "xfs", "btrfs", "fat16"].map(String::from).into(),
            lanes: vec![1],
            lost: in_files.map(lost).collect(),
            phases,
            speeds: vec![
                Speed::new("xfs", "delete", 0.6),
                Speed::new("btrfs", "", 0.8),
                Speed::new("fat16", "seeks", 0.5),
            ],
            noise: 0.04,
            primary: vec!["seq create".into()],
            mishaps: Vec::new(),
        }
    }
}

pub fn fake_phased_run(ask: &FakePhasedRun) -> RunRecord {
    let level = |lanes: &u32| lanes.to_string();
    let mut run = fake_run(&FakeRun {
        name: format!("2026-11-21-{}", ask.workload),
        seed: ask.seed,
        blocks: ask.blocks,
        candidates: ask.candidates.iter().map(|c| FakeCandidate::new(c, 500.0, 1e5)).collect(),
        syncs: ask.lanes.iter().map(level).collect(),
        reference: ask.candidates.first().cloned().unwrap_or_default(),
        primary: ask.primary.iter().map(|phase| rate_of(phase)).collect(),
        mishaps: ask.mishaps.clone(),
        ..FakeRun::default()
    });
    rename(ask, &mut run);
    let mut dice = Dice::new(ask.seed ^ 0x9e37);
    for index in 0..run.trials.len() {
        fill(ask, &mut run, index, &mut dice);
    }
    run
}

pub fn rate_of(phase: &str) -> Metric {
    Metric::new(phase, Statistic::Rate)
}

/// The axis `sync` of a fake run becomes `lanes`.
fn rename(ask: &FakePhasedRun, run: &mut RunRecord) {
    run.plan.name = ask.workload.clone();
    run.plan.question = ask.question.clone();
    run.plan.workload = ask.workload.clone();
    run.plan.params.clear();
    for axis in &mut run.plan.axes {
        axis.name = "lanes".into();
        axis.levels = ask.lanes.iter().map(|lanes| json!(lanes)).collect();
    }
    let cells = run.cells.iter_mut().chain(run.skipped.iter_mut().map(|cell| &mut cell.cell));
    for cell in cells {
        cell.workload.name = ask.workload.clone();
        let lanes = cell.workload.params.remove("sync").unwrap_or_default();
        cell.workload.params.clear();
        cell.workload.params.insert("lanes".into(), lanes);
        cell.levels.iter_mut().for_each(|level| level.axis = "lanes".into());
    }
}

fn fill(ask: &FakePhasedRun, run: &mut RunRecord, index: usize, dice: &mut Dice) {
    let cell = run.cells.iter().find(|cell| cell.id == run.trials[index].cell);
    let Some(cell) = cell else { return };
    let label = cell.candidate.label.clone();
    let lanes = cell.workload.params["lanes"].as_str().and_then(|text| text.parse().ok());
    let lanes: u32 = lanes.unwrap_or(1);
    let trial = &mut run.trials[index];
    trial.load = None;
    trial.counts.clear();
    trial.ops.clear();
    if trial.outcome != Outcome::Finished {
        return;
    }
    let slowed = if disturbed(trial) { 1.5 } else { 1.0 };
    for phase in &ask.phases {
        let noise = (ask.noise * dice.normal()).exp();
        let speeds = ask.speeds.iter().filter(|speed| speed.label == label);
        let speeds = speeds.filter(|speed| phase.phase.contains(&speed.words));
        let factor: f64 = speeds.map(|speed| speed.factor).product();
        let rate = phase.rate_per_s * factor * noise / slowed;
        let lost = ask.lost.iter().find(|lost| {
            lost.label == label
                && lost.phase == phase.phase
                && (lost.block == 0 || lost.block == trial.block)
        });
        match lost {
            Some(lost) => trial.phases.push(without_result(phase, lanes, &lost.outcome)),
            None => done(trial, phase, lanes, rate, dice),
        }
    }
}

fn disturbed(trial: &TrialRecord) -> bool {
    trial.disturbance.as_ref().is_some_and(|disturbance| disturbance.steal_share > 0.1)
}

fn record(phase: &FakePhase, lanes: u32) -> PhaseRecord {
    PhaseRecord {
        label: phase.label.clone(),
        suite: phase.suite.clone(),
        heat: phase.heat,
        is_high_impact: phase.is_high_impact,
        is_derived: phase.is_derived,
        unit: phase.unit,
        lanes,
        threads: 8,
        ..PhaseRecord::named(&phase.phase)
    }
}

fn without_result(phase: &FakePhase, lanes: u32, outcome: &Outcome) -> PhaseRecord {
    PhaseRecord { outcome: outcome.clone(), ..record(phase, lanes) }
}

fn done(trial: &mut TrialRecord, phase: &FakePhase, lanes: u32, rate: f64, dice: &mut Dice) {
    let elapsed_s = 0.4 + 3.0 * dice.uniform();
    let elapsed_ns = (elapsed_s * 1e9) as u64;
    let mut done = PhaseRecord {
        work: rate * elapsed_s * f64::from(lanes),
        rate_per_s: rate * f64::from(lanes),
        elapsed_ns,
        elapsed_mean_ns: elapsed_ns,
        start_skew_ns: 40_000 * u64::from(lanes),
        start_skew_p50_ns: 15_000 * u64::from(lanes),
        cpu_user_ns: elapsed_ns / 10,
        cpu_system_ns: elapsed_ns / 3,
        ..record(phase, lanes)
    };
    if phase.unit == WorkUnit::Bytes {
        done.real_bytes = done.work as u64;
    }
    if phase.phase == "sequential read binary cold" {
        let text = "12 % of its pages were resident when it began".to_string();
        done.flags.push(Flag { kind: "not-cold".into(), text });
    }
    if let Some(median_ns) = phase.op_ns {
        let operations = FakeOperations {
            median_ns,
            tail: 0.4,
            rate_per_s: 1e9 / median_ns,
            measure_s: elapsed_s.ceil() as u32,
            unsteady: 1.0,
            scheduled: false,
            began_ns: u64::from(trial.block) * 100_000_000_000,
        };
        let op = fake_op(&phase.phase, &operations, dice);
        done.values.insert("latency_max_ns".into(), op.service.max_ns as f64);
        trial.ops.push(op);
    }
    done.values.insert("cpu_percent_original".into(), 43.0);
    trial.phases.push(done);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truth_and_losses_land_where_they_were_put() {
        let run = fake_phased_run(&FakePhasedRun::files());
        assert_eq!(run.trials.len(), 6 * 4);
        let failed = run.trials.iter().flat_map(|trial| &trial.phases);
        assert_eq!(failed.filter(|phase| !phase.is_finished()).count(), 6 * 6);
        assert_eq!(run.cells[0].workload.params["lanes"], json!("1"));
        let two = FakePhasedRun { lanes: vec![1, 64], ..FakePhasedRun::column() };
        let run = fake_phased_run(&two);
        assert_eq!(run.plan.axes[0].name, "lanes");
        assert_eq!(run.cells.len(), 6);
        assert!(run.trials.iter().flat_map(|t| &t.phases).any(|phase| phase.lanes == 64));
    }
}
