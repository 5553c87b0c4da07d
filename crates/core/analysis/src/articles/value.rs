use pickfs_record::{
    Metric,
    finding::Spread,
    plan::Statistic,
    quantity::{counted, duration_text, significant},
};

use super::{Measure, Outcome, Relation, placed::Placed};
use crate::BLOCKS_MIN;

pub(super) fn of_row(
    measure: &Measure,
    relation: Relation,
    placed: &Placed<'_>,
) -> Option<(Outcome, String)> {
    match (measure, relation) {
        (Measure::Number(metric), Relation::Fails | Relation::Works) => {
            let phase = placed.op(metric)?;
            let cell = placed.phase(phase)?;
            let text = match &cell.failure {
                Some(reason) => format!(
                    "{phase}: {} of {} trials failed: {reason}",
                    cell.failed,
                    cell.failed + cell.trials
                ),
                None => {
                    format!("{phase}: {} came to the end", counted(cell.trials.into(), "trial"))
                }
            };
            Some((ended(relation, cell.trials, cell.failed), text))
        }
        (Measure::Number(metric), Relation::Under(bound) | Relation::Over(bound))
            if metric.statistic.is_ranked() && metric.statistic != Statistic::Min =>
        {
            let value = quantile(placed, metric)?;
            let text =
                format!("{metric} {} [{} to {}]", ns(value.median), ns(value.low), ns(value.high));
            let doubt = placed.doubt(metric);
            Some((of_spread(relation, bound as f64, value, placed.row.trials, doubt), text))
        }
        (Measure::Number(metric), Relation::Reaches(bound)) => {
            let rate = rate(placed, metric)?;
            let text = format!(
                "{}/s [{} to {}]",
                significant(rate.median),
                significant(rate.low),
                significant(rate.high)
            );
            let over = of_spread(Relation::Over(0), bound, rate, placed.row.trials, None);
            Some((over, text))
        }
        (Measure::Number(metric), Relation::Under(bound) | Relation::Over(bound)) => {
            let (operations, op) = (placed.operations(metric)?, placed.op(metric)?);
            if metric.statistic == Statistic::Max {
                let text = format!(
                    "largest of {} {op}s in {:.0} s: {}",
                    operations.count,
                    operations.measured_s,
                    ns(operations.max_ns as f64)
                );
                return Some((largest(relation, operations.max_ns >= bound, placed), text));
            }
            let is_under =
                (metric.statistic == Statistic::Min).then_some(operations.min_ns < bound)?;
            let text =
                format!("smallest of {} {op}s: {}", operations.count, ns(operations.min_ns as f64));
            Some((bore_out(is_under == matches!(relation, Relation::Under(_))), text))
        }
        (Measure::Count(name), Relation::None | Relation::Some) => {
            let count = placed.row.counts.iter().find(|(known, _)| known == name)?.1;
            let text = format!(
                "{name}: {} over {}",
                count.round(),
                counted(placed.row.trials.into(), "trial")
            );
            Some((bore_out((count > 0.0) == (relation == Relation::Some)), text))
        }
        _ => None,
    }
}

fn bore_out(holds: bool) -> Outcome {
    if holds { Outcome::Seen } else { Outcome::Opposite }
}

fn ns(value: f64) -> String {
    duration_text(value)
}

fn ended(relation: Relation, trials: u32, failed: u32) -> Outcome {
    match (relation, trials, failed) {
        (_, 0, 0) => Outcome::NotDecided { blocks: 0, why: "the phase was not run".into() },
        (Relation::Fails, 0, _) | (Relation::Works, _, 0) => Outcome::Seen,
        (Relation::Fails, _, 0) | (Relation::Works, 0, _) => Outcome::Opposite,
        _ => Outcome::NotDecided {
            blocks: trials,
            why: "some trials failed and some did not".into(),
        },
    }
}

fn quantile(placed: &Placed<'_>, metric: &Metric) -> Option<Spread> {
    let operations = placed.operations(metric)?;
    match metric.statistic {
        Statistic::Mean => Some(operations.mean_ns),
        Statistic::Quantile(q) => {
            let row = operations.quantiles.iter().find(|row| (row.q - q).abs() < 1e-9)?;
            Some(row.value_ns)
        }
        _ => None,
    }
}

/// Of the phase where there is one, else of the row.
fn rate(placed: &Placed<'_>, metric: &Metric) -> Option<Spread> {
    match placed.op(metric).and_then(|op| placed.phase(op)) {
        Some(cell) => cell.rate,
        None => placed.row.rate,
    }
}

/// Holds where every trial lies on one side of the bound.
fn of_spread(
    relation: Relation,
    bound: f64,
    value: Spread,
    trials: u32,
    doubt: Option<String>,
) -> Outcome {
    if let Some(why) = doubt {
        return Outcome::NotDecided { blocks: trials, why };
    }
    if trials < BLOCKS_MIN {
        let why = format!("under {BLOCKS_MIN} trials nothing is said");
        return Outcome::NotDecided { blocks: trials, why };
    }
    let is_under = matches!(relation, Relation::Under(_));
    match (value.high < bound, value.low >= bound) {
        (true, _) => bore_out(is_under),
        (_, true) => bore_out(!is_under),
        _ => Outcome::NotDecided { blocks: trials, why: "trials lie on both sides".into() },
    }
}

/// One operation over the bound proves that it is passed; none proves nothing where trials are short.
fn largest(relation: Relation, is_over: bool, placed: &Placed<'_>) -> Outcome {
    if is_over || placed.covers_periods() {
        return bore_out(is_over == matches!(relation, Relation::Over(_)));
    }
    let why = "none was seen, and trials are too short to cover periodic work".into();
    Outcome::NotDecided { blocks: placed.row.trials, why }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(low: f64, high: f64) -> Spread {
        Spread { median: (low + high) / 2.0, low, high }
    }

    #[test]
    fn all_trials_must_lie_on_one_side() {
        let said = |relation, low, high, trials, doubt: Option<&str>| {
            of_spread(relation, 20_000.0, spread(low, high), trials, doubt.map(String::from))
                .words()
        };
        let under = Relation::Under(20_000);
        assert_eq!(said(under, 4_000.0, 19_000.0, 5, None), "seen here");
        assert_eq!(said(under, 21_000.0, 40_000.0, 5, None), "opposite here");
        assert_eq!(said(under, 4_000.0, 21_000.0, 5, None), "not decided");
        assert_eq!(said(under, 4_000.0, 19_000.0, 4, None), "not decided");
        assert_eq!(said(under, 4_000.0, 19_000.0, 5, Some("short")), "not decided");
        assert_eq!(said(Relation::Over(20_000), 21_000.0, 40_000.0, 5, None), "seen here");
    }

    #[test]
    fn a_phase_fails_or_works_in_all_trials_or_is_open() {
        let said = |relation, trials, failed| ended(relation, trials, failed).words();
        assert_eq!(said(Relation::Fails, 0, 3), "seen here");
        assert_eq!(said(Relation::Fails, 3, 0), "opposite here");
        assert_eq!(said(Relation::Works, 3, 0), "seen here");
        assert_eq!(said(Relation::Works, 0, 3), "opposite here");
        assert_eq!(said(Relation::Works, 2, 1), "not decided");
        assert_eq!(said(Relation::Fails, 0, 0), "not decided");
    }
}
