//! Comparisons within blocks, and what each of them supports (rule 8).
//!
//! The log-ratio of two rows within a block is the datum. A run of fixed length is
//! judged by [`crate::signflip`], a race by [`crate::sequential`], because it was
//! looked at while it ran. Holm's correction runs over the primary comparisons of
//! the whole run; everything else is exploratory and claims nothing.
//!
//! A tie names the smallest ratio that the run could have seen: the longer arm of the
//! interval at the level 1 - 0.05 / (comparisons left open by Holm's procedure). At
//! that level every open comparison holds "no difference", so no ratio that was
//! observed and not claimed exceeds what is said to be visible.

use std::collections::BTreeMap;

use pickfs_model::{
    RunRecord, TrialRecord,
    finding::{Claim, Comparison, OpSummary},
    plan::{Metric, Statistic, StopRule, View},
};

use crate::{
    ALPHA, BLOCKS_MIN, holm,
    panels::{Group, Member, Robbed, applies},
    phases::scale::are_alike,
    robbed,
    sequential::{self, Sequential},
    signflip::{self, SignFlip},
    summary::{is_carried, metric_value},
};

/// How a run may be judged: by when it was allowed to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Planned blocks: exact sign-flip test of the mean log-ratio.
    SignFlip,
    /// Stopped when decided: always-valid test of the centre of the log-ratios.
    Sequential,
}

impl Method {
    /// The method that a stop rule allows.
    pub fn of(stop: &StopRule) -> Self {
        match stop {
            StopRule::Blocks => Method::SignFlip,
            StopRule::Decided { .. } => Method::Sequential,
        }
    }

    /// Fewest blocks with which so many comparisons can be claimed at all.
    pub fn blocks_needed(self, comparisons: usize) -> u32 {
        match self {
            Method::SignFlip => signflip::blocks_needed(comparisons, ALPHA),
            Method::Sequential => sequential::blocks_needed(comparisons, ALPHA),
        }
    }

    fn evidence(self, ratios: &[f64]) -> Option<Evidence> {
        if ratios.len() < BLOCKS_MIN as usize {
            return None;
        }
        match self {
            Method::SignFlip => SignFlip::new(ratios).map(Evidence::SignFlip),
            Method::Sequential => Sequential::new(ratios).map(Evidence::Sequential),
        }
    }

    /// The centre of log-ratios with its interval; none under five of them.
    pub(crate) fn estimate_with_interval(self, ratios: &[f64]) -> (f64, Option<(f64, f64)>) {
        let evidence = self.evidence(ratios);
        let interval = evidence.and_then(|evidence| evidence.interval(evidence.level()));
        (self.estimate(ratios), interval)
    }

    /// The centre of log-ratios as this method estimates it; 0 without any.
    fn estimate(self, ratios: &[f64]) -> f64 {
        match self {
            Method::SignFlip => ratios.iter().sum::<f64>() / ratios.len().max(1) as f64,
            Method::Sequential => Sequential::new(ratios).map_or(0.0, |test| test.estimate()),
        }
    }
}

enum Evidence {
    SignFlip(SignFlip),
    Sequential(Sequential),
}

impl Evidence {
    fn p(&self) -> f64 {
        match self {
            Evidence::SignFlip(test) => test.p(0.0),
            Evidence::Sequential(test) => test.p(0.0),
        }
    }

    fn interval(&self, level: f64) -> Option<(f64, f64)> {
        match self {
            Evidence::SignFlip(test) => test.interval(level),
            Evidence::Sequential(test) => test.interval(level),
        }
    }

    /// 0.95, or what the blocks can carry: five of them carry 0.9375.
    fn level(&self) -> f64 {
        match self {
            Evidence::SignFlip(test) => test.level_max().min(1.0 - ALPHA),
            Evidence::Sequential(_) => 1.0 - ALPHA,
        }
    }
}

