use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use pickfs_record::{BackingKind, Findings, RunRecord, origin::Origin};

use super::{
    Answer, Article, Claim, Measure, Outcome, RunAnswer, beside,
    pairs::{self, Miss},
    placed::{Desk, Placed, Source},
    takes,
};
use crate::objective::FeatureAnswers;

#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// Plans that can be run, and what each takes; empty where nobody knows.
    pub plans: &'a BTreeMap<&'a str, String>,
    pub features: Option<&'a FeatureAnswers>,
    pub origins: &'a BTreeMap<String, Origin>,
}

pub fn answers<'a>(
    articles: impl IntoIterator<Item = &'a Article>,
    sources: &[Source<'_>],
    known: &Known<'_>,
) -> Vec<Answer> {
    let desks: Vec<Desk<'_>> = sources.iter().map(Desk::new).collect();
    let claims = articles
        .into_iter()
        .flat_map(|article| article.claims.iter().map(move |claim| (article, claim)));
    claims.map(|(article, claim)| answer(article, claim, &desks, known)).collect()
}

pub fn of_run(run: &RunRecord, findings: &Findings) -> Vec<Answer> {
    let known = Known { plans: &BTreeMap::new(), features: None, origins: &BTreeMap::new() };
    let mut all = answers(super::articles(), &[Source { run, findings }], &known);
    all.retain(|answer| !answer.runs.is_empty());
    all
}

fn answer(article: &Article, claim: &Claim, desks: &[Desk<'_>], known: &Known<'_>) -> Answer {
    let (outcome, runs, miss) = match &claim.measure {
        Measure::Advice => {
            let reason = "a recommendation on method: no measurement answers it";
            (Outcome::not_testable(reason), Vec::new(), None)
        }
        Measure::Fact { name, words } => {
            let said = beside::fact(claim, name, words, known.origins);
            let outcome = said.outcome.clone();
            let known = Some(said).filter(|said| !said.evidence.is_empty());
            (outcome, known.into_iter().collect(), None)
        }
        Measure::Feature(key) => {
            let run = known.features.map(|features| beside::feature(claim, key, features));
            let outcome = run.as_ref().map_or(Outcome::NotYetRun, |run| run.outcome.clone());
            (outcome, run.into_iter().collect(), None)
        }
        _ if !claim.takes.is_empty() => {
            let reason = format!("no run of {} answers it", claim.plan_words());
            (Outcome::not_testable(reason), Vec::new(), None)
        }
        _ => of_runs(claim, desks, known),
    };
    let unrun = takes::plans_timed(&unrun(claim, desks, known), known);
    let takes = takes::answer(claim, &outcome, &runs, miss.as_ref(), &unrun);
    Answer { article: article.id.clone(), claim: claim.clone(), outcome, runs, takes }
}

type OfRuns = (Outcome, Vec<RunAnswer>, Option<Miss>);

/// Runs of the plan that was made for it alone: what another happens to hold is no experiment on the claim.
fn of_runs(claim: &Claim, desks: &[Desk<'_>], known: &Known<'_>) -> OfRuns {
    let mut runs: Vec<(RunAnswer, Strength<'_>)> = Vec::new();
    let mut miss: Option<Miss> = None;
    let is_own = |desk: &&Desk<'_>| {
        claim.plan.is_empty() || claim.plans().any(|plan| desk.run.plan.name == plan)
    };
    for desk in desks.iter().filter(is_own) {
        let rows = Placed::all(desk, &claim.workload);
        if rows.is_empty() {
            continue;
        }
        match pairs::run_answer(claim, desk, &rows) {
            Ok(answer) => {
                let strength = strength(claim, &answer, desk.run, &rows);
                runs.push((answer, strength));
            }
            Err(other) if miss.as_ref().is_none_or(|known| known.step < other.step) => {
                miss = Some(other)
            }
            Err(_) => {}
        }
    }
    runs.sort_by_key(|(_, strength)| Reverse(*strength));
    let runs: Vec<RunAnswer> = runs.into_iter().map(|(run, _)| run).collect();
    let outcome = match (runs.first(), &miss) {
        (Some(run), _) => run.outcome.clone(),
        _ if !unrun(claim, desks, known).is_empty() => Outcome::NotYetRun,
        (None, Some(miss)) => Outcome::not_testable(&miss.reason),
        (None, None) => {
            let (plans, workload) = (claim.plan_words(), &claim.workload);
            Outcome::not_testable(format!("no run of {plans} with rows of {workload} was given"))
        }
    };
    (outcome, runs, miss)
}

/// Its plans that can be run and are not among those that were.
fn unrun<'c>(claim: &'c Claim, desks: &[Desk<'_>], known: &Known<'_>) -> Vec<&'c str> {
    let is_run = |plan: &str| {
        let mut own = desks.iter().filter(|desk| desk.run.plan.name == plan);
        own.any(|desk| !has_other_levels(claim, desk))
    };
    claim.plans().filter(|plan| known.plans.contains_key(plan) && !is_run(plan)).collect()
}

/// Whether what was typed behind the plan's name took away the level that the claim asks about.
fn has_other_levels(claim: &Claim, desk: &Desk<'_>) -> bool {
    match pairs::run_answer(claim, desk, &Placed::all(desk, &claim.workload)) {
        Err(Miss { step: pairs::NO_ROW, wants, .. }) => {
            let level = wants.split_inclusive('=').next().unwrap_or_default();
            desk.run.plan.typed.iter().any(|word| word.starts_with(level))
        }
        _ => false,
    }
}

/// The article's own scale before another, a disk before a loop image, then how much of what the claim names is there, the
/// number of blocks, and the later start. What a run says is no part of it: else the friendliest of many would answer.
type Strength<'a> = (bool, u8, usize, u32, &'a str);

fn strength<'a>(
    claim: &Claim,
    answer: &RunAnswer,
    run: &'a RunRecord,
    rows: &[Placed<'_>],
) -> Strength<'a> {
    let ground = match rows[0].row.backing {
        BackingKind::Disk => 2,
        BackingKind::LoopImage | BackingKind::GuestImage => 1,
        BackingKind::RamImage | BackingKind::Memory | BackingKind::Directory => 0,
    };
    let blocks = answer.evidence.iter().map(|evidence| evidence.blocks).min().unwrap_or(0);
    (answer.scale.is_empty(), ground, named(claim, rows), blocks, &run.started)
}

/// Values of rows that the conditions of a claim hold: three where it names `none|sparse|zero-filled-hot` and all are there,
/// one where it compares (`>=16`).
fn named(claim: &Claim, rows: &[Placed<'_>]) -> usize {
    let conditions = [&claim.at, &claim.subject, &claim.object].into_iter().flatten();
    let held = conditions.map(|(name, condition)| {
        let measured = rows.iter().filter(|row| row.row.trials > 0);
        let values = measured.filter_map(|row| row.property(name));
        let values: BTreeSet<_> = values.filter(|value| condition.holds(value)).collect();
        values.len().min(condition.words().len().max(1))
    });
    held.sum()
}
