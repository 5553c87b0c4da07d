//! The sorted logarithms are cut where the two parts vary least (two means). Where
//! the cut explains nearly all variation, and both heaps hold at least two trials,
//! a notice says so: the median of such trials lies in one heap by chance. A
//! warning for people, with about one false alarm in fifty; no test.

use pickfs_record::{finding::Notice, plan::Metric};

use crate::{
    panels::{Disturbed, Group, applies},
    summary::{median, metric_value},
};

pub const TRIALS_MIN: usize = 6;
pub const EXPLAINED_MIN: f64 = 0.95;
pub const HEAPS_RATIO: f64 = 1.1;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Heaps {
    pub low: f64,
    pub high: f64,
    pub high_count: usize,
}

pub fn heaps(values: &[f64]) -> Option<Heaps> {
    let mut sorted: Vec<f64> =
        values.iter().copied().filter(|v| v.is_finite() && *v > 0.0).collect();
    if sorted.len() < TRIALS_MIN {
        return None;
    }
    sorted.sort_unstable_by(f64::total_cmp);
    let logs: Vec<f64> = sorted.iter().map(|value| value.ln()).collect();
    let total = variation(&logs);
    let within = |cut: &usize| variation(&logs[..*cut]) + variation(&logs[*cut..]);
    let cut = (2..=logs.len() - 2).min_by(|a, b| within(a).total_cmp(&within(b)))?;
    let heaps = Heaps {
        low: median(&sorted[..cut]),
        high: median(&sorted[cut..]),
        high_count: sorted.len() - cut,
    };
    let apart =
        within(&cut) <= (1.0 - EXPLAINED_MIN) * total && heaps.high > heaps.low * HEAPS_RATIO;
    apart.then_some(heaps)
}

fn variation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

/// One notice per cell that the metric is asked of and whose trials fall into two heaps.
pub fn notices(groups: &[Group<'_>], metric: &Metric) -> Vec<Notice> {
    let mut notices = Vec::new();
    for (group, member) in groups.iter().flat_map(|g| g.members.iter().map(move |m| (g, m))) {
        if !applies(metric, member.cell) {
            continue;
        }
        let trials = member.chosen(Disturbed::Kept);
        let values: Vec<f64> = trials.iter().filter_map(|t| metric_value(t, metric)).collect();
        let Some(heaps) = heaps(&values) else { continue };
        let place =
            if group.title.is_empty() { String::new() } else { format!(" ({})", group.title) };
        notices.push(Notice {
            kind: "bimodal".into(),
            text: format!(
                "{}{place}: {} of {} trials stand {:.2} times higher than the others",
                member.label,
                heaps.high_count,
                values.len(),
                heaps.high / heaps.low
            ),
            trials: values.len() as u32,
        });
    }
    notices
}

#[cfg(test)]
mod tests {
    use super::*;
    use pickfs_testkit::{Shape, Simulation, simulate};

    #[test]
    fn two_heaps_are_named_and_counted() {
        let found = heaps(&[100.0, 101.0, 99.0, 200.0, 202.0, 100.0, 201.0]);
        assert_eq!(found, Some(Heaps { low: 100.0, high: 201.0, high_count: 3 }));
        assert_eq!(heaps(&[100.0, 101.0, 102.0, 99.0, 100.0, 300.0]), None);
        assert_eq!(heaps(&[1.0, 2.0]), None);
        assert_eq!(heaps(&[5.0; 12]), None);
    }

    #[test]
    fn single_heaps_raise_few_false_alarms() {
        for blocks in [6, 8, 12, 20] {
            let alarms = (0..400)
                .filter(|&seed| {
                    let simulation = Simulation {
                        medians: vec![100.0],
                        noise: 0.15,
                        shape: Shape::Normal,
                        blocks,
                        seed,
                    };
                    let values: Vec<f64> = simulate(&simulation).iter().map(|b| b[0]).collect();
                    heaps(&values).is_some()
                })
                .count();
            assert!(alarms <= 16, "{blocks} blocks: {alarms} of 400");
        }
    }
}
