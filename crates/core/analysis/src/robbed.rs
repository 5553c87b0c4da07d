//! Told by steal time and by the time of foreign programs, in the kernel too, on the CPU that
//! measures, with one threshold for every candidate, and never by latency: kernel workers, loop and
//! journal threads are a candidate's own cost, and a slow trial may be the truth.

use std::collections::BTreeMap;

use pickfs_record::{TrialRecord, record::Robbery};

/// CPUs that others may take while a trial measures: five per cent of one. One CPU is what
/// measures, so the bound does not grow with their number.
pub const ROBBED_SHARE: f64 = 0.05;

/// CPUs that were taken: 1.0 is all of one.
pub fn taken_share(robbery: &Robbery) -> f64 {
    let foreign = robbery.foreign_user_share.max(0.0) + robbery.foreign_system_share.max(0.0);
    let share = robbery.steal_share.max(0.0) + foreign;
    if share.is_finite() { share } else { 0.0 }
}

/// The foreign programs that took most in the disturbed ones of these trials, `rustc 0.9 CPUs, ld 0.3 CPUs`; nothing
/// where none is known: they have ended, or the host gave the CPU to another guest.
pub fn takers_text(trials: &[&TrialRecord]) -> Option<String> {
    let robbed: Vec<_> = trials.iter().filter(|trial| is_robbed(trial)).collect();
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    let takers = robbed.iter().filter_map(|trial| trial.robbery.as_ref()).flat_map(|r| &r.takers);
    takers.for_each(|(name, share)| *sums.entry(name).or_default() += share);
    let mut sums: Vec<(&str, f64)> = sums.into_iter().collect();
    sums.sort_by(|one, other| other.1.total_cmp(&one.1));
    let mean = |(name, sum): &(&str, f64)| format!("{name} {:.1} CPUs", sum / robbed.len() as f64);
    let told: Vec<String> = sums.iter().take(TAKERS_TOLD).map(mean).collect();
    (!told.is_empty()).then(|| told.join(", "))
}

const TAKERS_TOLD: usize = 3;

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
            ..Robbery::default()
        };
        assert!(taken_share(&robbery(0.03, 0.03)) > ROBBED_SHARE);
        assert!(taken_share(&robbery(0.03, 0.0)) < ROBBED_SHARE);
        let system = Robbery { foreign_system_share: 0.03, ..robbery(0.0, 0.03) };
        assert!(taken_share(&system) > ROBBED_SHARE, "the kernel for them counts as well");
        assert_eq!(taken_share(&robbery(f64::NAN, f64::NAN)), 0.0);
    }
}
