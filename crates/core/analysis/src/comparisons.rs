use pickfs_record::{
    RunRecord, TrialRecord,
    finding::{Claim, Comparison, OpSummary},
    plan::{Metric, Statistic, View},
};

use crate::{
    answers::{Question, Summaries},
    decide::Rules,
    panels::{Group, Member, applies},
    phases::{order, rate_metric, scale::alike},
    summary::{is_carried, metric_value},
};

pub fn comparisons(
    run: &RunRecord,
    groups: &[Group<'_>],
    ops: &Summaries,
    planned: &[Question<'_>],
) -> Vec<Vec<Comparison>> {
    let mut found = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        let mut list: Vec<Comparison> = Vec::new();
        if let Some(reference) = group.members.get(group.reference) {
            for (metric, is_planned) in metrics(run, group, &ops[index][group.reference]) {
                for rival in group.rivals() {
                    let other = &group.members[rival];
                    if !applies(&metric, reference.cell) || !applies(&metric, other.cell) {
                        continue;
                    }
                    let mut own = planned.iter().filter(|question| {
                        is_planned && question.group == index && *question.metric == metric
                    });
                    let question =
                        own.find_map(|question| question.duel(&reference.label, &other.label));
                    let ratios = log_ratios(reference, other, &metric);
                    if ratios.is_empty() {
                        continue;
                    }
                    let claim = question.as_ref().map_or(Claim::Open, |(_, claim)| *claim);
                    let duel = question.map(|(duel, _)| duel);
                    let duel = duel.unwrap_or_else(|| Rules::of(&run.plan).duel(&ratios));
                    let Some(speedup) = duel.finite() else { continue };
                    list.push(Comparison {
                        metric: metric.clone(),
                        reference: reference.label.clone(),
                        other: other.label.clone(),
                        primary: is_planned,
                        blocks: duel.blocks,
                        speedup,
                        // A time that the plan did not ask for is outside the error that the run shares.
                        interval: duel
                            .closed()
                            .filter(|_| is_planned || !metric.statistic.is_time()),
                        claim,
                    });
                }
            }
        }
        list.sort_by_key(|comparison| !comparison.primary);
        found.push(list);
    }
    found
}

/// The plan's metrics; then the rate of each phase or, where there are none, median and p99 of the service time and
/// p99 of the response time of each operation.
fn metrics(run: &RunRecord, group: &Group<'_>, ops: &[OpSummary]) -> Vec<(Metric, bool)> {
    let mut metrics: Vec<(Metric, bool)> =
        run.plan.design.primary.iter().map(|metric| (metric.clone(), true)).collect();
    let phases = order(group);
    let rates: Vec<_> = phases.iter().map(|phase| (rate_metric(&phase.phase), true)).collect();
    let times = ops.iter().filter(|_| phases.is_empty()).flat_map(|op| {
        [0.5, 0.99].map(|q| {
            let statistic = Statistic::Quantile(q);
            let metric = Metric { view: op.view, ..Metric::new(&op.op, statistic) };
            let is_asked = op.view == View::Service || q > 0.5;
            let is_shown = is_asked && is_carried(ops, &metric);
            (metric, is_shown)
        })
    });
    for (metric, is_shown) in rates.into_iter().chain(times) {
        let is_known = metrics.iter().any(|(planned, _)| {
            let same = planned.op == metric.op
                && planned.view == metric.view
                && planned.statistic == metric.statistic;
            same && applies(planned, group.members[group.reference].cell)
        });
        if is_shown && !is_known {
            metrics.push((metric, false));
        }
    }
    metrics
}

/// The logarithm of the speedup in each block that holds both rows, in block order: reference over other where less is
/// better, other over reference where more is. Trials of unequal scale make no pair.
pub fn log_ratios(reference: &Member<'_>, other: &Member<'_>, metric: &Metric) -> Vec<(u32, f64)> {
    let sign = if metric.statistic.is_better_higher() { -1.0 } else { 1.0 };
    let ratio = |(base, trial): (&TrialRecord, &TrialRecord)| {
        let ratio = metric_value(base, metric)? / metric_value(trial, metric)?;
        Some((trial.block, sign * ratio.ln()))
    };
    let ratios = alike(reference, other).filter_map(ratio);
    ratios.filter(|(_, ratio)| ratio.is_finite()).collect()
}
