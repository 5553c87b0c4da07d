use pickfs_record::{
    BackingKind, Metric, RunRecord,
    finding::{Findings, OpSummary, Panel, PhaseRow},
};

use super::{formula::Formula, profile::Part};
use crate::{
    answers::{Ranked, settled, values_by_block},
    articles::Source,
    decide::Rules,
    panels::{Disturbed, Group, Member, applies, groups, holds},
    phases::scale,
    summary::{CAPACITY_KEY, is_carried, op_in, op_summaries},
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
            field.group.members.iter().any(|member| holds(&part.at, member.cell))
                && field.has_numbers()
        };
        fields.filter(holds).collect()
    }

    fn has_numbers(&self) -> bool {
        let has = |metric: &Metric| self.group.members.iter().any(|member| has(member, metric));
        self.formula.terms.iter().all(|term| has(&term.metric))
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
        self.formula.terms.iter().find_map(|term| self.doubt(member, &ops, &term.metric))
    }

    fn is_other_work(&self, member: &Member<'_>) -> bool {
        let Some(reference) = self.group.members.get(self.group.reference) else { return false };
        scale::alike(reference, member).next().is_none()
            && scale::unlike_blocks(reference, member) > 0
    }

    fn doubt(&self, member: &Member<'_>, ops: &[OpSummary], metric: &Metric) -> Option<Reason> {
        if !has(member, metric) {
            return Some(format!("{metric} was not measured"));
        }
        let is_rate = metric.statistic.is_better_higher();
        let in_view = settled(metric, &[member]);
        if values_by_block(member, &in_view, Disturbed::Kept).is_empty() {
            return Some(self.failure(member, metric));
        }
        if is_rate && has_set_rate(member) {
            return Some("its rate was set by the plan and not found".into());
        }
        (!is_carried(ops, &in_view)).then(|| format!("too few slow episodes carry its {metric}"))
    }

    fn failure(&self, member: &Member<'_>, metric: &Metric) -> String {
        let place = self.panel.rows.iter().position(|row| row.label == member.label);
        let is_asked = |phase: &&PhaseRow| metric.ops().any(|op| op == phase.phase);
        let phase = self.panel.phases.iter().find(is_asked);
        let cell = phase.zip(place).and_then(|(phase, place)| phase.cells.get(place));
        let reason = cell.and_then(|cell| cell.failure.clone());
        reason.unwrap_or_else(|| format!("{metric} has no result"))
    }

    /// What ranks these candidates in this field; `only` takes one term alone. Nothing where one has no row.
    pub fn ranked(
        &self,
        labels: &[String],
        disturbed: Disturbed,
        only: Option<usize>,
    ) -> Option<Ranked> {
        let at = |label: &String| self.members().iter().position(|member| member.label == *label);
        let members: Vec<usize> = labels.iter().map(at).collect::<Option<_>>()?;
        let terms = self.formula.terms.iter().enumerate();
        let terms = terms.filter(|(index, _)| only.is_none_or(|only| only == *index));
        let of = |metric| Ranked::new(&self.group, &members, metric, disturbed, self.rules.margin);
        Ranked::mean(terms.map(|(_, term)| (term.weight, of(&term.metric))).collect())
    }

    pub fn is_planned(&self) -> bool {
        let Some(member) = self.group.members.get(self.group.reference) else { return false };
        let fixed = |metric: &Metric| {
            let same = |known: &&Metric| {
                known.statistic == metric.statistic && metric.ops().any(|op| op == known.op)
            };
            let mut planned = self.run.plan.design.primary.iter().filter(same);
            planned.any(|known| applies(known, member.cell))
        };
        self.formula.terms.iter().all(|term| fixed(&term.metric))
    }
}

/// A schedule set the pace, and no capacity was looked for.
fn has_set_rate(member: &Member<'_>) -> bool {
    member.chosen(Disturbed::Kept).iter().any(|trial| {
        let is_asked = trial.load.as_ref().is_some_and(|load| load.asked_per_s.is_some());
        is_asked && !trial.counts.contains_key(CAPACITY_KEY)
    })
}

fn has(member: &Member<'_>, metric: &Metric) -> bool {
    member.trials.iter().any(|trial| op_in(trial, metric).is_some())
}
