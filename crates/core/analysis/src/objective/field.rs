use std::collections::BTreeMap;

use pickfs_record::{
    BackingKind, RunRecord,
    finding::{Findings, OpSummary, Panel},
    plan::Metric,
};

use super::{formula::Formula, number::Number, profile::Part};
use crate::{
    answers::values_by_block,
    articles::{Selector, Source},
    decide::Rules,
    panels::{Disturbed, Group, Member, applies, groups},
    phases::scale,
    summary::{CAPACITY_KEY, is_carried, op_summaries},
    wording::metric_name,
};

#[derive(Debug)]
pub struct Field<'a> {
    pub run: &'a RunRecord,
    pub findings: &'a Findings,
    pub panel: &'a Panel,
    pub weight: f64,
    pub formula: Formula,
    pub rules: Rules,
    group: Group<'a>,
}

pub type Reason = String;

impl<'a> Field<'a> {
    pub fn all(part: &Part, source: &Source<'a>) -> Vec<Field<'a>> {
        let is_asked = |name: &str| part.workload.as_deref().is_none_or(|asked| asked == name);
        let fields = groups(source.run).into_iter().filter_map(|group| {
            let panel = source.findings.panels.iter().find(|panel| panel.levels == group.levels)?;
            Some(Field {
                run: source.run,
                findings: source.findings,
                panel,
                weight: part.weight,
                formula: part.formula.clone(),
                rules: Rules::of(&source.run.plan),
                group,
            })
        });
        let holds = |field: &Field<'_>| {
            let cell = |member: &Member<'_>| {
                is_asked(&member.cell.workload.name) && holds(&part.at, member)
            };
            field.group.members.iter().any(cell) && field.has_numbers()
        };
        fields.filter(holds).collect()
    }

    fn has_numbers(&self) -> bool {
        let has = |number: &Number| {
            self.group.members.iter().any(|member| metric(member, number).is_some())
        };
        self.formula.terms.iter().all(|term| has(&term.number))
    }

    pub fn members(&self) -> &[Member<'a>] {
        &self.group.members
    }

    pub fn member(&self, label: &str) -> Option<&Member<'a>> {
        self.group.members.iter().find(|member| member.label == label)
    }

    pub fn backing(&self) -> BackingKind {
        self.group
            .members
            .get(self.group.reference)
            .map_or(BackingKind::Directory, |member| member.backing)
    }

    pub fn unfit(&self, member: &Member<'_>) -> Option<Reason> {
        if member.is_floor() {
            return Some("it lies in memory: a floor, not a choice".into());
        }
        if member.backing != self.backing() {
            return Some(format!(
                "it stood on {}, the others on {}",
                member.backing,
                self.backing()
            ));
        }
        let trials = member.chosen(Disturbed::Kept);
        if trials.is_empty() {
            let row = self.panel.rows.iter().find(|row| row.label == member.label);
            return Some(
                row.and_then(|row| row.failure.clone())
                    .unwrap_or("no trial came to its end".into()),
            );
        }
        if self.is_other_work(member) {
            return Some("it ran at another scale than the others: not the same work".into());
        }
        let ops = op_summaries(&trials);
        self.formula.terms.iter().find_map(|term| self.doubt(member, &ops, &term.number))
    }

    fn is_other_work(&self, member: &Member<'_>) -> bool {
        let Some(reference) = self.group.members.get(self.group.reference) else { return false };
        scale::alike_blocks(reference, member).is_empty()
            && scale::unlike_blocks(reference, member) > 0
    }

    fn doubt(&self, member: &Member<'_>, ops: &[OpSummary], number: &Number) -> Option<Reason> {
        let Some(metric) = metric(member, number) else {
            return Some(format!("{number} was not measured"));
        };
        if values_by_block(member, &metric, Disturbed::Kept).is_empty() {
            return Some(self.failure(member, &metric));
        }
        if number.is_rate() && has_set_rate(member) {
            return Some("its rate was set by the plan and not found".into());
        }
        let name = metric_name(&metric);
        if !number.is_rate() && !is_carried(ops, &metric) {
            return Some(format!("too few slow episodes carry its {name}"));
        }
        self.is_uncovered(member, &metric)
            .then(|| format!("trials are too short for its {name}: periodic work is not covered"))
    }

    /// Rule 2: tails need trials of twice the longest period; a durable append does its own commit.
    fn is_uncovered(&self, member: &Member<'_>, metric: &Metric) -> bool {
        use pickfs_record::plan::Statistic::Quantile;
        let is_tail =
            matches!(metric.statistic, Quantile(q) if q >= 0.999) && metric.op != "durable";
        let row = self.panel.rows.iter().find(|row| row.label == member.label);
        let is_short =
            row.is_some_and(|row| row.doubts.iter().any(|(kind, _)| kind == "period-not-covered"));
        is_tail && is_short
    }

    fn failure(&self, member: &Member<'_>, metric: &Metric) -> String {
        let place = self.panel.rows.iter().position(|row| row.label == member.label);
        let phase = self.panel.phases.iter().find(|phase| phase.phase == metric.op);
        let cell = phase.zip(place).and_then(|(phase, place)| phase.cells.get(place));
        let reason = cell.and_then(|cell| cell.failure.clone());
        reason.unwrap_or_else(|| format!("{} has no result", metric_name(metric)))
    }

    /// Score of a row by block: the weighted mean of logarithms, larger is better. `only` takes one
    /// term alone.
    pub fn scores(
        &self,
        member: &Member<'_>,
        disturbed: Disturbed,
        only: Option<usize>,
    ) -> BTreeMap<u32, f64> {
        let mut sums: Option<BTreeMap<u32, f64>> = None;
        let mut weights = 0.0;
        for (index, term) in self.formula.terms.iter().enumerate() {
            if only.is_some_and(|only| only != index) {
                continue;
            }
            let Some(metric) = metric(member, &term.number) else { return BTreeMap::new() };
            let sign = if term.number.is_rate() { 1.0 } else { -1.0 };
            let values = values_by_block(member, &metric, disturbed).into_iter();
            let own: BTreeMap<u32, f64> =
                values.map(|(block, value)| (block, term.weight * sign * value.ln())).collect();
            sums = Some(match sums {
                None => own,
                Some(sums) => sums
                    .iter()
                    .filter_map(|(block, sum)| Some((*block, sum + own.get(block)?)))
                    .collect(),
            });
            weights += term.weight;
        }
        let sums = sums.unwrap_or_default().into_iter();
        sums.map(|(block, sum)| (block, sum / weights))
            .filter(|(_, score)| score.is_finite())
            .collect()
    }

    pub fn is_planned(&self) -> bool {
        let Some(member) = self.group.members.get(self.group.reference) else { return false };
        let fixed = |metric: &Metric| {
            self.run.plan.design.primary.iter().any(|known| {
                known.op == metric.op
                    && known.view == metric.view
                    && known.statistic == metric.statistic
                    && applies(known, member.cell)
            })
        };
        let mut terms = self.formula.terms.iter();
        terms.all(|term| metric(member, &term.number).is_some_and(|metric| fixed(&metric)))
    }
}

/// A schedule set the pace, and no capacity was looked for.
fn has_set_rate(member: &Member<'_>) -> bool {
    member.chosen(Disturbed::Kept).iter().any(|trial| {
        let is_asked = trial.load.as_ref().is_some_and(|load| load.asked_per_s.is_some());
        is_asked && !trial.counts.contains_key(CAPACITY_KEY)
    })
}

/// The metric of a row: of several operations the first one that its trials have.
fn metric(member: &Member<'_>, number: &Number) -> Option<Metric> {
    let has = |op: &&String| {
        member.trials.iter().any(|trial| {
            trial.ops.iter().any(|record| record.op == **op)
                || trial.phases.iter().any(|phase| phase.phase == **op)
        })
    };
    number.ops.iter().find(has).map(|op| number.metric(op))
}

/// Levels and parameters; `0` is assumed of a number that a run does not name.
fn holds(at: &Selector, member: &Member<'_>) -> bool {
    at.iter().all(|(name, condition)| {
        let level = member.cell.level(name).map(String::from);
        let param = || {
            let value = member.cell.workload.params.get(name)?;
            Some(value.as_str().map_or_else(|| value.to_string(), String::from))
        };
        condition.holds(&level.or_else(param).unwrap_or("0".into()))
    })
}
