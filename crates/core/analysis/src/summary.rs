//! Histograms of several trials are never merged (rule 16), and a quantile is
//! carried only by ten episodes over three trials (rule 7).

use pickfs_record::{
    TrialRecord,
    finding::{OpSummary, QuantileSummary, Spread},
    plan::{Metric, Statistic, View},
    record::{OpRecord, Second, Times},
    trial::{FINAL_SYNC_KEY, SUSTAINED, SUSTAINED_KEYS, WITH_FINAL_SYNC},
};

/// Episodes that a quantile needs beyond it (rule 7).
pub const EPISODES_MIN: u64 = 10;
/// Trials over which the episodes must be spread (rule 7).
pub const TRIALS_MIN: usize = 3;

/// Median, smallest and largest of the finite values; zeros without any.
pub fn spread(values: &[f64]) -> Spread {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    match (sorted.first(), sorted.last()) {
        (Some(&low), Some(&high)) => Spread { median: middle(&sorted), low, high },
        _ => Spread::default(),
    }
}

/// Median of the finite values; 0 without any.
pub fn median(values: &[f64]) -> f64 {
    spread(values).median
}

/// Of values in order, however large; 0 without any.
pub(crate) fn middle(sorted: &[f64]) -> f64 {
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[n / 2],
        n => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
    }
}

/// Geometric mean of numbers above zero; none without any, or where one is not above zero.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() || values.iter().any(|value| !(value.is_finite() && *value > 0.0)) {
        return None;
    }
    let sum: f64 = values.iter().map(|value| value.ln()).sum();
    Some((sum / values.len() as f64).exp())
}

/// Every operation and view that the trials hold, in the order of the first trial that has it.
pub fn op_summaries(trials: &[&TrialRecord]) -> Vec<OpSummary> {
    let mut names: Vec<(&str, View)> = Vec::new();
    for op in trials.iter().flat_map(|trial| &trial.ops) {
        for view in [View::Service, View::Response] {
            if op.view(view).is_some() && !names.contains(&(op.op.as_str(), view)) {
                names.push((&op.op, view));
            }
        }
    }
    names.into_iter().map(|(op, view)| op_summary(op, view, trials)).collect()
}

/// The response time with the driver's stalls, where it was kept.
pub fn raw_summary(op: &str, trials: &[&TrialRecord]) -> Option<OpSummary> {
    let summary = op_summary(op, View::RawResponse, trials);
    (summary.count > 0).then_some(summary)
}

fn op_summary(op: &str, view: View, trials: &[&TrialRecord]) -> OpSummary {
    let rows: Vec<&Times> = trials.iter().filter_map(|trial| trial.op(op)?.view(view)).collect();
    let over =
        |number: fn(&Times) -> f64| spread(&rows.iter().map(|row| number(row)).collect::<Vec<_>>());
    OpSummary {
        op: op.into(),
        view,
        count: rows.iter().map(|row| row.count).sum(),
        measured_s: trials
            .iter()
            .filter(|trial| trial.op(op).is_some_and(|op| op.view(view).is_some()))
            .map(|trial| op_measured_s(trial, op))
            .sum(),
        mean_ns: over(|row| row.mean_ns),
        sd_ns: over(|row| row.sd_ns),
        min_ns: rows.iter().map(|row| row.min_ns).min().unwrap_or(0),
        max_ns: rows.iter().map(|row| row.max_ns).max().unwrap_or(0),
        quantiles: quantiles(&rows),
    }
}

fn quantiles(rows: &[&Times]) -> Vec<QuantileSummary> {
    let mut shares: Vec<f64> = rows
        .iter()
        .flat_map(|row| &row.quantiles)
        .map(|row| row.q)
        .filter(|q| !q.is_nan())
        .collect();
    shares.sort_unstable_by(f64::total_cmp);
    shares.dedup_by(|a, b| (*a - *b).abs() < 1e-9);
    shares.into_iter().map(|q| quantile(q, rows)).collect()
}

fn quantile(q: f64, rows: &[&Times]) -> QuantileSummary {
    let found: Vec<_> = rows.iter().filter_map(|row| row.quantile(q)).collect();
    let episodes = found.iter().map(|row| row.episodes).sum();
    let trials = found.iter().filter(|row| row.episodes > 0).count();
    QuantileSummary {
        q,
        value_ns: spread(&found.iter().map(|row| row.value_ns as f64).collect::<Vec<_>>()),
        episodes,
        carried: episodes >= EPISODES_MIN && trials >= TRIALS_MIN,
    }
}

