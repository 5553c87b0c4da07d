use pickfs_record::{
    Cell, CellId, Durability, Outcome, RunRecord, TrialRecord,
    finding::FactorDesign,
    plan::{Axis, Metric, Statistic, StopRule, View},
};
use pickfs_testkit::{FakeCandidate, FakeRun, Shape, Simulation, fake_run, simulate};
use serde_json::json;

use super::*;
use crate::findings;

const CANDIDATES: [&str; 3] = ["ext4:noatime", "xfs:noatime", "btrfs:noatime"];

fn mean_of_append() -> Metric {
    let (op, statistic) = ("append".to_string(), Statistic::Mean);
    Metric { op, view: View::Service, statistic, at: Default::default() }
}

/// Candidates x `write` (pwrite, uring) x `size` (256, 4096), with `truth` in nanoseconds.
struct Factorial {
    blocks: usize,
    noise: f64,
    shape: Shape,
    truth: fn(&str, &str, &str) -> f64,
    keep: fn(&str, &str, &str) -> bool,
}

impl Default for Factorial {
    fn default() -> Self {
        Factorial {
            blocks: 10,
            noise: 0.05,
            shape: Shape::Drifting,
            truth: |fs, write, size| {
                let fs_factor = match fs {
                    "xfs:noatime" => 1.25,
                    "btrfs:noatime" => 2.0,
                    _ => 1.0,
                };
                // Large records are slower, under uring by another 1.3x.
                let size_factor = if size == "4096" { 3.0 } else { 1.0 };
                let both = if size == "4096" && write == "uring" { 1.3 } else { 1.0 };
                500.0 * fs_factor * size_factor * both
            },
            keep: |_, _, _| true,
        }
    }
}

fn run_of(ask: &Factorial) -> RunRecord {
    let candidates: Vec<_> =
        CANDIDATES.iter().map(|text| FakeCandidate::new(text, 500.0, 150_000.0)).collect();
    let mut run = fake_run(&FakeRun {
        blocks: 1,
        syncs: vec!["none".into()],
        candidates,
        primary: vec![mean_of_append()],
        ..FakeRun::default()
    });
    let axis = |name: &str, levels: [&str; 2]| {
        let levels = levels.iter().map(|level| json!(level)).collect();
        Axis { name: name.into(), levels }
    };
    run.plan.axes = vec![axis("write", ["pwrite", "uring"]), axis("size", ["256", "4096"])];
    let (cells, truths) = cells(&run, ask);
    let values = simulate(&Simulation {
        medians: truths,
        noise: ask.noise,
        shape: ask.shape,
        blocks: ask.blocks,
        seed: 5,
    });
    let template = run.trials[0].clone();
    run.trials.clear();
    for (block, values) in (1..).zip(&values) {
        for (cell, value) in cells.iter().zip(values) {
            let mut trial = template.clone();
            trial.number = run.trials.len() as u32 + 1;
            (trial.cell, trial.block) = (cell.id.clone(), block);
            let append = trial.ops.iter_mut().find(|op| op.op == "append");
            append.expect("the template appends").service.mean_ns = *value;
            run.trials.push(trial);
        }
    }
    run.cells = cells;
    run
}

fn cells(run: &RunRecord, ask: &Factorial) -> (Vec<Cell>, Vec<f64>) {
    let (mut cells, mut truths) = (Vec::new(), Vec::new());
    for write in ["pwrite", "uring"] {
        for size in ["256", "4096"] {
            for cell in &run.cells {
                let label = cell.candidate.label.as_str();
                if !(ask.keep)(label, write, size) {
                    continue;
                }
                let level =
                    |axis: &str, value: &str| Level { axis: axis.into(), value: value.into() };
                cells.push(Cell {
                    id: CellId(format!("{label}/{write}/{size}")),
                    levels: vec![level("write", write), level("size", size)],
                    ..cell.clone()
                });
                truths.push((ask.truth)(label, write, size));
            }
        }
    }
    (cells, truths)
}

