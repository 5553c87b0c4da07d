use std::{fmt, str::FromStr};

use pickfs_record::{Metric, finding::Panel};
use thiserror::Error;

use super::{Look, Scene, latency_map, noise, percentiles, relative, slide, strip, timeline};
use crate::{Subject, factors, stalls};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ChartKind {
    Slide,
    Trials,
    Percentiles,
    LatencyMap,
    WorstPerSecond,
    SlowOperations,
    Factors,
    Axis,
    Capacity,
    Noise,
    WorstPerSecondLinear,
    BestPerSecond,
    Relative,
}

/// In the order of the kinds.
const NAMES: [(ChartKind, &str); 13] = [
    (ChartKind::Slide, "slide"),
    (ChartKind::Trials, "trials"),
    (ChartKind::Percentiles, "percentiles"),
    (ChartKind::LatencyMap, "latency-map"),
    (ChartKind::WorstPerSecond, "worst-per-second"),
    (ChartKind::SlowOperations, "slow-operations"),
    (ChartKind::Factors, "factors"),
    (ChartKind::Axis, "axis"),
    (ChartKind::Capacity, "capacity"),
    (ChartKind::Noise, "noise"),
    (ChartKind::WorstPerSecondLinear, "worst-per-second-linear"),
    (ChartKind::BestPerSecond, "best-per-second"),
    (ChartKind::Relative, "relative"),
];
/// The others are drawn where they are named.
const OF_A_REPORT: usize = 10;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("chart `{name}` not known; use one of {}", NAMES.map(|(_, name)| name).join(", "))]
pub struct UnknownChart {
    pub name: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    pub kind: ChartKind,
    /// Position of its panel, or none where it shows the whole run; of [`ChartKind::SlowOperations`]
    /// the position of its cell in [`Subject::stalls`].
    pub panel: Option<usize>,
    /// `percentiles`, or `percentiles-2` for the second panel: a file's stem.
    pub name: String,
    pub scene: Scene,
}

impl ChartKind {
    /// Those of a report.
    pub fn all() -> impl Iterator<Item = ChartKind> {
        NAMES.into_iter().take(OF_A_REPORT).map(|(kind, _)| kind)
    }

    pub fn name(self) -> &'static str {
        NAMES[self as usize].1
    }

    pub fn draw(self, subject: &Subject, look: Look) -> Vec<Chart> {
        self.draw_by(subject, look, None)
    }

    /// The levels of an axis perhaps by another metric than the first of the plan.
    pub fn draw_by(self, subject: &Subject, look: Look, metric: Option<&Metric>) -> Vec<Chart> {
        let panels = |draw: &dyn Fn(&Panel) -> Option<Scene>| -> Vec<_> {
            let all = subject.findings.panels.iter().enumerate();
            all.filter_map(|(index, panel)| Some((Some(index), draw(panel)?))).collect()
        };
        let scenes = match self {
            ChartKind::Slide => slide::draw(subject).map(|s| (None, s)).into_iter().collect(),
            ChartKind::Trials => return trials(subject, look),
            ChartKind::Percentiles => panels(&|p| percentiles::draw(subject, p, look)),
            ChartKind::LatencyMap => panels(&|p| latency_map::draw(subject, p, look)),
            ChartKind::WorstPerSecond
            | ChartKind::WorstPerSecondLinear
            | ChartKind::BestPerSecond => panels(&|p| timeline::draw(subject, p, look, self)),
            ChartKind::Relative => panels(&|p| relative::draw(subject, p, look)),
            ChartKind::Capacity => panels(&|p| strip::capacity(subject, p, look, usize::MAX)),
            ChartKind::SlowOperations => slow_operations(subject, look),
            ChartKind::Factors => {
                let all = subject.findings.factors.iter();
                all.filter_map(|found| Some((None, factors::draw(found, look)?))).collect()
            }
            ChartKind::Axis => {
                let scenes = strip::by_axis(subject, look, metric).into_iter();
                scenes.map(|scene| (None, scene)).collect()
            }
            ChartKind::Noise => noise::draw(subject, look).map(|s| (None, s)).into_iter().collect(),
        };
        let named = |(index, (panel, scene))| {
            let name = match index {
                0 => self.name().to_string(),
                _ => format!("{}-{}", self.name(), index + 1),
            };
            Chart { kind: self, panel, name, scene }
        };
        scenes.into_iter().enumerate().map(named).collect()
    }
}

fn slow_operations(subject: &Subject, look: Look) -> Vec<(Option<usize>, Scene)> {
    let tables = subject.stalls.iter().enumerate();
    let scenes = tables.flat_map(|(index, table)| {
        let drawn = stalls::timeline::draw(subject, table, look).into_iter();
        drawn.map(move |scene| (Some(index), scene))
    });
    scenes.collect()
}

/// `trials-seq-create` where a panel has several, with the panel's number from the second on.
fn trials(subject: &Subject, look: Look) -> Vec<Chart> {
    let mut charts = Vec::new();
    for (index, panel) in subject.findings.panels.iter().enumerate() {
        let metrics = strip::charted(subject, panel);
        for metric in &metrics {
            let drawn = strip::trials(subject, panel, metric, look, usize::MAX);
            let of = if panel.phases.is_empty() {
                String::new()
            } else {
                format!("-{}", stem(&metric.op))
            };
            let number = if index == 0 { String::new() } else { format!("-{}", index + 1) };
            let (kind, panel) = (ChartKind::Trials, Some(index));
            let name = format!("{}{of}{number}", kind.name());
            charts.extend(drawn.map(|scene| Chart { kind, panel, name, scene }));
        }
    }
    charts
}

fn stem(name: &str) -> String {
    let kept =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { ' ' });
    kept.collect::<String>().split_whitespace().collect::<Vec<_>>().join("-")
}

pub fn charts(subject: &Subject, look: Look) -> Vec<Chart> {
    ChartKind::all().flat_map(|kind| kind.draw(subject, look)).collect()
}

impl fmt::Display for ChartKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ChartKind {
    type Err = UnknownChart;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = NAMES.into_iter().find(|(_, known)| *known == name);
        found.map(|(kind, _)| kind).ok_or_else(|| UnknownChart { name: name.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_and_wrong_ones_list_the_right_ones() {
        for (kind, _) in NAMES {
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        assert_eq!(stem("open append mid float, sync once"), "open-append-mid-float-sync-once");
        let error = "pie".parse::<ChartKind>().expect_err("no such chart");
        assert!(error.to_string().contains("use one of slide, trials"));
    }
}
