//! When arrivals are due: an open-loop schedule, fixed before the run, that a slow
//! operation cannot push back (no coordinated omission).
//!
//! A closed loop has no schedule; see [`Arrival::Closed`].

#[derive(Debug, Clone, PartialEq)]
pub enum Arrival {
    Fixed {
        rate_per_s: f64,
    },
    /// Independent, exponentially distributed gaps with the same mean rate.
    Poisson {
        rate_per_s: f64,
    },
    /// Evenly spaced, at `factor` times the rate during the first part of each period.
    Bursts {
        rate_per_s: f64,
        /// Rate within a burst, as a multiple of the rate outside.
        factor: f64,
        period_ns: u64,
        /// Length of the burst at its start in nanoseconds, under the period.
        burst_ns: u64,
    },
    Recorded {
        /// Nanoseconds from the first one, ascending.
        offsets_ns: Vec<u64>,
        /// How many times faster than recorded; above 0.
        speed: f64,
    },
    /// The next arrival begins this long after the one before has ended.
    Closed {
        /// Pause in nanoseconds; 0 for back to back.
        pause_ns: u64,
    },
}

#[derive(Debug, Clone)]
pub struct Schedule {
    arrival: Arrival,
    number: u64,
    next_ns: f64,
    rng: fastrand::Rng,
}

impl Schedule {
    /// A schedule from its first arrival; the seed matters for Poisson arrivals only.
    pub fn new(arrival: Arrival, seed: u64) -> Self {
        Schedule { arrival, number: 0, next_ns: 0.0, rng: fastrand::Rng::with_seed(seed) }
    }

    /// Due time of the next arrival, in nanoseconds from the start; `None` in a closed loop.
    #[inline]
    pub fn next_due_ns(&mut self) -> Option<u64> {
        let number = self.number;
        self.number += 1;
        let due_ns = match &self.arrival {
            Arrival::Fixed { rate_per_s } => number as f64 * 1e9 / rate_per_s,
            Arrival::Poisson { .. } => {
                let due_ns = self.next_ns;
                self.next_ns += -(1.0 - self.rng.f64()).ln() * self.gap().0;
                due_ns
            }
            Arrival::Bursts { .. } => {
                let due_ns = self.next_ns;
                self.next_ns += self.gap().0;
                due_ns
            }
            Arrival::Recorded { offsets_ns, speed } => recorded_ns(offsets_ns, number) / speed,
            Arrival::Closed { .. } => return None,
        };
        Some(due_ns as u64)
    }

    /// Leaves out so many arrivals, or those up to where the rate changes if they are fewer; says how many.
    pub fn skip(&mut self, numbers: u64) -> u64 {
        let (gap_ns, at_this_rate) = self.gap();
        let skipped = numbers.min(at_this_rate);
        self.number += skipped;
        self.next_ns += skipped as f64 * gap_ns;
        skipped
    }

    /// Mean gap behind the next arrival, where due times are a sum of gaps, and how many have it from here on.
    fn gap(&self) -> (f64, u64) {
        match &self.arrival {
            Arrival::Poisson { rate_per_s } => (1e9 / rate_per_s, u64::MAX),
            Arrival::Bursts { rate_per_s, factor, period_ns, burst_ns } => {
                let (period_ns, burst_ns) = (*period_ns as f64, *burst_ns as f64);
                let passed_ns = self.next_ns % period_ns;
                if passed_ns <= burst_ns {
                    let gap_ns = 1e9 / (rate_per_s * factor);
                    (gap_ns, ((burst_ns - passed_ns) / gap_ns) as u64 + 1)
                } else {
                    let gap_ns = 1e9 / rate_per_s;
                    (gap_ns, ((period_ns - passed_ns) / gap_ns).ceil() as u64)
                }
            }
            _ => (0.0, u64::MAX),
        }
    }

