use pickfs_record::{
    BackingSpec, Durability, Outcome, WorkUnit,
    finding::{Claim, Comparison, Spread},
    plan::{Better, Metric, Statistic, View},
    quantity::{duration_text, significant},
};
use serde_json::Value;

pub fn statistic_name(statistic: Statistic) -> String {
    match statistic {
        Statistic::Figure(Better::Higher) => "higher is better".into(),
        Statistic::Figure(Better::Lower) => "lower is better".into(),
        other => other.to_string(),
    }
}

pub fn view_meaning(view: View) -> &'static str {
    match view {
        View::Service => "Service time: from the start of a call to its end.",
        View::Response => {
            "Response time: from when a call was due to its end, without the driver's own stalls."
        }
        View::RawResponse => "Raw response time: from when a call was due to its end.",
    }
}

/// An operation in words: `append + sync` for the time until a record is durable.
pub fn op_name(op: &str) -> &str {
    match op {
        "durable" => "append until durable",
        other => other,
    }
}

/// A metric's value with its unit: nanoseconds, work or arrivals per second for rates.
pub fn value_text(unit: Option<WorkUnit>, metric: &Metric, value: f64) -> String {
    match (unit, metric.statistic) {
        (Some(unit), _) => format!("{} {}", rate_number(unit, value), unit_name(unit)),
        (None, Statistic::Rate) => format!("{}/s", significant(value)),
        (None, Statistic::Figure(_)) => significant(value),
        (None, _) => duration_text(value),
    }
}

pub fn value_range(unit: Option<WorkUnit>, metric: &Metric, value: Spread) -> String {
    match (unit, metric.statistic) {
        (Some(unit), _) => range_number(unit, value),
        (None, Statistic::Rate) => {
            format!("{}-{}/s", significant(value.low), significant(value.high))
        }
        (None, Statistic::Figure(_)) => {
            format!("{}-{}", significant(value.low), significant(value.high))
        }
        (None, _) => range_text(value),
    }
}

/// The unit of a rate as the field prints it: decimal megabytes for bytes.
pub fn unit_name(unit: WorkUnit) -> &'static str {
    match unit {
        WorkUnit::Bytes => "MB/s",
        WorkUnit::Files => "files/s",
        WorkUnit::Seeks => "seeks/s",
        WorkUnit::Calls => "calls/s",
    }
}

pub fn rate_number(unit: WorkUnit, per_s: f64) -> String {
    significant(if unit == WorkUnit::Bytes { per_s / 1e6 } else { per_s })
}

pub fn range_number(unit: WorkUnit, rate: Spread) -> String {
    format!("{} to {}", rate_number(unit, rate.low), rate_number(unit, rate.high))
}

pub fn ratio_number(ratio: f64) -> String {
    times(ratio).trim_end_matches('x').into()
}

/// `1.38x faster`, `equal within 5 %`.
pub fn claim_text(comparison: &Comparison) -> String {
    claimed(comparison.claim, comparison.speedup)
}

pub fn claimed(claim: Claim, speedup: f64) -> String {
    match claim {
        Claim::Faster => format!("{} faster", times(speedup)),
        Claim::Slower => format!("{} slower", times(1.0 / speedup)),
        Claim::Equal { margin } => format!("equal within {} %", percent(margin)),
        Claim::Open => "undecided".into(),
    }
}

pub fn interval_text(comparison: &Comparison) -> Option<String> {
    let (low, high) = comparison.interval?;
    match comparison.claim {
        Claim::Faster => Some(factors(low, high)),
        Claim::Slower => Some(factors(1.0 / high, 1.0 / low)),
        Claim::Equal { .. } | Claim::Open => None,
    }
}

pub use pickfs_analysis::wording::{
    interval_text as factors, is_program_time, metric_name, metric_words, quantile_name, times,
    view_name,
};

