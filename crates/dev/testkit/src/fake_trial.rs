//! One invented trial: distributions, seconds and spikes around a given median.
//!
//! Operations are log-normal, so every quantile follows from the median and
//! [`FakeOperations::tail`]; nothing is drawn operation by operation, so that thousands of trials are cheap.

use pickfs_record::{
    plan::View,
    record::{
        Disturbance, LoadRecord, OpRecord, Operation, QUANTILES, QuantileRow, RawProbe, Second,
        Times,
    },
};

use crate::Dice;

#[derive(Debug, Clone, Copy)]
pub struct FakeOperations {
    pub median_ns: f64,
    /// Standard deviation of an operation's logarithm: 0.3 is tame, 0.8 has a long tail.
    pub tail: f64,
    pub rate_per_s: f64,
    pub measure_s: u32,
    /// Medians of the last third over those of the first third; 1 is steady.
    pub unsteady: f64,
    /// Whether a schedule exists, so that response times do.
    pub scheduled: bool,
    /// When the measurement began, on the CLOCK_MONOTONIC line.
    pub began_ns: u64,
}

pub fn fake_op(op: &str, operations: &FakeOperations, dice: &mut Dice) -> OpRecord {
    let service = distribution(operations.median_ns, operations, dice);
    let response =
        operations.scheduled.then(|| distribution(operations.median_ns * 1.03, operations, dice));
    let intervals = intervals(operations, service.max_ns, dice);
    let spikes = spikes(operations, &intervals, service.max_ns, dice);
    let raw_response = response.clone();
    let interval_log = String::new();
    OpRecord { op: op.into(), service, response, raw_response, intervals, spikes, interval_log }
}

fn distribution(median_ns: f64, operations: &FakeOperations, dice: &mut Dice) -> Times {
    let count = (operations.rate_per_s * f64::from(operations.measure_s)).max(1.0);
    let at = |z: f64| median_ns * (operations.tail * z).exp();
    let quantiles: Vec<_> = QUANTILES.iter().map(|&q| quantile_row(q, count, at)).collect();
    let extreme = normal_quantile(1.0 - 0.5 / count) + 0.5 * dice.exponential();
    let half_variance = operations.tail * operations.tail / 2.0;
    let mean_ns = median_ns * half_variance.exp();
    Times {
        count: count as u64,
        mean_ns,
        sd_ns: mean_ns * ((2.0 * half_variance).exp() - 1.0).sqrt(),
        min_ns: at(normal_quantile(0.5 / count)) as u64,
        max_ns: at(extreme).max(quantiles.last().map_or(0.0, |row| row.value_ns as f64)) as u64,
        quantiles,
        overflow: 0,
        histogram: String::new(),
    }
}

fn quantile_row(q: f64, count: f64, at: impl Fn(f64) -> f64) -> QuantileRow {
    let reachable = q.min(1.0 - 0.5 / count);
    QuantileRow {
        q,
        value_ns: at(normal_quantile(reachable)) as u64,
        episodes: (count * (1.0 - q) * q.max(0.5)).round() as u64,
    }
}

fn intervals(operations: &FakeOperations, max_ns: u64, dice: &mut Dice) -> Vec<Second> {
    let worst = dice.below(operations.measure_s as usize) as u32;
    (0..operations.measure_s)
        .map(|second| {
            let place = (f64::from(second) + 0.5) / f64::from(operations.measure_s.max(1));
            let slope = operations.unsteady.powf(1.5 * (place - 0.5));
            let median = operations.median_ns * slope * (0.01 * dice.normal()).exp();
            let top = normal_quantile(1.0 - 0.5 / operations.rate_per_s.max(2.0));
            let usual =
                operations.median_ns * (operations.tail * (top + 0.4 * dice.normal())).exp();
            let largest = if second == worst { max_ns } else { (usual as u64).min(max_ns) };
            Second {
                second,
                count: operations.rate_per_s as u64,
                service_min_ns: (operations.median_ns * (-operations.tail * top).exp()) as u64,
                service_p50_ns: median as u64,
                service_max_ns: largest,
                response_max_ns: if operations.scheduled { largest + largest / 20 } else { 0 },
            }
        })
        .collect()
}

fn spikes(
    operations: &FakeOperations,
    rows: &[Second],
    max_ns: u64,
    dice: &mut Dice,
) -> Vec<Operation> {
    let mut seconds: Vec<&Second> = rows.iter().collect();
    seconds.sort_by_key(|row| std::cmp::Reverse(row.service_max_ns));
    seconds
        .into_iter()
        .take(10)
        .map(|row| {
            let within_ns = (dice.uniform() * 9e8) as u64;
            let due_ns = operations.began_ns + u64::from(row.second) * 1_000_000_000 + within_ns;
            Operation {
                due_ns,
                start_ns: due_ns + 300,
                end_ns: due_ns + 300 + row.service_max_ns.min(max_ns),
                offset_bytes: (u64::from(row.second) * operations.rate_per_s as u64) * 256,
            }
        })
        .collect()
}

