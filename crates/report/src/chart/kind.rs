//! The table of charts: their stable names, and which of them a run can fill.

use std::{fmt, str::FromStr};

use thiserror::Error;

use super::{Look, Scene, bars, blocks, grouped, noise, percentiles, timeline};
use crate::Subject;

/// A kind of chart. Its name is stable: files and links use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ChartKind {
    /// Latency over the share of laps, on an axis of nines.
    Percentiles,
    /// The largest lap of every second.
    WorstPerSecond,
    /// The smallest lap of every second.
    BestPerSecond,
    /// The headline of every row.
    Bars,
    /// The headline of every trial, block by block.
    Blocks,
    /// Largest lap, mean and p99.99 by an axis and by candidate.
    Grouped,
    /// The highest rate that was held.
    Capacity,
    /// The raw device between the trials.
    Noise,
}

/// A name that no chart has.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("chart `{name}` not known; use one of {}", ChartKind::names().join(", "))]
pub struct UnknownChart {
    /// The name that was given.
    pub name: String,
}

/// A chart of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// Which kind.
    pub kind: ChartKind,
    /// Position of its panel, or none where it shows the whole run.
    pub panel: Option<usize>,
    /// `percentiles`, or `percentiles-2` for the second panel: a file's stem.
    pub name: String,
    /// The picture.
    pub scene: Scene,
}

impl ChartKind {
    /// Every kind, in the order of the page.
    pub const ALL: [ChartKind; 8] = [
        ChartKind::Percentiles,
        ChartKind::Bars,
        ChartKind::WorstPerSecond,
        ChartKind::BestPerSecond,
        ChartKind::Blocks,
        ChartKind::Grouped,
        ChartKind::Capacity,
        ChartKind::Noise,
    ];

    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            ChartKind::Percentiles => "percentiles",
            ChartKind::WorstPerSecond => "worst-per-second",
            ChartKind::BestPerSecond => "best-per-second",
            ChartKind::Bars => "bars",
            ChartKind::Blocks => "blocks",
            ChartKind::Grouped => "grouped",
            ChartKind::Capacity => "capacity",
            ChartKind::Noise => "noise",
        }
    }

    fn names() -> Vec<&'static str> {
        ChartKind::ALL.iter().map(|kind| kind.name()).collect()
    }

    /// Whether it can be drawn with a logarithmic and with a linear axis.
    pub fn has_two_scales(self) -> bool {
        use ChartKind::{BestPerSecond, Blocks, Percentiles, WorstPerSecond};
        matches!(self, Percentiles | WorstPerSecond | BestPerSecond | Blocks)
    }

    /// Draws every chart of this kind that the run can fill; linear where asked and possible.
    pub fn draw(self, subject: &Subject, look: Look, linear: bool) -> Vec<Chart> {
        let panels = subject.findings.panels.iter().enumerate();
        let each = |draw: &dyn Fn(&_) -> Option<Scene>| -> Vec<(Option<usize>, Scene)> {
            panels.clone().filter_map(|(i, panel)| Some((Some(i), draw(panel)?))).collect()
        };
        let scenes = match self {
            ChartKind::Percentiles => each(&|p| percentiles::draw(subject, p, look, linear)),
            ChartKind::WorstPerSecond => each(&|p| timeline::worst(subject, p, look, linear)),
            ChartKind::BestPerSecond => each(&|p| timeline::best(subject, p, look, linear)),
            ChartKind::Bars => each(&|p| bars::draw(subject, p, look)),
            ChartKind::Capacity => each(&|p| bars::capacity(subject, p, look)),
            ChartKind::Blocks => each(&|p| blocks::draw(subject, p, look, linear)),
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

/// Every chart that a run can fill, latencies on logarithmic axes.
pub fn charts(subject: &Subject, look: Look) -> Vec<Chart> {
    ChartKind::ALL.iter().flat_map(|kind| kind.draw(subject, look, false)).collect()
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
        let error = "pie".parse::<ChartKind>().expect_err("no such chart");
        assert!(error.to_string().contains("use one of percentiles, bars"));
    }
}
