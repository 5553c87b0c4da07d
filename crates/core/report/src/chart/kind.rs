use std::{fmt, str::FromStr};

use pickfs_record::finding::Panel;
use thiserror::Error;

use super::{Look, Scene, grouped, latency_map, noise, percentiles, slide, strip, timeline};
use crate::{
    Subject, factors,
    phases::{self, is_phased},
    stalls,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ChartKind {
    Slide,
    Trials,
    Percentiles,
    LatencyMap,
    WorstPerSecond,
    SlowLaps,
    Factors,
    Grouped,
    Capacity,
    HeatMap,
    PhaseBars,
    Noise,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("chart `{name}` not known; use one of {}", ChartKind::names().join(", "))]
pub struct UnknownChart {
    pub name: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    pub kind: ChartKind,
    /// Position of its panel, or none where it shows the whole run; of [`ChartKind::SlowLaps`]
    /// the position of its cell in [`Subject::stalls`].
    pub panel: Option<usize>,
    /// `percentiles`, or `percentiles-2` for the second panel: a file's stem.
    pub name: String,
    pub scene: Scene,
}

impl ChartKind {
    pub const ALL: [ChartKind; 12] = [
        ChartKind::Slide,
        ChartKind::Trials,
        ChartKind::Percentiles,
        ChartKind::LatencyMap,
        ChartKind::WorstPerSecond,
        ChartKind::SlowLaps,
        ChartKind::Factors,
        ChartKind::Grouped,
        ChartKind::Capacity,
        ChartKind::HeatMap,
        ChartKind::PhaseBars,
        ChartKind::Noise,
    ];

    pub fn name(self) -> &'static str {
        match self {
            ChartKind::Slide => "slide",
            ChartKind::Trials => "trials",
            ChartKind::Percentiles => "percentiles",
            ChartKind::LatencyMap => "latency-map",
            ChartKind::WorstPerSecond => "worst-per-second",
            ChartKind::SlowLaps => "slow-laps",
            ChartKind::Factors => "factors",
            ChartKind::Grouped => "grouped",
            ChartKind::Capacity => "capacity",
            ChartKind::HeatMap => "heat-map",
            ChartKind::PhaseBars => "phase-bars",
            ChartKind::Noise => "noise",
        }
    }

    fn names() -> Vec<&'static str> {
        ChartKind::ALL.iter().map(|kind| kind.name()).collect()
    }

    pub fn draw(self, subject: &Subject, look: Look) -> Vec<Chart> {
        let loops = |draw: &dyn Fn(&Panel) -> Option<Scene>| panels(subject, false, draw);
        let phased = |draw: &dyn Fn(&Panel) -> Option<Scene>| panels(subject, true, draw);
        let scenes = match self {
            ChartKind::Slide => slide::draw(subject).map(|s| (None, s)).into_iter().collect(),
            ChartKind::Trials => loops(&|p| strip::trials(subject, p, look, usize::MAX)),
            ChartKind::Percentiles => loops(&|p| percentiles::draw(subject, p, look)),
            ChartKind::LatencyMap => loops(&|p| latency_map::draw(subject, p, look)),
            ChartKind::WorstPerSecond => loops(&|p| timeline::draw(subject, p, look)),
            ChartKind::Capacity => loops(&|p| strip::capacity(subject, p, look, usize::MAX)),
            ChartKind::SlowLaps => slow_laps(subject, look),
            ChartKind::Factors => {
                whole(&subject.findings.factors, |f| factors::chart::draw(f, look))
            }
            ChartKind::HeatMap => phased(&|p| phases::heat_map::draw(subject, p, look)),
            ChartKind::PhaseBars => return phase_bars(subject, look),
            ChartKind::Grouped if subject.findings.panels.iter().any(is_phased) => Vec::new(),
            ChartKind::Grouped => grouped::draw(subject, look).map(|s| (None, s)).collect(),
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

fn panels(
    subject: &Subject,
    phased: bool,
    draw: &dyn Fn(&Panel) -> Option<Scene>,
) -> Vec<(Option<usize>, Scene)> {
    let all = subject.findings.panels.iter().enumerate();
    let fitting = all.filter(|(_, panel)| is_phased(panel) == phased);
    fitting.filter_map(|(index, panel)| Some((Some(index), draw(panel)?))).collect()
}

fn slow_laps(subject: &Subject, look: Look) -> Vec<(Option<usize>, Scene)> {
    let tables = subject.stalls.iter().enumerate();
    let scenes = tables.flat_map(|(index, table)| {
        let drawn = stalls::timeline::draw(subject, table, look).into_iter();
        drawn.map(move |scene| (Some(index), scene))
    });
    scenes.collect()
}

fn whole<F>(findings: &[F], draw: impl Fn(&F) -> Option<Scene>) -> Vec<(Option<usize>, Scene)> {
    findings.iter().filter_map(draw).map(|scene| (None, scene)).collect()
}

/// A chart for each phase that gets one: `phase-bars-seq-create`, with the panel's number from
/// the second on.
fn phase_bars(subject: &Subject, look: Look) -> Vec<Chart> {
    let mut charts = Vec::new();
    for (index, panel) in subject.findings.panels.iter().enumerate() {
        for phase in phases::bars::charted(panel) {
            let Some(scene) = phases::bars::draw(subject, panel, phase, (look, usize::MAX)) else {
                continue;
            };
            let number = if index == 0 { String::new() } else { format!("-{}", index + 1) };
            let name = format!("{}-{}{number}", ChartKind::PhaseBars.name(), stem(&phase.phase));
            charts.push(Chart { kind: ChartKind::PhaseBars, panel: Some(index), name, scene });
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
    ChartKind::ALL.iter().flat_map(|kind| kind.draw(subject, look)).collect()
}

impl fmt::Display for ChartKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ChartKind {
    type Err = UnknownChart;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        ChartKind::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| UnknownChart { name: name.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_and_wrong_ones_list_the_right_ones() {
        for kind in ChartKind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        assert_eq!(stem("open append mid float, sync once"), "open-append-mid-float-sync-once");
        let error = "pie".parse::<ChartKind>().expect_err("no such chart");
        assert!(error.to_string().contains("use one of slide, trials"));
    }
}