/// Whether an operation is one of a phase: named as it, or `phase: kind`.
pub fn belongs_to(op: &str, phase: &str) -> bool {
    op.strip_prefix(phase).is_some_and(|rest| rest.is_empty() || rest.starts_with(": "))
}

/// Seconds in which an operation was measured: those of its phase, else of the trial.
fn op_measured_s(trial: &TrialRecord, op: &str) -> f64 {
    let sync_ns = trial.counts.get(FINAL_SYNC_KEY).filter(|_| op.ends_with(WITH_FINAL_SYNC));
    let phase = trial.phases.iter().find(|phase| belongs_to(op, &phase.phase));
    let measured_s = phase.map_or_else(|| measured_s(trial), |phase| phase.elapsed_ns as f64 / 1e9);
    measured_s + sync_ns.map_or(0.0, |ns| ns / 1e9)
}

/// Measured time of a trial in seconds: of its phases, of the schedule, else the seconds with operations.
pub fn measured_s(trial: &TrialRecord) -> f64 {
    if !trial.phases.is_empty() {
        let ran = trial.phases.iter().filter(|phase| !phase.is_derived);
        return ran.map(|phase| phase.elapsed_ns as f64 / 1e9).sum();
    }
    let seconds = || trial.ops.iter().map(|op| op.intervals.len()).max().unwrap_or(0) as f64;
    match &trial.load {
        Some(load) if load.measured_ns > 0 => load.measured_ns as f64 / 1e9,
        _ => seconds(),
    }
}

/// Count of a trial that looked for its capacity: the highest rate that it held.
pub const CAPACITY_KEY: &str = "capacity_per_s";
/// Count of one that held the limit of its search: its capacity may be any higher.
pub const AT_LIMIT_KEY: &str = "capacity_at_limit";
/// The same in the note of its search, which files have that lack the count.
pub const AT_LIMIT_WORDS: &str = "the limit of the search";

pub fn is_at_limit(trial: &TrialRecord) -> bool {
    let in_words = |note: &String| note.starts_with("capacity: ") && note.contains(AT_LIMIT_WORDS);
    trial.counts.contains_key(AT_LIMIT_KEY) || trial.notes.iter().any(in_words)
}

/// Arrivals per second of a trial: the capacity that it found, or else what it achieved.
pub fn rate_held(trial: &TrialRecord) -> Option<f64> {
    let found = trial.counts.get(CAPACITY_KEY).copied();
    found.or(trial.load.as_ref().map(|load| load.achieved_per_s))
}

/// Arrivals per second of the closed loop at the end of a trial.
pub fn sustained(trial: &TrialRecord) -> Option<f64> {
    let [arrivals, ns] = SUSTAINED_KEYS.map(|key| trial.counts.get(key).copied());
    ns.filter(|ns| *ns > 0.0).zip(arrivals).map(|(ns, arrivals)| arrivals * 1e9 / ns)
}

/// A figure is the number of that name; the rate is that of the phase with this name, or the
/// capacity where the trial looked for one. Absent where the trial does not hold it or it is not
/// above zero.
pub fn metric_value(trial: &TrialRecord, metric: &Metric) -> Option<f64> {
    let name = op_in(trial, metric)?;
    if let Statistic::Figure(_) = metric.statistic {
        let figure = trial.figures.get(name).copied();
        return figure.filter(|value| value.is_finite() && *value > 0.0);
    }
    if name == SUSTAINED {
        return sustained(trial).filter(|rate| metric.statistic == Statistic::Rate && *rate > 0.0);
    }
    let capacity = trial.counts.get(CAPACITY_KEY).filter(|_| metric.statistic == Statistic::Rate);
    if let Some(&held) = capacity {
        return (held.is_finite() && held > 0.0).then_some(held);
    }
    let phase = trial.phases.iter().find(|phase| phase.phase == name);
    if let (Some(phase), Statistic::Rate) = (phase, metric.statistic) {
        let rate = phase.rate_per_s;
        return (phase.is_finished() && rate.is_finite() && rate > 0.0).then_some(rate);
    }
    let operations = trial.op(name)?.view(metric.view)?;
    let value = match metric.statistic {
        Statistic::Quantile(q) => operations.quantile(q)?.value_ns as f64,
        Statistic::Mean => operations.mean_ns,
        Statistic::Sd => operations.sd_ns,
        Statistic::Min => operations.min_ns as f64,
        Statistic::Max => operations.max_ns as f64,
        Statistic::Worst => worst_ns(trial.op(name)?, metric.view)?,
        Statistic::Rate | Statistic::Figure(_) => {
            operations.count as f64 / op_measured_s(trial, name)
        }
    };
    (value.is_finite() && value > 0.0).then_some(value)
}

