//! A whole run that never happened: plan, cells, trials, machine, with a known truth.

use std::collections::BTreeMap;

use pickfs_record::{
    BackingKind, BackingSpec, CandidateSpec, Cell, CellId, Durability, FORMAT, Level, Outcome,
    Plan, RunRecord, TrialRecord, WorkloadSpec,
    plan::{Axis, Consent, Design, Metric, StopRule, Timing},
    record::{Flag, RunEnd, SettleRecord, SkippedCell},
};
use serde_json::{Map, Value, json};

use crate::{
    Dice, Mishap, Mishaps, Shape, Simulation,
    fake_machine::{IMAGE, card, machine, steps, trial_environment},
    fake_trial::{
        FakeOperations, fake_disturbance, fake_load, fake_op, fake_raw, service_quantile,
    },
    mishap::MishapKind,
    simulate,
};

/// What to invent. Every field has a default: five blocks of four candidates under two syncs.
#[derive(Debug, Clone)]
pub struct FakeRun {
    pub name: String,
    pub seed: u64,
    pub blocks: u32,
    pub measure_s: u32,
    pub rate_per_s: f64,
    pub candidates: Vec<FakeCandidate>,
    /// A single one makes a plan without axes.
    pub syncs: Vec<String>,
    /// Of everything but tmpfs.
    pub backing: BackingKind,
    pub shape: Shape,
    pub raw_ns: f64,
    pub reference: String,
    /// `candidate` or `sync`.
    pub compare: String,
    pub primary: Vec<Metric>,
    pub stop: StopRule,
    pub mishaps: Mishaps,
    /// As in [`RunEnd::how`]; `None` for a run that still goes on.
    pub ended: Option<String>,
}

#[derive(Debug, Clone)]
pub struct FakeCandidate {
    pub spec: CandidateSpec,
    /// The run's backing when absent.
    pub backing: Option<BackingKind>,
    /// Median.
    pub append_ns: f64,
    /// Of an append that is followed by a sync.
    pub durable_ns: f64,
    /// Standard deviation of a trial's logarithm.
    pub noise: f64,
    /// Standard deviation of an operation's logarithm.
    pub tail: f64,
}

impl FakeCandidate {
    /// Five per cent of noise.
    pub fn new(text: &str, append_ns: f64, durable_ns: f64) -> Self {
        let spec: CandidateSpec = text.parse().expect("a fixture names a legal candidate");
        let backing = (spec.fs == "tmpfs").then_some(BackingKind::Memory);
        FakeCandidate { spec, backing, append_ns, durable_ns, noise: 0.05, tail: 0.35 }
    }
}

impl Default for FakeRun {
    fn default() -> Self {
        let at =
            |sync: &str| pickfs_record::metric::scope(&format!("sync={sync}")).expect("a scope");
        FakeRun {
            name: "2026-11-21-journal".into(),
            seed: 7,
            blocks: 5,
            measure_s: 8,
            rate_per_s: 10_000.0,
            candidates: vec![
                FakeCandidate::new("ext4:noatime", 490.0, 194_000.0),
                FakeCandidate::new("xfs:noatime", 550.0, 141_000.0),
                FakeCandidate::new("btrfs:noatime", 1_480.0, 560_000.0),
                FakeCandidate::new("tmpfs", 410.0, 450.0),
            ],
            syncs: vec!["none".into(), "fdatasync".into()],
            backing: BackingKind::LoopImage,
            shape: Shape::Normal,
            raw_ns: 82_000.0,
            reference: "ext4:noatime".into(),
            compare: "candidate".into(),
            primary: vec![
                Metric { at: at("fdatasync"), ..service_quantile("durable", 0.5) },
                Metric { at: at("none"), ..service_quantile("append", 0.5) },
            ],
            stop: StopRule::Blocks { tie_margin: 0.05 },
            mishaps: Vec::new(),
            ended: Some("completed".into()),
        }
    }
}