fn analysed(ask: &Factorial) -> FactorFindings {
    let mut found = findings(&run_of(ask)).factors;
    assert_eq!(found.len(), 1);
    found.remove(0)
}

fn factor<'f>(found: &'f FactorFindings, name: &str) -> &'f Factor {
    found.factors.iter().find(|factor| factor.name == name).expect("a factor")
}

fn effect<'f>(found: &'f FactorFindings, name: &str, level: &str) -> &'f Effect {
    let effects = &factor(found, name).effects;
    effects.iter().find(|effect| effect.levels[0].value == level).expect("an effect")
}

fn near(found: f64, truth: f64) -> bool {
    (found / truth).ln().abs() < 0.08
}

#[test]
fn a_full_factorial_finds_the_planted_effects_in_their_order() {
    let found = analysed(&Factorial::default());
    assert_eq!((found.design, found.cells, found.blocks), (FactorDesign::FullFactorial, 12, 10));
    let order: Vec<_> = found.factors.iter().map(|factor| factor.name.as_str()).collect();
    assert_eq!(order, ["size", "candidate", "write"]);
    // The mean over both ways to write: 3 x sqrt(1.3).
    let size = &factor(&found, "size").effects[0];
    assert!(near(1.0 / size.speedup, 3.0 * 1.3f64.sqrt()), "{size:?}");
    assert_eq!((size.contexts, size.blocks, size.claim), (6, 10, Claim::Slower));
    let candidate = factor(&found, "candidate");
    assert_eq!(candidate.base, "ext4:noatime");
    let labels: Vec<_> = candidate.effects.iter().map(|e| e.levels[0].value.as_str()).collect();
    assert_eq!(labels, ["btrfs:noatime", "xfs:noatime"]);
    assert!(near(candidate.spread, 2.0) && near(1.0 / candidate.effects[1].speedup, 1.25));
    for effect in found.factors.iter().flat_map(|factor| &factor.effects) {
        let (low, high) = effect.interval.expect("ten blocks");
        assert!(low < effect.speedup && effect.speedup < high);
    }
}

#[test]
fn the_planted_interaction_is_the_only_large_one_and_claims_nothing() {
    let found = analysed(&Factorial::default());
    // candidate x write, candidate x size: two each; write x size: one.
    assert_eq!(found.interactions_seen, 5);
    let first = &found.interactions[0];
    let levels: Vec<_> = first.levels.iter().map(|level| level.value.as_str()).collect();
    assert_eq!(levels, ["uring", "4096"]);
    assert!(near(1.0 / first.speedup, 1.3), "{first:?}");
    assert_eq!((first.contexts, first.claim), (3, Claim::Open));
    assert!(found.interactions[1..].iter().all(|other| near(other.speedup, 1.0)));
}

#[test]
fn the_sentences_say_what_moves_and_what_could_not_be_seen() {
    let ask = Factorial {
        truth: |fs, _, _| if fs == "btrfs:noatime" { 900.0 } else { 500.0 },
        ..Factorial::default()
    };
    let said = analysed(&ask).sentences;
    let begin = "What moves append mean over 12 cells (every combination): candidate by up to 1.8";
    assert!(said[0].starts_with(begin), "{}", said[0]);
    for name in ["write", "size"] {
        let tie = format!("; {name}: not decided");
        assert!(said[0].contains(&tie), "{}", said[0]);
    }
}

#[test]
fn one_factor_at_a_time_is_read_against_the_base_cell() {
    let ask = Factorial {
        keep: |fs, write, size| {
            let away = [fs != "ext4:noatime", write != "pwrite", size != "256"];
            away.iter().filter(|away| **away).count() <= 1
        },
        ..Factorial::default()
    };
    let found = analysed(&ask);
    assert_eq!((found.design, found.cells), (FactorDesign::OneAtATime, 5));
    let size = &factor(&found, "size").effects[0];
    assert!(near(1.0 / size.speedup, 3.0) && size.contexts == 1, "{size:?}");
    assert_eq!((found.interactions_seen, found.interactions.len()), (0, 0));
}