/// Seconds that the worst of each second needs.
const SECONDS_MIN: usize = 3;

/// The largest operation of each second that has one. Seconds keep no raw response time.
pub fn largest_ns(op: &OpRecord, view: View) -> Vec<f64> {
    let largest = |second: &Second| match view {
        View::Service => Some(second.service_max_ns),
        View::Response => Some(second.response_max_ns),
        View::RawResponse => None,
    };
    let seconds = op.intervals.iter().filter(|second| second.count > 0);
    seconds.filter_map(|second| Some(largest(second)? as f64)).collect()
}

fn worst_ns(op: &OpRecord, view: View) -> Option<f64> {
    let all = largest_ns(op, view);
    (all.len() >= SECONDS_MIN).then(|| median(&all))
}

/// The first of the metric's operations that a trial has.
pub fn op_in<'m>(trial: &TrialRecord, metric: &'m Metric) -> Option<&'m str> {
    metric.ops().find(|name| {
        trial.op(name).is_some()
            || trial.phases.iter().any(|phase| phase.phase == **name)
            || trial.figures.contains_key(*name)
            || *name == SUSTAINED && sustained(trial).is_some()
    })
}

/// Whether a metric may carry a claim: quantiles by rule 7, everything else always.
pub fn is_carried(ops: &[OpSummary], metric: &Metric) -> bool {
    let Statistic::Quantile(q) = metric.statistic else { return true };
    let name = metric.ops().find(|name| ops.iter().any(|op| op.op == **name));
    ops.iter()
        .filter(|op| Some(op.op.as_str()) == name && op.view == metric.view)
        .flat_map(|op| &op.quantiles)
        .any(|row| (row.q - q).abs() < 1e-9 && row.carried)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pickfs_record::record::QuantileRow;

    fn operations(value_ns: u64, episodes: u64) -> Times {
        let row = QuantileRow { q: 0.999, value_ns, episodes };
        Times { count: 100, quantiles: vec![row], ..Times::default() }
    }

    #[test]
    fn a_quantile_is_the_median_over_trials_of_the_trials_own() {
        let rows = [operations(10, 5), operations(90, 5), operations(20, 5)];
        let found = quantile(0.999, &rows.iter().collect::<Vec<_>>());
        assert_eq!(found.value_ns, Spread { median: 20.0, low: 10.0, high: 90.0 });
        assert_eq!((found.episodes, found.carried), (15, true));
    }

    #[test]
    fn ten_episodes_over_three_trials_carry_and_less_does_not() {
        let carried = |rows: &[Times]| quantile(0.999, &rows.iter().collect::<Vec<_>>()).carried;
        assert!(carried(&[operations(1, 4), operations(1, 3), operations(1, 3)]));
        assert!(!carried(&[operations(1, 3), operations(1, 3), operations(1, 3)]));
        assert!(!carried(&[operations(1, 50), operations(1, 50)]));
        assert!(!carried(&[operations(1, 50), operations(1, 50), operations(1, 0)]));
    }

    #[test]
    fn the_worst_of_each_second_is_the_median_over_seconds_and_one_stall_moves_it_not() {
        let second = |second: u32, service_max_ns: u64| Second {
            second,
            count: 9,
            service_min_ns: 1,
            service_p50_ns: 2,
            service_max_ns,
            response_max_ns: 2 * service_max_ns,
        };
        let worst = |maxima: &[u64], view: &str| {
            let seconds = (0..).zip(maxima).map(|(at, max_ns)| second(at, *max_ns)).collect();
            let response = Some(Times::default());
            let (op, intervals) = ("append".into(), seconds);
            let op = OpRecord { op, intervals, response, ..OpRecord::default() };
            let trial = TrialRecord { ops: vec![op], ..TrialRecord::default() };
            metric_value(&trial, &format!("append.worst{view}").parse().expect("a metric"))
        };
        assert_eq!(worst(&[30, 20, 90_000], " service"), Some(30.0));
        assert_eq!(worst(&[30, 20, 90_000], ""), Some(60.0));
        assert_eq!((worst(&[30, 20], " service"), worst(&[3, 3, 3], " raw")), (None, None));
    }

    #[test]
    fn a_spread_of_nothing_is_zero_and_nan_is_left_out() {
        assert_eq!(spread(&[]), Spread::default());
        let found = spread(&[f64::NAN, 4.0, 2.0]);
        assert_eq!(found, Spread { median: 3.0, low: 2.0, high: 4.0 });
    }
}