pub fn fake_run(ask: &FakeRun) -> RunRecord {
    let all = cells(ask);
    let (skipped, cells): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|cell| skip_of(ask, &cell.0).is_some());
    let skipped = skipped.into_iter().filter_map(|(cell, _)| {
        let (reason, remedy) = skip_of(ask, &cell)?;
        Some(SkippedCell { cell, reason, remedy })
    });
    RunRecord {
        format: FORMAT,
        name: ask.name.clone(),
        started: "2026-11-21T20:00:00Z".into(),
        build: "pickfs 0.1.0 (fake)".into(),
        plan: plan(ask),
        environment: machine(),
        card: card(ask.backing),
        skipped: skipped.collect(),
        trials: trials(ask, &cells),
        cells: cells.into_iter().map(|(cell, _)| cell).collect(),
        ended: ask.ended.as_ref().map(|how| RunEnd {
            at: "2026-11-21T20:45:00Z".into(),
            how: how.clone(),
            note: String::new(),
        }),
    }
}

fn skip_of(ask: &FakeRun, cell: &Cell) -> Option<(String, String)> {
    ask.mishaps.iter().find_map(|mishap| match &mishap.kind {
        MishapKind::Skipped(reason, remedy) if mishap.label == cell.candidate.label => {
            Some((reason.clone(), remedy.clone()))
        }
        _ => None,
    })
}

fn plan(ask: &FakeRun) -> Plan {
    let axes = if ask.syncs.len() < 2 {
        Vec::new()
    } else {
        let levels = ask.syncs.iter().map(|sync| json!(sync)).collect();
        vec![Axis { name: "sync".into(), levels }]
    };
    Plan {
        format: FORMAT,
        name: "journal".into(),
        question: "Which file system for my journal?".into(),
        expects: None,
        article: None,
        candidates: ask.candidates.iter().map(|candidate| candidate.spec.clone()).collect(),
        backing: BackingSpec::Loop { size_bytes: 1 << 30, directory: None },
        workload: "journal".into(),
        params: params(ask, None),
        axes,
        adjust: Vec::new(),
        capacity: None,
        without: Vec::new(),
        design: Design {
            blocks: ask.blocks,
            seed: ask.seed,
            compare: ask.compare.clone(),
            reference: ask.reference.clone(),
            primary: ask.primary.clone(),
            combine: Default::default(),
            stop: ask.stop.clone(),
        },
        timing: Timing {
            raw_probe_s: 2.0,
            warmup_s: 2.0,
            warmup_bytes: 64 << 20,
            measure_s: f64::from(ask.measure_s),
            sustain_s: 0.0,
            settle_s: 10.0,
        },
        explain_above_ns: None,
        explain_also: Default::default(),
        cpus: None,
        ranks: None,
        consent: Consent::default(),
        typed: Vec::new(),
    }
}

fn params(ask: &FakeRun, sync: Option<&str>) -> Map<String, Value> {
    let mut params = Map::from_iter([
        ("size".to_string(), json!(256)),
        ("rate".to_string(), json!(ask.rate_per_s)),
        ("write".to_string(), json!("pwrite")),
    ]);
    if let Some(sync) = sync {
        params.insert("sync".into(), json!(sync));
    }
    params
}

fn cells(ask: &FakeRun) -> Vec<(Cell, FakeCandidate)> {
    let mut cells = Vec::new();
    for sync in &ask.syncs {
        for candidate in &ask.candidates {
            cells.push((cell(ask, candidate, sync), candidate.clone()));
        }
    }
    cells
}

fn cell(ask: &FakeRun, candidate: &FakeCandidate, sync: &str) -> Cell {
    let level = Level { axis: "sync".into(), value: sync.into() };
    let durability = match (sync, candidate.backing) {
        ("none", _) | (_, Some(BackingKind::Memory)) => Durability::ProcessCrash,
        _ => Durability::PowerLoss,
    };
    Cell {
        id: cell_id(&format!("{}/{sync}", candidate.spec.label)),
        candidate: candidate.spec.clone(),
        workload: WorkloadSpec {
            name: "journal".into(),
            version: 1,
            params: params(ask, Some(sync)),
        },
        knobs: BTreeMap::new(),
        levels: if ask.syncs.len() < 2 { Vec::new() } else { vec![level] },
        durability,
        survived: None,
    }
}