#[test]
fn a_missing_corner_leaves_the_combinations_that_are_whole() {
    let ask = Factorial {
        keep: |fs, write, _| fs != "btrfs:noatime" || write == "pwrite",
        ..Factorial::default()
    };
    let found = analysed(&ask);
    assert_eq!((found.design, found.cells), (FactorDesign::Partial, 10));
    let effects = &factor(&found, "candidate").effects;
    let contexts: Vec<_> = effects.iter().map(|effect| effect.contexts).collect();
    assert_eq!(contexts, [2, 4], "btrfs, then xfs");
    assert_eq!(factor(&found, "write").effects[0].contexts, 4);
}

#[test]
fn a_block_that_lost_a_trial_does_not_count_for_its_effects() {
    let mut run = run_of(&Factorial::default());
    run.trials.retain(|trial| trial.cell.0 != "xfs:noatime/uring/256" || trial.block != 3);
    let found = findings(&run).factors.remove(0);
    let blocks = |name: &str, level: &str| effect(&found, name, level).blocks;
    assert_eq!((blocks("candidate", "xfs:noatime"), blocks("candidate", "btrfs:noatime")), (9, 10));
    assert_eq!((blocks("write", "uring"), blocks("size", "4096")), (9, 9));
}

/// What is left of a candidate that fails when it is slow looks fast.
#[test]
fn a_candidate_that_fails_when_it_is_slow_is_not_called_faster() {
    let truth = |fs: &str, _: &str, _: &str| if fs == "xfs:noatime" { 400.0 } else { 500.0 };
    let ask = Factorial { truth, blocks: 24, ..Factorial::default() };
    let mut run = run_of(&ask);
    let claim = |run: &RunRecord| {
        let found = findings(run).factors.remove(0);
        let xfs = effect(&found, "candidate", "xfs:noatime").clone();
        (xfs.claim, xfs.blocks, xfs.speedup, found.sentences)
    };
    let (said, blocks, ..) = claim(&run);
    assert_eq!((said, blocks), (Claim::Faster, 24));
    let mut fail = |blocks: fn(u32) -> bool| {
        let own = |trial: &&mut TrialRecord| trial.cell.0 == "xfs:noatime/uring/256";
        for trial in run.trials.iter_mut().filter(own).filter(|trial| blocks(trial.block)) {
            trial.outcome = Outcome::Failed { reason: "ENOSPC".into() };
        }
        claim(&run)
    };
    let (said, blocks, ..) = fail(|block| block % 2 == 0);
    assert_eq!((said, blocks), (Claim::Open, 24), "as many failed as did not");
    let (said, blocks, speedup, sentences) = fail(|block| block > 1);
    assert_eq!((said, blocks, speedup), (Claim::Slower, 24, 0.0));
    let words = "candidate, of which a level failed in most blocks";
    assert!(sentences.iter().any(|sentence| sentence.contains(words)), "{sentences:?}");
}

/// The view that ranks an answer is the view of its factors.
#[test]
fn factors_are_of_the_raw_response_where_the_drivers_stalls_are_more_than_the_margin() {
    let mut run = run_of(&Factorial::default());
    run.plan.design.primary[0].view = View::Response;
    for trial in &mut run.trials {
        let is_xfs = trial.cell.0.starts_with("xfs");
        for op in trial.ops.iter_mut().filter(|op| op.op == "append") {
            let mut raw = op.service.clone();
            raw.mean_ns *= if is_xfs { 3.0 } else { 1.0 };
            (op.response, op.raw_response) = (Some(op.service.clone()), Some(raw));
        }
    }
    let found = findings(&run).factors.remove(0);
    assert_eq!(found.metric.view, View::RawResponse);
    let xfs = effect(&found, "candidate", "xfs:noatime");
    assert!(near(1.0 / xfs.speedup, 3.75), "{xfs:?}");
}

