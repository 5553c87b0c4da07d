//! The ratio of two rows of a panel, from findings only.
//!
//! Findings compare each row with the reference. Two other rows are compared through it: both
//! intervals are divided, the nearest ends by the farthest, so the result is at least as wide as it
//! must be (where both hold their truth, it holds the ratio's).

use pickfs_record::{
    finding::{Claim, Comparison, Panel, RowRatio},
    plan::Metric,
};

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ratio {
    pub(super) value: f64,
    pub(super) interval: Option<(f64, f64)>,
    pub(super) blocks: u32,
    /// The claim of a comparison that the plan fixed, as the subject sees it.
    pub(super) planned: Option<Claim>,
    pub(super) through: Option<String>,
}

impl Ratio {
    fn inverted(self) -> Ratio {
        let planned = self.planned.map(|claim| match claim {
            Claim::Faster => Claim::Slower,
            Claim::Slower => Claim::Faster,
            other => other,
        });
        let interval = self.interval.map(|(low, high)| (1.0 / high, 1.0 / low));
        Ratio { value: 1.0 / self.value, interval, planned, ..self }
    }

    fn over(self, other: Ratio, reference: &str) -> Ratio {
        let interval = self.interval.zip(other.interval);
        Ratio {
            value: self.value / other.value,
            interval: interval.map(|(own, theirs)| (own.0 / theirs.1, own.1 / theirs.0)),
            blocks: self.blocks.min(other.blocks),
            planned: None,
            through: Some(reference.into()),
        }
    }
}

impl From<&Comparison> for Ratio {
    fn from(comparison: &Comparison) -> Ratio {
        Ratio {
            value: comparison.speedup,
            interval: comparison.interval,
            blocks: comparison.blocks,
            planned: comparison.primary.then_some(comparison.claim),
            through: None,
        }
    }
}

impl From<&RowRatio> for Ratio {
    /// Rows of phases divide the reference's rate by the row's: the other way round.
    fn from(ratio: &RowRatio) -> Ratio {
        let turned = Ratio {
            value: ratio.value,
            interval: ratio.interval,
            blocks: ratio.blocks,
            planned: None,
            through: None,
        };
        turned.inverted()
    }
}

/// Of two rows by label, each with its ratio to the reference; none where one is not compared.
pub(super) fn between(
    panel: &Panel,
    (subject, object): (&str, &str),
    to_reference: impl Fn(&str) -> Option<Ratio>,
) -> Option<Ratio> {
    let reference = panel.reference.as_str();
    match (subject == reference, object == reference) {
        (false, true) => to_reference(subject),
        (true, false) => Some(to_reference(object)?.inverted()),
        (false, false) if subject != object => {
            Some(to_reference(subject)?.over(to_reference(object)?, reference))
        }
        _ => None,
    }
}

/// A row's ratio to the reference by a metric: the planned comparison, else any, else the row of
/// the phase.
pub(super) fn by_metric(panel: &Panel, label: &str, metric: &Metric) -> Option<Ratio> {
    let same = |comparison: &&Comparison| {
        comparison.other == label
            && comparison.metric.op == metric.op
            && comparison.metric.view == metric.view
            && comparison.metric.statistic == metric.statistic
    };
    let found = panel.comparisons.iter().find(same).map(Ratio::from);
    let is_rate = metric.statistic.is_better_higher();
    found.or_else(|| by_phase(panel, label, &metric.op).filter(|_| is_rate))
}

pub(super) fn by_phase(panel: &Panel, label: &str, phase: &str) -> Option<Ratio> {
    let place = panel.rows.iter().position(|row| row.label == label)?;
    let row = panel.phases.iter().find(|row| row.phase == phase)?;
    row.cells.get(place)?.ratio.as_ref().map(Ratio::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(value: f64, low: f64, high: f64) -> Ratio {
        let interval = Some((low, high));
        Ratio { value, interval, blocks: 8, planned: Some(Claim::Faster), through: None }
    }

    #[test]
    fn a_ratio_of_two_ratios_is_as_wide_as_it_can_be() {
        let both = ratio(2.0, 1.8, 2.2).over(ratio(0.5, 0.4, 0.6), "ext4");
        assert_eq!((both.value, both.through.as_deref()), (4.0, Some("ext4")));
        let (low, high) = both.interval.expect("both have one");
        assert!((low - 3.0).abs() < 1e-9 && (high - 5.5).abs() < 1e-9);
        assert_eq!(both.planned, None);
    }

    #[test]
    fn an_inverted_ratio_is_seen_from_the_other_side() {
        let turned = ratio(2.0, 1.6, 2.5).inverted();
        assert_eq!((turned.value, turned.interval), (0.5, Some((0.4, 0.625))));
        assert_eq!(turned.planned, Some(Claim::Slower));
        let phase = RowRatio { value: 0.5, interval: Some((0.4, 0.625)), blocks: 6 };
        assert_eq!(Ratio::from(&phase).value, 2.0);
    }
}
