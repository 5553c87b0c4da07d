use pickfs_record::{
    Cell, CellId, Condition, Findings, Metric, Outcome, RunRecord, Scope, TrialRecord,
    finding::{OpSummary, Panel, PhaseCell, Row},
    plan::{Statistic, View},
    quantity::counted,
};
use serde_json::Value;

use crate::{
    answers::{Place, Question, questions, summaries},
    decide::Decision,
    panels::{Disturbed, Group, groups, property},
    wording::quantile_name,
};

#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    pub run: &'a RunRecord,
    pub findings: &'a Findings,
}

#[derive(Debug)]
pub(super) struct Desk<'a> {
    pub(super) run: &'a RunRecord,
    pub(super) findings: &'a Findings,
    groups: Vec<Group<'a>>,
    /// What the plan asked, with the rows of each question.
    pub(super) decided: Vec<(Metric, Vec<CellId>, Decision)>,
}

impl<'a> Desk<'a> {
    pub(super) fn new(source: &Source<'a>) -> Self {
        let (run, groups) = (source.run, groups(source.run));
        let decided = decided(run, &groups);
        Desk { run, findings: source.findings, groups, decided }
    }

    pub(super) fn place(&self, cell: &CellId) -> Option<Place<'_>> {
        self.groups.iter().find_map(|group| {
            let at = group.members.iter().position(|member| member.cell.id == *cell)?;
            Some((group, at))
        })
    }
}

fn decided(run: &RunRecord, groups: &[Group<'_>]) -> Vec<(Metric, Vec<CellId>, Decision)> {
    if run.plan.design.primary.is_empty() {
        return Vec::new();
    }
    let ops = summaries(groups);
    let all = questions(run, groups, &ops, Disturbed::Kept).into_iter();
    all.map(Question::into_decision).collect()
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Placed<'a> {
    pub(super) run: &'a RunRecord,
    pub(super) panel: &'a Panel,
    pub(super) row: &'a Row,
    pub(super) cell: &'a Cell,
}

impl<'a> Placed<'a> {
    pub(super) fn all(desk: &Desk<'a>, workload: &str) -> Vec<Placed<'a>> {
        let run = desk.run;
        let rows = desk
            .findings
            .panels
            .iter()
            .flat_map(|panel| panel.rows.iter().map(move |row| (panel, row)));
        rows.filter_map(|(panel, row)| {
            let cell = run.cells.iter().find(|cell| cell.id == row.cell)?;
            (cell.workload.name == workload).then_some(Placed { run, panel, row, cell })
        })
        .collect()
    }

    /// What a run does not name is 0: an older run has no readers where it knows nothing of
    /// them.
    pub(super) fn is(&self, selector: &Scope) -> bool {
        self.unfit(selector, Some("0")).is_none()
    }

    /// The first property that does not hold, with what stands there instead; `absent` stands for
    /// what is not known.
    pub(super) fn unfit<'s>(
        &self,
        selector: &'s Scope,
        absent: Option<&str>,
    ) -> Option<(&'s str, &'s Condition, Option<String>)> {
        selector.iter().find_map(|(name, condition)| {
            let found = self.property(name);
            let holds = found.as_deref().or(absent).is_some_and(|value| condition.holds(value));
            (!holds).then_some((name.as_str(), condition, found))
        })
    }

    /// What is known under a name: of the candidate, its level, a parameter, a knob, a count, then
    /// of trial, set-up card and machine.
    pub(super) fn property(&self, name: &str) -> Option<String> {
        let own = match name {
            "label" => Some(self.row.label.clone()),
            "backing" => text(&serde_json::to_value(self.row.backing).ok()?),
            "survives" => text(&serde_json::to_value(self.row.durability).ok()?),
            "driver" => return self.environment("mount.driver"),
            "kernel" => return self.environment("kernel.release"),
            _ => property(self.cell, name),
        };
        own.or_else(|| self.count(name)).or_else(|| self.environment(name))
    }

    fn count(&self, name: &str) -> Option<String> {
        let found = self.row.counts.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| format!("{value:.0}"))
    }

    fn environment(&self, key: &str) -> Option<String> {
        let trial = self.trials().next().and_then(|trial| trial.environment.get(key));
        trial
            .or_else(|| self.run.card.get(key))
            .or_else(|| self.run.environment.get(key))
            .map(String::from)
    }

    pub(super) fn trials(&self) -> impl Iterator<Item = &'a TrialRecord> {
        let cell = &self.row.cell;
        self.run
            .trials
            .iter()
            .filter(move |trial| trial.cell == *cell && trial.outcome == Outcome::Finished)
    }

    pub(super) fn op<'o>(&self, metric: &'o Metric) -> Option<&'o str> {
        metric.ops().find(|op| {
            self.row.ops.iter().any(|summary| summary.op == **op) || self.phase(op).is_some()
        })
    }

    /// In the metric's view, or the service time where the loop was closed.
    pub(super) fn operations(&self, metric: &Metric) -> Option<&'a OpSummary> {
        let op = self.op(metric)?;
        let of = |view| {
            self.row.ops.iter().find(|operations| operations.op == op && operations.view == view)
        };
        of(metric.view).or_else(|| of(View::Service))
    }

    pub(super) fn phase(&self, phase: &str) -> Option<&'a PhaseCell> {
        let place = self.panel.rows.iter().position(|row| row.cell == self.row.cell)?;
        self.panel.phases.iter().find(|row| row.phase == phase)?.cells.get(place)
    }

    /// Why a quantile of this row says nothing.
    pub(super) fn doubt(&self, metric: &Metric) -> Option<String> {
        let Statistic::Quantile(q) = metric.statistic else { return None };
        let operations = self.operations(metric);
        let quantile = operations.and_then(|operations| {
            operations.quantiles.iter().find(|row| (row.q - q).abs() < 1e-9)
        });
        match quantile {
            Some(row) if row.carried => None,
            Some(row) => Some(format!(
                "{} of {}: {}, and ten over three trials are needed",
                quantile_name(q),
                self.row.label,
                counted(row.episodes, "slow episode")
            )),
            None => Some(format!("{} has no {}", self.row.label, metric.op)),
        }
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Null => None,
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings;
    use pickfs_testkit::{FakeRun, fake_run};

    fn selector(text: &[(&str, &str)]) -> Scope {
        text.iter().map(|(name, value)| (name.to_string(), value.parse().expect("legal"))).collect()
    }

    #[test]
    fn candidates_levels_parameters_and_facts_are_properties() {
        let run = fake_run(&FakeRun::default());
        let found = findings(&run);
        let rows = Placed::all(&Desk::new(&Source { run: &run, findings: &found }), "journal");
        assert_eq!(rows.len(), 8);
        let row = &rows[1];
        for (name, value) in [
            ("fs", "xfs"),
            ("sync", "none"),
            ("size", "256"),
            ("backing", "loop-image"),
            ("driver", "xfs"),
            ("kernel", "6.18.0"),
            ("device.rotational", "0"),
        ] {
            assert_eq!(row.property(name).as_deref(), Some(value), "{name}");
        }
        assert!(row.is(&selector(&[("fs", "ext4|xfs"), ("kernel", ">=6.1")])));
        let wanted = selector(&[("fs", "xfs"), ("readers", ">=1")]);
        let (name, _, stands) = row.unfit(&wanted, None).expect("no readers there");
        assert_eq!((name, stands), ("readers", None));
        assert!(
            Placed::all(&Desk::new(&Source { run: &run, findings: &found }), "files").is_empty()
        );
    }
}