pub fn survives_text(durability: Durability) -> &'static str {
    match durability {
        Durability::Unknown => "not known",
        Durability::Nothing => "nothing",
        Durability::ProcessCrash => "process crash",
        Durability::KernelCrash => "kernel crash",
        Durability::PowerLoss => "power loss",
        Durability::HostLoss => "loss of a host",
    }
}

pub fn claim_word(claim: Claim) -> &'static str {
    match claim {
        Claim::Faster => "faster",
        Claim::Slower => "slower",
        Claim::Equal { .. } => "equal",
        Claim::Open => "open",
    }
}

/// A share as whole per cent, or with one decimal under one: `9`, `0.4`.
pub fn percent(share: f64) -> String {
    let value = share * 100.0;
    if value.abs() < 0.95 { format!("{value:.1}") } else { format!("{value:.0}") }
}

pub fn range_text(spread: Spread) -> String {
    let (low, high) = (duration_text(spread.low), duration_text(spread.high));
    match (low.rsplit_once(' '), high.rsplit_once(' ')) {
        (Some((a, unit)), Some((b, other))) if unit == other => format!("{a}-{b} {unit}"),
        _ => format!("{low}-{high}"),
    }
}

pub fn json_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

pub fn outcome_text(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Finished => "finished".into(),
        Outcome::Failed { reason } => format!("failed: {reason}"),
        Outcome::Skipped { reason } => format!("skipped: {reason}"),
    }
}

pub fn backing_text(backing: &BackingSpec) -> String {
    let size = |bytes: &u64| pickfs_record::quantity::bytes_text(*bytes);
    match backing {
        BackingSpec::Loop { size_bytes, .. } => {
            format!("loop image of {} (relative, not absolute)", size(size_bytes))
        }
        BackingSpec::Ram { size_bytes } => {
            format!("loop image of {} in RAM (relative, not absolute)", size(size_bytes))
        }
        BackingSpec::Device { path, state, log_device, .. } => {
            let state = format!("{state:?}").to_lowercase();
            let log = log_device.as_ref().map(|log| format!(", log on {}", log.display()));
            format!("block device {}, {state}{}", path.display(), log.unwrap_or_default())
        }
        BackingSpec::Directory { .. } => match backing.directories().as_slice() {
            [path] => {
                format!("existing directory {} (never ranked against fresh ones)", path.display())
            }
            paths => format!(
                "existing directories {} (compared with each other, whatever disks they lie on; \
                 never ranked against fresh ones)",
                paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
            ),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(claim: Claim, speedup: f64, interval: Option<(f64, f64)>) -> Comparison {
        Comparison {
            metric: Metric {
                op: "append".into(),
                view: View::Response,
                statistic: Statistic::Quantile(0.99),
                at: Default::default(),
            },
            reference: "ext4".into(),
            other: "xfs".into(),
            primary: true,
            blocks: 5,
            speedup,
            interval,
            claim,
        }
    }

    #[test]
    fn a_slower_row_is_told_in_its_own_direction() {
        let slower = comparison(Claim::Slower, 0.25, Some((0.2, 0.5)));
        assert_eq!(claim_text(&slower), "4.00x slower");
        assert_eq!(interval_text(&slower).as_deref(), Some("[2.00, 5.00]"));
    }

    #[test]
    fn nothing_is_told_of_what_is_not_claimed() {
        let open = comparison(Claim::Open, 1.5, Some((1.2, 1.9)));
        assert_eq!(claim_text(&open), "undecided");
        assert_eq!(interval_text(&open), None);
        let tie = comparison(Claim::Equal { margin: 0.05 }, 1.02, Some((0.95, 1.04)));
        assert_eq!(claim_text(&tie), "equal within 5 %");
        assert_eq!(interval_text(&tie), None);
    }

    #[test]
    fn ranges_share_their_unit() {
        let spread = |low, high| Spread { median: low, low, high };
        assert_eq!(range_text(spread(130_000.0, 155_000.0)), "130-155 us");
        assert_eq!(range_text(spread(920_000.0, 1_100_000.0)), "920 us-1.10 ms");
    }
}
