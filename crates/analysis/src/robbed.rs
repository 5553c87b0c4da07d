//! Robbed trials: others took the processor while the trial measured (rule 10).
//!
//! Told by steal time and by user time of foreign programs alone, with one
//! threshold for every candidate, and never by latency: kernel workers, loop and
//! journal threads are a candidate's own cost, and a slow trial may be the truth.

use pickfs_model::{TrialRecord, record::Robbery};

/// CPUs that others may take while a trial measures: five per cent of one. One CPU is what
/// measures, so the bound does not grow with their number.
pub const ROBBED_SHARE: f64 = 0.05;

/// CPUs that were taken: 1.0 is all of one.
pub fn taken_share(robbery: &Robbery) -> f64 {
    let share = robbery.steal_share.max(0.0) + robbery.foreign_user_share.max(0.0);
    if share.is_finite() { share } else { 0.0 }
}

/// Whether the trial was robbed; one without these readings was not.
pub fn is_robbed(trial: &TrialRecord) -> bool {
    trial.robbery.as_ref().is_some_and(|robbery| taken_share(robbery) > ROBBED_SHARE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_and_foreign_programs_count_together() {
        let robbery = |steal_share, foreign_user_share| Robbery {
            steal_share,
            foreign_user_share,
            seconds: Vec::new(),
        };
        assert!(taken_share(&robbery(0.03, 0.03)) > ROBBED_SHARE);
        assert!(taken_share(&robbery(0.03, 0.0)) < ROBBED_SHARE);
        assert_eq!(taken_share(&robbery(f64::NAN, f64::NAN)), 0.0);
    }
}
