//! Told by steal time and by the time of foreign programs, in the kernel too, on the CPU that
//! measures, with one threshold for every candidate, and never by latency: kernel workers, loop and
//! journal threads are a candidate's own cost, and a slow trial may be the truth.

use std::collections::BTreeMap;

use pickfs_record::{TrialRecord, record::Disturbance};

/// CPUs that others may take while a trial measures: five per cent of one. One CPU is what
/// measures, so the bound does not grow with their number.
pub const DISTURBED_SHARE: f64 = 0.05;

/// CPUs that were taken: 1.0 is all of one.
pub fn taken_share(disturbance: &Disturbance) -> f64 {
    let foreign =
        disturbance.foreign_user_share.max(0.0) + disturbance.foreign_system_share.max(0.0);
    let share = disturbance.steal_share.max(0.0) + foreign;
    if share.is_finite() { share } else { 0.0 }
}

/// The foreign programs that took most in the disturbed ones of these trials, `rustc 0.9 CPUs, ld 0.3 CPUs`; nothing
/// where none is known: they have ended, or the host gave the CPU to another guest.
pub fn takers_text(trials: &[&TrialRecord]) -> Option<String> {
    let disturbed: Vec<_> = trials.iter().filter(|trial| is_disturbed(trial)).collect();
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    let takers =
        disturbed.iter().filter_map(|trial| trial.disturbance.as_ref()).flat_map(|r| &r.takers);
    takers.for_each(|(name, share)| *sums.entry(name).or_default() += share);
    let mut sums: Vec<(&str, f64)> = sums.into_iter().collect();
    sums.sort_by(|one, other| other.1.total_cmp(&one.1));
    let mean =
        |(name, sum): &(&str, f64)| format!("{name} {:.1} CPUs", sum / disturbed.len() as f64);
    let told: Vec<String> = sums.iter().take(TAKERS_TOLD).map(mean).collect();
    (!told.is_empty()).then(|| told.join(", "))
}

const TAKERS_TOLD: usize = 3;

/// Whether a CPU quota stopped the trial.
pub fn is_throttled(trial: &TrialRecord) -> bool {
    trial.disturbance.as_ref().is_some_and(|disturbance| disturbance.throttled > 0)
}

/// Whether the trial was disturbed; one without these readings was not.
pub fn is_disturbed(trial: &TrialRecord) -> bool {
    trial.disturbance.as_ref().is_some_and(|disturbance| taken_share(disturbance) > DISTURBED_SHARE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_and_foreign_programs_count_together() {
        let disturbance = |steal_share, foreign_user_share| Disturbance {
            steal_share,
            foreign_user_share,
            ..Disturbance::default()
        };
        assert!(taken_share(&disturbance(0.03, 0.03)) > DISTURBED_SHARE);
        assert!(taken_share(&disturbance(0.03, 0.0)) < DISTURBED_SHARE);
        let system = Disturbance { foreign_system_share: 0.03, ..disturbance(0.0, 0.03) };
        assert!(taken_share(&system) > DISTURBED_SHARE, "the kernel for them counts as well");
        assert_eq!(taken_share(&disturbance(f64::NAN, f64::NAN)), 0.0);
    }
}