/// FNV-1a over the text: enough to tell invented cells apart.
fn cell_id(text: &str) -> CellId {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    CellId(format!("{hash:016x}"))
}

fn trials(ask: &FakeRun, cells: &[(Cell, FakeCandidate)]) -> Vec<TrialRecord> {
    let errors = simulate(&Simulation {
        medians: vec![1.0; cells.len()],
        noise: 1.0,
        shape: ask.shape,
        blocks: ask.blocks as usize,
        seed: ask.seed,
    });
    let mut dice = Dice::new(ask.seed);
    let mut trials: Vec<TrialRecord> = Vec::new();
    for (block, errors) in (1..).zip(&errors) {
        for index in dice.order(cells.len()) {
            let (cell, candidate) = &cells[index];
            let factor = errors[index].powf(candidate.noise);
            let mut slot = Slot { ask, cell, candidate, block, factor, dice: &mut dice };
            for trial in slot.attempts() {
                let number = trials.len() as u32 + 1;
                let started_s = trials.iter().map(|t| t.elapsed_s).sum();
                trials.push(TrialRecord { number, started_s, ..trial });
            }
        }
    }
    trials
}

struct Slot<'a> {
    ask: &'a FakeRun,
    cell: &'a Cell,
    candidate: &'a FakeCandidate,
    block: u32,
    factor: f64,
    dice: &'a mut Dice,
}

