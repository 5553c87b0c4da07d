//! What an answer would take, in a sentence.

use pickfs_record::{RunRecord, quantity::span_text, typed::program};

use super::{Claim, Known, Measure, Outcome, RunAnswer, judge::Ratio, pairs::Miss, placed::Desk};
use crate::wording::{blocks_text, list};

/// What would decide what rows say, by a ratio or by none; nothing where it is decided or only shown.
pub(super) fn of_rows(desk: &Desk<'_>, outcome: &Outcome, found: Option<&Ratio>) -> String {
    if !outcome.is_open() {
        return String::new();
    }
    let plan = &desk.run.plan.name;
    let Some(found) = found else { return format!("a run of {plan}") };
    match (&found.gate, found.more_blocks()) {
        (Some(gate), _) => format!("another run of {plan}: {}", gate.mend),
        (_, None) => {
            format!("a run of {plan} with many more than {}", blocks_text(found.blocks))
        }
        (_, Some(more)) => {
            let blocks = found.blocks + more.max(1);
            let s = block_s(desk.run) * f64::from(blocks);
            let time =
                if s > 0.0 { format!(", here some {}", span_text(s)) } else { String::new() };
            format!("a run of {plan} with --blocks {blocks}{time}")
        }
    }
}

/// Seconds from one block of a run to the next.
fn block_s(run: &RunRecord) -> f64 {
    let ends = run.trials.iter().map(|trial| trial.started_s + trial.elapsed_s);
    ends.fold(0.0, f64::max) / f64::from(run.blocks().max(1))
}

/// `article-002-ubuntu (2 h) or article-002-guests (5 h)`.
pub(super) fn plans_timed(plans: &[&str], known: &Known<'_>) -> String {
    let timed = |plan: &&str| match known.plans.get(plan) {
        Some(time) if !time.is_empty() => format!("{plan} ({time})"),
        _ => (*plan).to_owned(),
    };
    plans.iter().map(timed).collect::<Vec<_>>().join(" or ")
}

/// Of a claim as a whole; nothing where it is answered. A miss is of a run that should have answered; `unrun` are the plans
/// that were not run.
pub(super) fn answer(
    claim: &Claim,
    outcome: &Outcome,
    runs: &[RunAnswer],
    miss: Option<&Miss>,
    unrun: &str,
) -> String {
    if !outcome.is_open() {
        return String::new();
    }
    let evidence = runs.first().map_or(&[][..], |run| &run.evidence);
    let worst = evidence.iter().max_by_key(|evidence| evidence.outcome.weight());
    let of_pair = worst.map(|worst| &worst.takes).filter(|takes| !takes.is_empty());
    let wanted = miss.map(|miss| miss.wants.as_str()).filter(|wants| !wants.is_empty());
    let without = runs.first().map_or(&[][..], |run| &run.without);
    let plans = claim.plan_words();
    match (&claim.measure, of_pair, wanted) {
        _ if !claim.takes.is_empty() => claim.takes.clone(),
        (Measure::Advice, ..) => "nothing that a run measures".into(),
        (Measure::Fact { .. }, ..) => "a source that says it".into(),
        (Measure::Feature(_), ..) => format!(
            "a table of their features: {} features --json FILE, then --features FILE",
            program()
        ),
        (_, Some(takes), _) => takes.clone(),
        _ if *outcome == Outcome::NotYetRun => {
            let given = miss.map(|miss| format!(" (in those given: {})", miss.reason));
            format!("a run of {unrun}{}", given.unwrap_or_default())
        }
        _ if !without.is_empty() => format!("a run of {plans} with {}", list(without)),
        (_, None, Some(wants)) => format!("a run of {plans} with {wants}"),
        _ => format!("a run of {plans}"),
    }
}