#[test]
fn too_few_blocks_claim_nothing_and_name_what_they_need() {
    let found = analysed(&Factorial { blocks: 6, ..Factorial::default() });
    let effects = found.factors.iter().flat_map(|factor| &factor.effects);
    assert!(effects.clone().all(|effect| effect.claim == Claim::Open));
    assert_eq!(effects.count(), 4);
    assert_eq!(
        found.sentences[0],
        "Nothing is claimed of the factors of append mean over 12 cells (every combination): 6 \
         blocks ran, and the 4 main effects need 9 at least to be told from chance."
    );
    let found = analysed(&Factorial { noise: 0.5, truth: |_, _, _| 1.0, ..Factorial::default() });
    assert!(found.sentences[0].contains("10 blocks ran, and the 4 main effects need 11 at least"));
}

/// As where processes are a factor and each has its share of the work.
#[test]
fn combinations_that_stand_in_no_block_together_are_told_and_ask_for_no_blocks() {
    let mut run = run_of(&Factorial::default());
    let base = run.trials[0].cell.clone();
    for trial in run.trials.iter_mut().filter(|trial| (trial.cell == base) != (trial.block == 1)) {
        for op in &mut trial.ops {
            op.service.mean_ns = 0.0;
        }
    }
    let found = findings(&run).factors.remove(0);
    let words = "no block holds every combination with one amount of work.";
    assert!(found.sentences[0].ends_with(words), "{:?}", found.sentences);
}

/// Five shapes, no effect at all: at most one run in twenty may claim anything; of sixty
/// such runs at most nine do (chance of more under 0.2 %).
#[test]
fn without_effects_few_runs_claim_any() {
    let mut claimed = 0;
    for shape in Shape::ALL {
        for seed in 0..12 {
            let ask =
                Factorial { blocks: 8, shape, truth: |_, _, _| 500.0, ..Factorial::default() };
            let mut run = run_of(&ask);
            let values = simulate(&Simulation {
                medians: vec![500.0; run.cells.len()],
                noise: 0.1,
                shape,
                blocks: 8,
                seed: 100 + seed,
            });
            for (trial, value) in run.trials.iter_mut().zip(values.iter().flatten()) {
                let append = trial.ops.iter_mut().find(|op| op.op == "append");
                append.expect("an append").service.mean_ns = *value;
            }
            claimed += u32::from(findings(&run).factors[0].factors.iter().any(matters));
        }
    }
    assert!(claimed <= 9, "{claimed} of 60");
}

#[test]
fn one_factor_alone_has_no_factor_findings() {
    let one = fake_run(&FakeRun { blocks: 8, syncs: vec!["none".into()], ..FakeRun::default() });
    assert!(findings(&one).factors.is_empty());
    let tied_to_one_level = fake_run(&FakeRun { blocks: 8, ..FakeRun::default() });
    assert!(findings(&tied_to_one_level).factors.is_empty(), "each metric holds at one sync only");
}

#[test]
fn levels_that_survive_less_are_said_and_a_race_is_judged_by_its_own_test() {
    let mut run = run_of(&Factorial { blocks: 12, ..Factorial::default() });
    for cell in run.cells.iter_mut().filter(|cell| cell.level("write") == Some("uring")) {
        cell.durability = Durability::Nothing;
    }
    run.plan.design.stop = StopRule::Decided { budget_s: 600.0, tie_margin: 0.05 };
    let found = findings(&run).factors.remove(0);
    assert!(factor(&found, "write").is_mixed && !factor(&found, "size").is_mixed);
    assert_eq!(
        found.sentences.last().map(String::as_str),
        Some("Not all levels of write survive the same.")
    );
    assert_eq!(factor(&found, "size").effects[0].claim, Claim::Slower);
}