impl Slot<'_> {
    fn attempts(&mut self) -> Vec<TrialRecord> {
        let disturbed = self.mishaps().into_iter().find_map(|kind| match kind {
            MishapKind::Disturbed(factor) => Some(factor),
            _ => None,
        });
        match disturbed {
            None => vec![self.trial(1, false)],
            Some(factor) => {
                self.factor *= factor;
                let first = self.trial(1, true);
                self.factor /= factor;
                vec![first, self.trial(2, false)]
            }
        }
    }

    fn sync(&self) -> String {
        self.cell.workload.params["sync"].as_str().unwrap_or_default().to_string()
    }

    fn mishaps(&self) -> Vec<MishapKind> {
        let (label, sync) = (&self.candidate.spec.label, self.sync());
        let hits = |mishap: &&Mishap| mishap.hits(label, &sync, self.block);
        self.ask.mishaps.iter().filter(hits).map(|mishap| mishap.kind.clone()).collect()
    }

    fn trial(&mut self, attempt: u32, disturbed: bool) -> TrialRecord {
        let backing = self.candidate.backing.unwrap_or(self.ask.backing);
        let raw_ns = self.ask.raw_ns * (0.03 * self.dice.normal()).exp();
        let mut trial = TrialRecord {
            cell: self.cell.id.clone(),
            block: self.block,
            attempt,
            elapsed_s: f64::from(self.ask.measure_s) + 6.0,
            backing,
            steps: steps(&self.candidate.spec),
            environment: trial_environment(&self.candidate.spec),
            image: (backing == BackingKind::LoopImage).then_some(IMAGE),
            raw: (backing != BackingKind::Memory).then(|| fake_raw(raw_ns, self.dice)),
            settle: Some(SettleRecord { waited_s: 0.4, raw_probes: 1, ..SettleRecord::default() }),
            disturbance: Some(fake_disturbance(disturbed, self.ask.measure_s, self.dice)),
            warmup_s: 2.0,
            ..TrialRecord::default()
        };
        self.measure(&mut trial);
        trial
    }

    fn measure(&mut self, trial: &mut TrialRecord) {
        let (mut unsteady, mut kept) = (1.0, 1.0);
        for kind in self.mishaps() {
            match kind {
                MishapKind::Failed(reason) => trial.outcome = Outcome::Failed { reason },
                MishapKind::Unsteady(factor) => unsteady = factor,
                MishapKind::Throttled(times) => {
                    trial
                        .disturbance
                        .iter_mut()
                        .for_each(|disturbance| disturbance.throttled = times);
                }
                MishapKind::Image(holes_bytes, direct_io) => {
                    trial.image.iter_mut().for_each(|image| {
                        (image.holes_after_bytes, image.direct_io) = (holes_bytes, direct_io);
                    });
                }
                MishapKind::RateMissed(share) => kept = share,
                MishapKind::Flagged(kind, text) => trial.flags.push(Flag { kind, text }),
                MishapKind::Skipped(..) | MishapKind::Disturbed(_) => {}
            }
        }
        if trial.outcome != Outcome::Finished {
            return;
        }
        let operations = |median_ns: f64| FakeOperations {
            median_ns: median_ns * self.factor,
            tail: self.candidate.tail,
            rate_per_s: self.ask.rate_per_s,
            measure_s: self.ask.measure_s,
            unsteady,
            scheduled: true,
            began_ns: 3_600_000_000_000 + u64::from(self.block) * 100_000_000_000,
        };
        let append = operations(self.candidate.append_ns);
        let durable = operations(self.candidate.durable_ns);
        let sync = operations((self.candidate.durable_ns - self.candidate.append_ns).max(20.0));
        trial.ops.push(fake_op("append", &append, self.dice));
        if self.sync() != "none" {
            trial.ops.push(fake_op(
                "sync",
                &FakeOperations { scheduled: false, ..sync },
                self.dice,
            ));
            trial.ops.push(fake_op("durable", &durable, self.dice));
        }
        trial.load = Some(fake_load(&append, kept, self.dice));
        let bytes = self.ask.rate_per_s * f64::from(self.ask.measure_s) * 256.0;
        trial.counts.insert("bytes_written".into(), bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_stands_once_in_every_block_in_another_order() {
        let run = fake_run(&FakeRun { blocks: 6, ..FakeRun::default() });
        assert_eq!(run.trials.len(), 6 * 8);
        let order = |block| -> Vec<_> {
            run.trials.iter().filter(|t| t.block == block).map(|t| t.cell.clone()).collect()
        };
        assert_ne!(order(1), order(2));
        let sorted = |block| std::collections::BTreeSet::from_iter(order(block));
        assert_eq!(sorted(1), sorted(6));
        assert_eq!(fake_run(&FakeRun { blocks: 6, ..FakeRun::default() }), run);
    }

    #[test]
    fn mishaps_land_where_they_were_put() {
        let mishaps = vec![
            Mishap::failed("btrfs:noatime", "fdatasync", 2, "append: ENOSPC"),
            Mishap::disturbed("xfs:noatime", "none", 3, 1.5),
            Mishap::skipped("tmpfs", "no tmpfs here", "load it"),
        ];
        let run = fake_run(&FakeRun { mishaps, ..FakeRun::default() });
        assert_eq!(run.skipped.len(), 2);
        assert_eq!(run.cells.len(), 6);
        assert_eq!(run.trials.iter().filter(|t| t.outcome != Outcome::Finished).count(), 1);
        let disturbed: Vec<_> = run.trials.iter().filter(|t| t.attempt == 2).collect();
        assert_eq!(disturbed.len(), 1);
        assert_eq!(disturbed[0].block, 3);
        assert_eq!(run.trials.len(), 5 * 6 + 1);
    }

    #[test]
    fn one_sync_makes_a_plan_without_axes() {
        let run = fake_run(&FakeRun { syncs: vec!["fdatasync".into()], ..FakeRun::default() });
        assert!(run.plan.axes.is_empty() && run.cells.iter().all(|cell| cell.levels.is_empty()));
    }
}