/// A comparison that is to be made.
struct Draft<'a> {
    group: usize,
    reference: &'a Member<'a>,
    other: &'a Member<'a>,
    metric: Metric,
    primary: bool,
    carried: bool,
}

/// A comparison with its evidence.
struct Judged {
    ratios: Vec<f64>,
    evidence: Option<Evidence>,
    p_holm: Option<f64>,
    claim: Claim,
}

/// Comparisons of each group, primary ones first. `ops` holds each group's rows' summaries.
pub fn comparisons(
    run: &RunRecord,
    groups: &[Group<'_>],
    ops: &[Vec<Vec<OpSummary>>],
) -> Vec<Vec<Comparison>> {
    let method = Method::of(&run.plan.design.stop);
    let drafts = drafts(run, groups, ops);
    let kept = judge(&drafts, method, Robbed::Kept);
    let left_out = if run.trials.iter().any(robbed::is_robbed) {
        judge(&drafts, method, Robbed::LeftOut).into_iter().map(|judged| judged.claim).collect()
    } else {
        kept.iter().map(|judged| judged.claim).collect::<Vec<_>>()
    };
    let mut found: Vec<Vec<Comparison>> = groups.iter().map(|_| Vec::new()).collect();
    for ((draft, judged), without) in drafts.iter().zip(kept).zip(left_out) {
        found[draft.group].push(comparison(draft, judged, without, method));
    }
    found.iter_mut().for_each(|list| list.sort_by_key(|comparison| !comparison.primary));
    found
}

fn comparison(draft: &Draft<'_>, judged: Judged, without: Claim, method: Method) -> Comparison {
    let evidence = judged.evidence.as_ref();
    let level = evidence.map_or(1.0 - ALPHA, Evidence::level);
    let interval = evidence.and_then(|evidence| evidence.interval(level));
    Comparison {
        metric: draft.metric.clone(),
        reference: draft.reference.label.clone(),
        other: draft.other.label.clone(),
        primary: draft.primary,
        blocks: judged.ratios.len() as u32,
        speedup: method.estimate(&judged.ratios).exp(),
        interval: interval.map(|(low, high)| (low.exp(), high.exp())),
        level,
        p: evidence.map(Evidence::p),
        p_holm: judged.p_holm,
        claim: judged.claim,
        claim_without_robbed: (!same_kind(judged.claim, without)).then_some(without),
    }
}

fn same_kind(one: Claim, other: Claim) -> bool {
    std::mem::discriminant(&one) == std::mem::discriminant(&other)
}

fn drafts<'a>(
    run: &RunRecord,
    groups: &'a [Group<'a>],
    ops: &[Vec<Vec<OpSummary>>],
) -> Vec<Draft<'a>> {
    let mut drafts = Vec::new();
    for (index, (group, ops)) in groups.iter().zip(ops).enumerate() {
        let Some(reference) = group.members.get(group.reference) else { continue };
        for (metric, primary) in metrics(run, group, &ops[group.reference]) {
            for rival in group.rivals() {
                let other = &group.members[rival];
                if !applies(&metric, reference.cell) || !applies(&metric, other.cell) {
                    continue;
                }
                let carried =
                    is_carried(&ops[group.reference], &metric) && is_carried(&ops[rival], &metric);
                let metric = metric.clone();
                drafts.push(Draft { group: index, reference, other, metric, primary, carried });
            }
        }
    }
    drafts.retain(|draft| !ratios(draft, Robbed::Kept).is_empty());
    drafts
}

