//! Pure logic: the lab runs a trial at the rate it is told and says whether the rate
//! was held, by [`is_held`]. Rates double until one fails, then the gap is halved on
//! a logarithmic scale. Each answer at the edge is asked for twice: one lucky trial
//! is no capacity, one disturbed trial no limit.

use pickfs_record::{TrialRecord, plan::Metric, trial::FINAL_SYNC_KEY};

use crate::{
    doubts::{RATE_MISSED_SHARE, rate_missed_share},
    summary::{measured_s, metric_value},
};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    pub start_per_s: f64,
    pub limit_per_s: f64,
    /// Ratio at which the search ends: 1.05 finds the capacity within five per cent.
    pub precision: f64,
}

impl Range {
    /// Without it two candidates between the same two rates are one, and two on either side of a
    /// rate are a step apart, in every block.
    pub fn shifted(self, share: f64) -> Range {
        let mut step = 2.0_f64;
        while step > self.precision.max(PRECISION_MIN) {
            step = step.sqrt();
        }
        Range { start_per_s: self.start_per_s * step.powf(share - 0.5), ..self }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Capacity {
    /// Held at the first rate, missed at the second one.
    Between {
        held_per_s: f64,
        missed_per_s: f64,
    },
    AtLeast {
        held_per_s: f64,
    },
    /// Not even the lowest rate tried was held.
    Under {
        missed_per_s: f64,
    },
}

const PRECISION_MIN: f64 = 1.001;
/// Rates below the first one that are tried before giving up: halvings.
const HALVINGS: u32 = 10;

pub fn search<E>(
    range: Range,
    mut held: impl FnMut(f64) -> Result<bool, E>,
) -> Result<Capacity, E> {
    let start = range.start_per_s.clamp(1e-3, range.limit_per_s.max(1e-3));
    // Two of three: the first two answers decide unless they differ.
    let mut ask = |rate: f64| -> Result<bool, E> {
        let (first, second) = (held(rate)?, held(rate)?);
        if first == second { Ok(first) } else { held(rate) }
    };
    let (low, high) = match bracket(start, range.limit_per_s, &mut ask)? {
        Ok(bracket) => bracket,
        Err(known) => return Ok(known),
    };
    let (mut low, mut high) = (low, high);
    while high / low > range.precision.max(PRECISION_MIN) {
        let middle = (low * high).sqrt();
        if ask(middle)? { low = middle } else { high = middle }
    }
    Ok(Capacity::Between { held_per_s: low, missed_per_s: high })
}

/// A held rate and a missed one next to each other; or the answer, where one is absent.
fn bracket<E>(
    start: f64,
    limit: f64,
    ask: &mut impl FnMut(f64) -> Result<bool, E>,
) -> Result<Result<(f64, f64), Capacity>, E> {
    let mut rate = start;
    if ask(rate)? {
        while rate < limit {
            let next = (2.0 * rate).min(limit);
            if !ask(next)? {
                return Ok(Ok((rate, next)));
            }
            rate = next;
        }
        return Ok(Err(Capacity::AtLeast { held_per_s: rate }));
    }
    for _ in 0..HALVINGS {
        if ask(rate / 2.0)? {
            return Ok(Ok((rate / 2.0, rate)));
        }
        rate /= 2.0;
    }
    Ok(Err(Capacity::Under { missed_per_s: rate }))
}

#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    pub metric: Metric,
    pub value_ns_max: f64,
}

/// Whether a trial held its rate (within 1 %), and its bound if there is one. A trial
/// without a schedule or without the bounded metric held nothing, nor did one that put off more than
/// was written in as long again.
pub fn is_held(trial: &TrialRecord, bound: Option<&Bound>) -> bool {
    let missed = trial.load.as_ref().and_then(rate_missed_share);
    let kept = missed.is_some_and(|missed| missed <= RATE_MISSED_SHARE);
    let within = bound.is_none_or(|bound| {
        metric_value(trial, &bound.metric).is_some_and(|value| value <= bound.value_ns_max)
    });
    let sync_s = trial.counts.get(FINAL_SYNC_KEY).map_or(0.0, |ns| ns / 1e9);
    kept && within && sync_s <= measured_s(trial)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pickfs_testkit::{FakeRun, Mishap, MishapKind, fake_run, fake_trial::service_quantile};

    fn find(capacity: f64, start: f64) -> (Capacity, usize) {
        let mut asked = 0;
        let range = Range { start_per_s: start, limit_per_s: 1e6, precision: 1.1 };
        let found = search(range, |rate| {
            asked += 1;
            Ok::<_, ()>(rate <= capacity)
        });
        (found.expect("no error"), asked)
    }

    #[test]
    fn the_capacity_is_bracketed_from_above_and_below() {
        for start in [1_000.0, 300_000.0] {
            let (found, asked) = find(42_000.0, start);
            let Capacity::Between { held_per_s, missed_per_s } = found else { panic!("{found:?}") };
            assert!(held_per_s <= 42_000.0 && 42_000.0 < missed_per_s);
            assert!(missed_per_s / held_per_s <= 1.1 && asked < 40, "{asked}");
        }
    }

    /// 9,400 and 9,600 lay between the same two rates, in each block.
    #[test]
    fn shifted_searches_tell_capacities_apart_that_are_within_a_step() {
        let found = |capacity: f64| -> Vec<f64> {
            let range = Range { start_per_s: 1_000.0, limit_per_s: 1e6, precision: 1.25 };
            let held = |share: f64| match search(range.shifted(share), |rate| {
                Ok::<_, ()>(rate <= capacity)
            }) {
                Ok(Capacity::Between { held_per_s, .. }) => held_per_s.ln(),
                other => panic!("{other:?}"),
            };
            (0..500).map(|number| held(f64::from(number) / 500.0)).collect()
        };
        let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
        let ratio = (mean(found(9_600.0)) - mean(found(9_400.0))).exp();
        assert!((ratio - 9_600.0 / 9_400.0).abs() < 0.002, "{ratio}");
    }

    #[test]
    fn the_ends_are_answers_too() {
        assert_eq!(find(1e9, 1_000.0).0, Capacity::AtLeast { held_per_s: 1e6 });
        assert_eq!(find(0.0, 1_024.0).0, Capacity::Under { missed_per_s: 1.0 });
        let failed =
            search(Range { start_per_s: 1.0, limit_per_s: 2.0, precision: 1.1 }, |_| Err("io"));
        assert_eq!(failed, Err("io"));
    }

    #[test]
    fn one_unlucky_trial_does_not_lower_the_capacity() {
        let mut asked = 0;
        let range = Range { start_per_s: 1_000.0, limit_per_s: 8_000.0, precision: 1.1 };
        let found = search(range, |_| {
            asked += 1;
            Ok::<_, ()>(asked != 3)
        });
        assert_eq!(found, Ok(Capacity::AtLeast { held_per_s: 8_000.0 }));
    }

    #[test]
    fn a_trial_holds_by_rate_and_by_bound() {
        let mishaps = vec![Mishap::new("xfs:noatime", "none", 1, MishapKind::RateMissed(0.9))];
        let run = fake_run(&FakeRun { mishaps, ..FakeRun::default() });
        let missed = run.trials.iter().filter(|trial| !is_held(trial, None)).count();
        assert_eq!(missed, 1);
        let mut deferred = run.trials[0].clone();
        deferred.counts.insert(FINAL_SYNC_KEY.into(), 1.1e9 * measured_s(&deferred));
        assert!(!is_held(&deferred, None), "the sync took longer than the trial");
        let bound = Bound { metric: service_quantile("durable", 0.99), value_ns_max: 1.0 };
        assert!(run.trials.iter().all(|trial| !is_held(trial, Some(&bound))));
    }
}