pub fn fake_raw(p50_ns: f64, dice: &mut Dice) -> RawProbe {
    RawProbe {
        count: 9_000,
        p50_ns: p50_ns as u64,
        p99_ns: (p50_ns * (2.2 + 0.2 * dice.normal()).max(1.2)) as u64,
        max_ns: (p50_ns * (9.0 + 4.0 * dice.exponential())) as u64,
        elapsed_s: 2.0,
    }
}

/// What was offered and kept; `kept` in [0, 1] is the share of the rate that was held.
pub fn fake_load(operations: &FakeOperations, kept: f64, dice: &mut Dice) -> LoadRecord {
    let arrivals = (operations.rate_per_s * f64::from(operations.measure_s)) as u64;
    let stall_ns = (30_000.0 * (1.0 + dice.exponential())) as u64;
    LoadRecord {
        asked_per_s: operations.scheduled.then_some(operations.rate_per_s),
        achieved_per_s: operations.rate_per_s * kept,
        arrivals,
        drained: 0,
        missed: 0,
        late_driver: (arrivals as f64 * 0.000_05) as u64,
        late_queue: (arrivals as f64 * 0.002) as u64,
        driver_stall_ns_max: stall_ns,
        driver_stall_ns_sum: stall_ns * 4,
        measured_ns: u64::from(operations.measure_s) * 1_000_000_000,
        began_ns: operations.began_ns,
        cpu_user_ns: u64::from(operations.measure_s) * 40_000_000,
        cpu_system_ns: u64::from(operations.measure_s) * 180_000_000,
        preemptions: dice.below(6) as u64,
    }
}

/// CPU taken by others: a little always, a quarter of the machine when disturbed.
pub fn fake_disturbance(disturbed: bool, seconds: u32, dice: &mut Dice) -> Disturbance {
    let share = if disturbed { 0.25 } else { 0.002 };
    let rows: Vec<(f64, f64)> =
        (0..seconds).map(|_| (share * dice.uniform() * 2.0, 0.001 * dice.uniform())).collect();
    let count = rows.len().max(1) as f64;
    Disturbance {
        steal_share: rows.iter().map(|row| row.0).sum::<f64>() / count,
        foreign_user_share: rows.iter().map(|row| row.1).sum::<f64>() / count,
        seconds: rows,
        ..Disturbance::default()
    }
}

pub fn service_quantile(op: &str, q: f64) -> pickfs_record::plan::Metric {
    pickfs_record::plan::Metric {
        op: op.into(),
        view: View::Service,
        statistic: pickfs_record::plan::Statistic::Quantile(q),
        at: Default::default(),
    }
}

/// Inverse of the normal distribution, by bisection on a series for its integral
/// (Abramowitz and Stegun 26.2.17, error under 1e-7); `p` in (0, 1).
pub fn normal_quantile(p: f64) -> f64 {
    let (mut low, mut high) = (-9.0, 9.0);
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        if normal_share(middle) < p { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

fn normal_share(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z.abs());
    let series = [0.319_381_530, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
    let sum = series.iter().rev().fold(0.0, |sum, term| (sum + term) * t);
    let upper = sum * (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt();
    if z >= 0.0 { 1.0 - upper } else { upper }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_quantiles_are_the_tabled_ones() {
        for (p, z) in [(0.5, 0.0), (0.975, 1.959964), (0.99, 2.326348), (0.001, -3.090232)] {
            assert!((normal_quantile(p) - z).abs() < 1e-3, "{p} {}", normal_quantile(p));
        }
    }

    #[test]
    fn quantiles_rise_and_end_at_the_largest_operation() {
        let operations = FakeOperations {
            median_ns: 500.0,
            tail: 0.4,
            rate_per_s: 10_000.0,
            measure_s: 8,
            unsteady: 1.0,
            scheduled: true,
            began_ns: 0,
        };
        let op = fake_op("append", &operations, &mut Dice::new(1));
        assert!(op.service.quantiles.is_sorted_by_key(|row| row.value_ns));
        assert!(op.service.quantiles.last().expect("rows").value_ns <= op.service.max_ns);
        assert_eq!(op.intervals.len(), 8);
        assert_eq!(
            op.intervals.iter().map(|row| row.service_max_ns).max(),
            Some(op.service.max_ns)
        );
        assert!(op.spikes.is_sorted_by_key(|spike| u64::MAX - (spike.end_ns - spike.start_ns)));
    }
}