/// The plan's metrics, then a few that are always worth a look: median and p99 of
/// the service time and p99 of the response time of each operation. The rows of a phased
/// workload have their own ratios, so nothing is added there.
fn metrics(run: &RunRecord, group: &Group<'_>, ops: &[OpSummary]) -> Vec<(Metric, bool)> {
    let planned = &run.plan.design.primary;
    let mut metrics: Vec<(Metric, bool)> =
        planned.iter().map(|metric| (metric.clone(), group.reference_planned)).collect();
    let is_phased = group.members.iter().flat_map(|m| &m.trials).any(|t| !t.phases.is_empty());
    for op in ops.iter().filter(|_| !is_phased) {
        for q in [0.5, 0.99] {
            let metric = Metric {
                op: op.op.clone(),
                view: op.view,
                statistic: Statistic::Quantile(q),
                at: Default::default(),
            };
            let known = metrics.iter().any(|(planned, _)| {
                let member = &group.members[group.reference];
                same_number(planned, &metric) && applies(planned, member.cell)
            });
            let asked = op.view == View::Service || q > 0.5;
            if asked && !known && is_carried(ops, &metric) {
                metrics.push((metric, false));
            }
        }
    }
    metrics
}

/// Whether two metrics are the same number of a trial, wherever they apply.
fn same_number(one: &Metric, other: &Metric) -> bool {
    one.op == other.op && one.view == other.view && one.statistic == other.statistic
}

fn ratios(draft: &Draft<'_>, robbed: Robbed) -> Vec<f64> {
    log_ratios(draft.reference, draft.other, &draft.metric, robbed)
}

/// Logarithms of the speedup in each block that holds both rows, in block order:
/// reference over other where less is better, other over reference where more is. Trials of unequal scale make no pair.
pub fn log_ratios(
    reference: &Member<'_>,
    other: &Member<'_>,
    metric: &Metric,
    robbed: Robbed,
) -> Vec<f64> {
    let base = reference.chosen(robbed);
    let sign = if metric.statistic.is_better_higher() { -1.0 } else { 1.0 };
    let ratio = |trial: &TrialRecord| {
        let base = base.iter().find(|base| base.block == trial.block)?;
        let pair = are_alike(base, trial).then_some(base)?;
        Some(sign * (metric_value(pair, metric)? / metric_value(trial, metric)?).ln())
    };
    let ratios = other.chosen(robbed).into_iter().filter_map(ratio);
    ratios.filter(|ratio| ratio.is_finite()).collect()
}

/// A metric of a row by block.
pub fn values_by_block(member: &Member<'_>, metric: &Metric, robbed: Robbed) -> BTreeMap<u32, f64> {
    let trials = member.chosen(robbed).into_iter();
    trials.filter_map(|trial| Some((trial.block, metric_value(trial, metric)?))).collect()
}

