//! All that a run prints may hold a wrong statement with a chance of five per cent at most: its answers, the main
//! effects of its factors, and what it says to claims of articles share that. The shares are fixed before the first
//! block, so that no result moves them.

use pickfs_record::Plan;

use crate::{articles::articles, decide::Rules};

/// Chance of any wrong statement in what a run, a choice or a comparison of runs prints.
pub const ALPHA: f64 = 0.05;
/// Part of it that claims of articles have together, where there are any on the run's workload.
const OF_CLAIMS: f64 = 0.1;

/// For each of so many answers; the effects of factors have as much as the answers.
pub(crate) fn answer(plan: &Plan, answers: usize, has_effects: bool) -> Rules {
    let shares = answers.max(1) * if has_effects { 2 } else { 1 };
    one_of(plan, of_plan(plan), shares)
}

/// For each of so many main effects.
pub(crate) fn effect(plan: &Plan, effects: usize) -> Rules {
    one_of(plan, of_plan(plan), 2 * effects.max(1))
}

/// For each claim that compares rows.
pub(crate) fn claim(plan: &Plan) -> Rules {
    one_of(plan, OF_CLAIMS * ALPHA, claims(&plan.workload).max(1))
}

/// For each of so many statements that are all of what is printed.
pub(crate) fn one_of(plan: &Plan, alpha: f64, shares: usize) -> Rules {
    Rules { alpha: alpha / shares.max(1) as f64, ..Rules::of(plan) }
}

/// What the plan's own answers and effects may err.
pub fn of_plan(plan: &Plan) -> f64 {
    if claims(&plan.workload) == 0 { ALPHA } else { (1.0 - OF_CLAIMS) * ALPHA }
}

fn claims(workload: &str) -> usize {
    let all = articles().iter().flat_map(|article| &article.claims);
    all.filter(|claim| claim.workload == workload && claim.relation.compares()).count()
}
