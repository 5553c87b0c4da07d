use pickfs_record::{
    Cell, Findings, Outcome, RunRecord, TrialRecord,
    finding::{OpSummary, Panel, PhaseCell, Row},
    plan::{Metric, Statistic},
};
use serde_json::Value;

use super::{Condition, claim::Selector};
use crate::panels::{Group, Member, groups};

#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    pub run: &'a RunRecord,
    pub findings: &'a Findings,
}

#[derive(Debug)]
pub(super) struct Desk<'a> {
    pub(super) run: &'a RunRecord,
    findings: &'a Findings,
    groups: Vec<Group<'a>>,
}

impl<'a> Desk<'a> {
    pub(super) fn new(source: &Source<'a>) -> Self {
        Desk { run: source.run, findings: source.findings, groups: groups(source.run) }
    }

    pub(super) fn member(&self, panel: &Panel, label: &str) -> Option<&Member<'a>> {
        let group = self.groups.iter().find(|group| group.levels == panel.levels)?;
        group.members.iter().find(|member| member.label == label)
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Placed<'a> {
    pub(super) run: &'a RunRecord,
    pub(super) panel: &'a Panel,
    pub(super) row: &'a Row,
    cell: &'a Cell,
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
    pub(super) fn is(&self, selector: &Selector) -> bool {
        self.unfit(selector, Some("0")).is_none()
    }

    /// The first property that does not hold, with what stands there instead; `absent` stands for
    /// what is not known.
    pub(super) fn unfit<'s>(
        &self,
        selector: &'s Selector,
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
            "fs" => Some(self.cell.candidate.fs.clone()),
            "label" => Some(self.row.label.clone()),
            "backing" => text(&serde_json::to_value(self.row.backing).ok()?),
            "survives" => text(&serde_json::to_value(self.row.durability).ok()?),
            "driver" => return self.environment("mount.driver"),
            "kernel" => return self.environment("kernel.release"),
            _ => self.cell.level(name).map(String::from),
        };
        own.or_else(|| self.cell.workload.params.get(name).and_then(text))
            .or_else(|| self.cell.knobs.get(name).cloned())
            .or_else(|| self.count(name))
            .or_else(|| self.environment(name))
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

    fn trials(&self) -> impl Iterator<Item = &'a TrialRecord> {
        let cell = &self.row.cell;
        self.run
            .trials
            .iter()
            .filter(move |trial| trial.cell == *cell && trial.outcome == Outcome::Finished)
    }

    pub(super) fn op<'o>(&self, ops: &'o [String]) -> Option<&'o str> {
        let has = |op: &&String| {
            self.row.ops.iter().any(|summary| summary.op == **op) || self.phase(op).is_some()
        };
        ops.iter().find(has).map(String::as_str)
    }

    pub(super) fn laps(&self, op: &str) -> Option<&'a OpSummary> {
        self.row.ops.iter().find(|summary| summary.op == op)
    }

    pub(super) fn phase(&self, phase: &str) -> Option<&'a PhaseCell> {
        let place = self.panel.rows.iter().position(|row| row.cell == self.row.cell)?;
        self.panel.phases.iter().find(|row| row.phase == phase)?.cells.get(place)
    }

    pub(super) fn doubt(&self, metric: &Metric) -> Option<String> {
        let Statistic::Quantile(q) = metric.statistic else { return self.wrong_heat(&metric.op) };
        let laps =
            self.row.ops.iter().find(|laps| laps.op == metric.op && laps.view == metric.view);
        let quantile =
            laps.and_then(|laps| laps.quantiles.iter().find(|row| (row.q - q).abs() < 1e-9));
        match quantile {
            Some(row) if row.carried => self.uncovered(metric),
            Some(row) => Some(format!(
                "{} of {}: {} slow episodes, and ten over three trials are needed",
                crate::wording::quantile_name(q),
                self.row.label,
                row.episodes
            )),
            None => Some(format!("{} has no {}", self.row.label, metric.op)),
        }
    }

    /// A cold phase whose pages were in memory, or a hot one whose pages were not, in any trial.
    pub(super) fn wrong_heat(&self, phase: &str) -> Option<String> {
        let flags = &self.phase(phase)?.flags;
        let (kind, trials) =
            flags.iter().find(|(kind, _)| NOT_AS_ASKED.contains(&kind.as_str()))?;
        Some(format!("{phase} of {} was {kind} in {trials} trials", self.row.label))
    }

    /// Rule 2: tails need trials of twice the longest period; a durable append does its own commit.
    fn uncovered(&self, metric: &Metric) -> Option<String> {
        let is_tail = matches!(metric.statistic, Statistic::Quantile(q) if q >= TAIL);
        (is_tail && metric.op != "durable" && !self.covers_periods()).then(|| {
            format!(
                "trials of {} are too short for tails: periodic work is not covered",
                self.row.label
            )
        })
    }

    pub(super) fn covers_periods(&self) -> bool {
        self.row.doubts.iter().all(|(kind, _)| kind != "period-not-covered")
    }
}

/// Doubts of a row that was not as cold, or as hot, as it says, or was not shown to be.
const NOT_AS_ASKED: [&str; 3] = ["not-cold", "not-hot", "cold-not-verified"];
/// From this quantile on periodic work decides.
const TAIL: f64 = 0.999;

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
    use pickfs_testkit::fake_trial::service_quantile;
    use pickfs_testkit::{FakeRun, Mishap, MishapKind, fake_run};

    fn selector(text: &[(&str, &str)]) -> Selector {
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

    #[test]
    fn short_trials_doubt_tails_and_nothing_else() {
        let flag = MishapKind::Flagged("period-not-covered".into(), "4 s of 30 s".into());
        let mishaps = vec![Mishap::new("ext4:noatime", "none", 0, flag)];
        let run = fake_run(&FakeRun { mishaps, ..FakeRun::default() });
        let found = findings(&run);
        let rows = Placed::all(&Desk::new(&Source { run: &run, findings: &found }), "journal");
        let doubt = |row: usize, q: f64| rows[row].doubt(&service_quantile("append", q));
        assert!(doubt(0, 0.999).is_some_and(|text| text.contains("periodic work")));
        assert!(doubt(0, 0.99).is_none() && doubt(1, 0.999).is_none());
        assert!(doubt(1, 0.99999).is_some_and(|text| text.contains("slow episodes")));
    }
}