fn judge(drafts: &[Draft<'_>], method: Method, robbed: Robbed) -> Vec<Judged> {
    let mut judged: Vec<Judged> = drafts
        .iter()
        .map(|draft| {
            let ratios = ratios(draft, robbed);
            let evidence = method.evidence(&ratios);
            Judged { ratios, evidence, p_holm: None, claim: Claim::NotClaimed }
        })
        .collect();
    let primary: Vec<bool> = drafts.iter().map(|draft| draft.primary).collect();
    let carried: Vec<bool> = drafts.iter().map(|draft| draft.carried).collect();
    correct(&mut judged, method, &primary, &carried);
    judged
}

/// Holm's correction over the primary ones, and claims for those that are also carried.
fn correct(judged: &mut [Judged], method: Method, primary: &[bool], carried: &[bool]) {
    let family: Vec<usize> = (0..judged.len())
        .filter(|&index| primary[index] && judged[index].evidence.is_some())
        .collect();
    let p: Vec<f64> = family
        .iter()
        .filter_map(|&index| judged[index].evidence.as_ref().map(Evidence::p))
        .collect();
    let adjusted = holm::adjusted(&p);
    let open = holm::open(&adjusted, ALPHA);
    let needed = method.blocks_needed(family.len());
    for (&index, &p_holm) in family.iter().zip(&adjusted) {
        judged[index].p_holm = Some(p_holm);
        // A tie needs blocks that could have told it apart; a rejection proves that it had them.
        let enough = p_holm <= ALPHA || judged[index].ratios.len() >= needed as usize;
        if carried[index] && enough {
            judged[index].claim = claim(&judged[index], p_holm, open, method);
        }
    }
}

/// What one series of a family says.
pub(crate) struct Said {
    pub(crate) estimate: f64,
    pub(crate) interval: Option<(f64, f64)>,
    pub(crate) level: f64,
    pub(crate) p: Option<f64>,
    pub(crate) p_holm: Option<f64>,
    pub(crate) claim: Claim,
}

/// Judges series of log-ratios: those marked as planned as one family with Holm's correction,
/// the others without a claim.
pub(crate) fn judge_series(method: Method, series: Vec<(Vec<f64>, bool)>) -> Vec<Said> {
    let judged = series.into_iter().map(|(ratios, planned)| {
        let evidence = method.evidence(&ratios);
        (Judged { ratios, evidence, p_holm: None, claim: Claim::NotClaimed }, planned)
    });
    let (mut judged, planned): (Vec<Judged>, Vec<bool>) = judged.unzip();
    correct(&mut judged, method, &planned, &planned);
    let said = |judged: Judged| {
        let evidence = judged.evidence.as_ref();
        let level = evidence.map_or(1.0 - ALPHA, Evidence::level);
        Said {
            estimate: method.estimate(&judged.ratios),
            interval: evidence.and_then(|evidence| evidence.interval(level)),
            level,
            p: evidence.map(Evidence::p),
            p_holm: judged.p_holm,
            claim: judged.claim,
        }
    };
    judged.into_iter().map(said).collect()
}

fn claim(judged: &Judged, p_holm: f64, open: usize, method: Method) -> Claim {
    let estimate = method.estimate(&judged.ratios);
    if p_holm <= ALPHA {
        return if estimate > 0.0 { Claim::Faster } else { Claim::Slower };
    }
    let level = 1.0 - ALPHA / open.max(1) as f64;
    let interval = judged.evidence.as_ref().and_then(|evidence| evidence.interval(level));
    match interval {
        Some((low, high)) => {
            Claim::Tie { visible_ratio: (high - estimate).max(estimate - low).exp() }
        }
        None => Claim::NotClaimed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings;
    use pickfs_testkit::{FakeCandidate, FakeRun, Mishap, fake_run};

    fn primary(ask: &FakeRun) -> Vec<Comparison> {
        let found = findings(&fake_run(ask));
        let all = found.panels.into_iter().flat_map(|panel| panel.comparisons);
        all.filter(|comparison| comparison.primary).collect()
    }

    fn eight() -> FakeRun {
        FakeRun { blocks: 8, ..FakeRun::default() }
    }

    #[test]
    fn planted_differences_are_claimed_in_the_right_direction() {
        let found = primary(&eight());
        let said: Vec<_> = found.iter().map(|c| (c.other.as_str(), c.claim)).collect();
        assert_eq!(said.len(), 4);
        assert!(said.contains(&("xfs:noatime", Claim::Faster)), "{said:?}");
        assert_eq!(said.iter().filter(|s| s.1 == Claim::Slower).count(), 3, "{said:?}");
        let durable = found.iter().find(|c| c.claim == Claim::Faster).expect("xfs");
        assert!((durable.speedup - 194.0 / 141.0).abs() < 0.15, "{durable:?}");
        let (low, high) = durable.interval.expect("eight blocks");
        assert!(low > 1.0 && low < durable.speedup && durable.speedup < high);
        assert_eq!((durable.blocks, durable.level), (8, 0.95));
    }

    #[test]
    fn too_few_blocks_show_ratios_and_claim_nothing() {
        let four = primary(&FakeRun { blocks: 4, ..FakeRun::default() });
        assert!(four.iter().all(|c| c.claim == Claim::NotClaimed && c.p.is_none()));
        assert!(four.iter().all(|c| c.interval.is_none() && c.speedup > 0.0));
        let five = primary(&FakeRun { blocks: 5, ..FakeRun::default() });
        assert!(five.iter().all(|c| c.claim == Claim::NotClaimed && c.p.is_some()));
        assert!(five.iter().all(|c| c.level == 0.9375 && c.interval.is_some()));
        let seven = primary(&FakeRun { blocks: 7, ..FakeRun::default() });
        assert!(seven.iter().all(|c| c.claim == Claim::NotClaimed), "four comparisons need eight");
    }

    #[test]
    fn equal_candidates_tie_and_the_tie_names_what_it_could_have_seen() {
        let candidates = ["ext4:noatime", "xfs:noatime"];
        let candidates = candidates.map(|text| FakeCandidate::new(text, 500.0, 150_000.0)).into();
        for comparison in primary(&FakeRun { candidates, blocks: 10, ..FakeRun::default() }) {
            let Claim::Tie { visible_ratio } = comparison.claim else { panic!("{comparison:?}") };
            assert!(visible_ratio > 1.0 && visible_ratio < 1.3, "{visible_ratio}");
            assert!(comparison.speedup.ln().abs() <= visible_ratio.ln());
        }
    }

    #[test]
    fn exploratory_comparisons_have_values_and_no_claim() {
        let found = findings(&fake_run(&eight()));
        let all: Vec<_> = found.panels.iter().flat_map(|panel| &panel.comparisons).collect();
        let rest: Vec<_> = all.iter().filter(|comparison| !comparison.primary).collect();
        assert!(rest.len() > 4);
        assert!(rest.iter().all(|c| c.claim == Claim::NotClaimed && c.p_holm.is_none()));
        for panel in &found.panels {
            assert!(panel.comparisons.is_sorted_by_key(|comparison| !comparison.primary));
        }
    }

    #[test]
    fn a_floor_is_compared_with_nothing() {
        let found = findings(&fake_run(&eight()));
        let all = found.panels.iter().flat_map(|panel| &panel.comparisons);
        assert!(all.into_iter().all(|c| c.other != "tmpfs" && c.reference != "tmpfs"));
    }

    #[test]
    fn a_claim_that_hangs_on_robbed_trials_is_shown_both_ways() {
        let candidates = ["ext4:noatime", "xfs:noatime"];
        let candidates = candidates.map(|text| FakeCandidate::new(text, 500.0, 150_000.0)).into();
        let rob = |block| Mishap::robbed("xfs:noatime", "none", block, 1.6);
        let mishaps = (1..=8).map(rob).collect();
        let found = primary(&FakeRun { candidates, blocks: 8, mishaps, ..FakeRun::default() });
        let append = found.iter().find(|c| c.metric.op == "append").expect("append");
        assert_eq!(append.claim, Claim::Slower);
        assert!(matches!(append.claim_without_robbed, Some(Claim::Tie { .. })), "{append:?}");
        let durable = found.iter().find(|c| c.metric.op == "durable").expect("durable");
        assert_eq!(durable.claim_without_robbed, None);
    }

    #[test]
    fn a_quantile_without_its_episodes_is_not_claimed() {
        let mut ask = eight();
        ask.primary[0].statistic = Statistic::Quantile(0.99999);
        ask.rate_per_s = 1_000.0;
        let found = primary(&ask);
        let tails: Vec<_> = found.iter().filter(|c| c.metric.op == "durable").collect();
        assert_eq!(tails.len(), 2);
        assert!(tails.iter().all(|c| c.claim == Claim::NotClaimed));
    }

    #[test]
    fn a_race_is_judged_by_the_test_that_may_be_looked_at() {
        let stop = StopRule::Decided { budget_s: 600.0, tie_margin: 0.05 };
        let seven = FakeRun { stop: stop.clone(), blocks: 7, ..FakeRun::default() };
        let found = primary(&seven);
        assert!(found.iter().all(|c| c.claim == Claim::NotClaimed), "four comparisons need eight");
        let found = primary(&FakeRun { stop, blocks: 11, ..FakeRun::default() });
        assert!(found.iter().filter(|c| c.claim != Claim::NotClaimed).count() >= 3);
    }
}