    /// Pause after each arrival in nanoseconds: only a closed loop has one.
    pub fn pause_ns(&self) -> u64 {
        match self.arrival {
            Arrival::Closed { pause_ns } => pause_ns,
            _ => 0,
        }
    }
}

fn recorded_ns(offsets_ns: &[u64], number: u64) -> f64 {
    let Some(last_ns) = offsets_ns.last() else { return 0.0 };
    let count = offsets_ns.len() as u64;
    let mean_gap_ns = last_ns.checked_div(count.saturating_sub(1)).unwrap_or(1_000_000).max(1);
    let pass_ns = (last_ns + mean_gap_ns) as f64;
    (number / count) as f64 * pass_ns + offsets_ns[(number % count) as usize] as f64
}

impl Arrival {
    /// Mean arrivals per second that are asked for; `None` in a closed loop.
    pub fn rate_per_s(&self) -> Option<f64> {
        match self {
            Arrival::Fixed { rate_per_s } | Arrival::Poisson { rate_per_s } => Some(*rate_per_s),
            Arrival::Bursts { rate_per_s, factor, period_ns, burst_ns } => {
                let burst_share = *burst_ns as f64 / *period_ns as f64;
                Some(rate_per_s * (burst_share * factor + 1.0 - burst_share))
            }
            Arrival::Recorded { offsets_ns, speed } => {
                let pass_ns = recorded_ns(offsets_ns, offsets_ns.len() as u64);
                (pass_ns > 0.0).then(|| offsets_ns.len() as f64 * 1e9 * speed / pass_ns)
            }
            Arrival::Closed { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(arrival: Arrival, count: usize) -> Vec<u64> {
        let mut schedule = Schedule::new(arrival, 7);
        (0..count).map(|_| schedule.next_due_ns().expect("an open loop")).collect()
    }

    #[test]
    fn fixed_arrivals_do_not_drift() {
        let due = first(Arrival::Fixed { rate_per_s: 3.0 }, 3_000_001);
        assert_eq!(due[..4], [0, 333_333_333, 666_666_666, 1_000_000_000]);
        assert_eq!(due[3_000_000], 1_000_000 * 1_000_000_000);
    }

    #[test]
    fn poisson_arrivals_keep_the_mean_rate() {
        let due = first(Arrival::Poisson { rate_per_s: 1_000.0 }, 100_001);
        let rate_per_s = 100_000.0 * 1e9 / due[100_000] as f64;
        assert!((rate_per_s - 1_000.0).abs() < 10.0, "{rate_per_s}");
        assert!(due.is_sorted());
    }

    #[test]
    fn bursts_are_denser_and_their_mean_is_known() {
        let arrival = Arrival::Bursts {
            rate_per_s: 1_000.0,
            factor: 4.0,
            period_ns: 1_000_000_000,
            burst_ns: 250_000_000,
        };
        assert_eq!(arrival.rate_per_s(), Some(1_750.0));
        let due = first(arrival, 4_000);
        let in_second = |s: u64| due.iter().filter(|d| **d / 1_000_000_000 == s).count();
        assert!((1_745..1_755).contains(&in_second(0)), "{}", in_second(0));
        let dense = due.iter().filter(|d| **d <= 250_000_000).count();
        assert!((999..1_003).contains(&dense), "{dense}");
    }

    #[test]
    fn a_recording_repeats_with_its_mean_gap_and_its_speed() {
        let arrival = Arrival::Recorded { offsets_ns: vec![0, 10, 40], speed: 2.0 };
        assert_eq!(first(arrival.clone(), 5), [0, 5, 20, 30, 35]);
        assert_eq!(arrival.rate_per_s(), Some(3.0 * 1e9 * 2.0 / 60.0));
    }

    #[test]
    fn a_closed_loop_has_no_due_times() {
        let mut schedule = Schedule::new(Arrival::Closed { pause_ns: 50_000 }, 0);
        assert_eq!((schedule.next_due_ns(), schedule.pause_ns()), (None, 50_000));
    }
}
