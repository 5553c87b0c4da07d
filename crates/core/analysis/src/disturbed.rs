//! Told by steal time and by the time of foreign programs, in the kernel too, on the CPU that
//! measures, with one threshold for every candidate, and never by latency: kernel workers, loop and
//! journal threads are a candidate's own cost, and a slow trial may be the truth.

use std::collections::BTreeMap;

use pickfs_record::{
    TrialRecord,
    record::{Disturbance, ON_OTHER_CPUS},
};

/// CPUs that others may take while a trial measures: five per cent of one. One CPU is what
/// measures, so the bound does not grow with their number.
pub const DISTURBED_SHARE: f64 = 0.05;

/// Bytes a second that others may move on the disk: the host's own logs and commits.
const DISK_BYTES_PER_S: f64 = 4e6;

/// CPUs that were taken: 1.0 is all of one.
pub fn taken_share(disturbance: &Disturbance) -> f64 {
    let foreign =
        disturbance.foreign_user_share.max(0.0) + disturbance.foreign_system_share.max(0.0);
    let share = disturbance.steal_share.max(0.0) + foreign;
    if share.is_finite() { share } else { 0.0 }
}

/// Who disturbed these trials, what they did, and the programs that took most, `rustc 0.9 CPUs, ld 0.3 CPUs`; none
/// where none is known, as they have ended, or where the host gave most of what was taken to other machines.
pub fn others(trials: &[&TrialRecord]) -> (&'static str, &'static str, Option<String>) {
    let found = trials.iter().filter(|trial| is_disturbed(trial));
    let found = found.filter_map(|trial| trial.disturbance.as_ref());
    let (by_cpu, by_disk): (Vec<_>, Vec<_>) =
        found.partition(|one| taken_share(one) > DISTURBED_SHARE);
    let is_disk = by_cpu.len() < by_disk.len();
    let disturbed = if is_disk { by_disk } else { by_cpu };
    let sum = |share: fn(&Disturbance) -> f64| disturbed.iter().map(|one| share(one)).sum::<f64>();
    if !is_disk && 2.0 * sum(|one| one.steal_share.max(0.0)) > sum(taken_share) {
        return ("other virtual machines", "took the CPU", None);
    }
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    let takers =
        disturbed.iter().flat_map(|one| if is_disk { &one.disk_takers } else { &one.takers });
    takers.for_each(|(name, share)| *sums.entry(name).or_default() += share);
    let mut sums: Vec<(&str, f64)> = sums.into_iter().collect();
    sums.sort_by(|one, other| other.1.total_cmp(&one.1));
    // Who took of the CPU that measures is to blame; who was busy beside it is told where nobody else is known.
    let is_elsewhere = |(name, _): &(&str, f64)| name.ends_with(ON_OTHER_CPUS);
    if !sums.iter().all(is_elsewhere) {
        sums.retain(|one| !is_elsewhere(one));
    }
    let (unit, word) = if is_disk { (1e6, "MB/s") } else { (1.0, "CPUs") };
    let means = sums.iter().map(|(name, sum)| (name, sum / unit / disturbed.len() as f64));
    // Whoever took what rounds to nothing is not to blame.
    let told = means.filter(|(_, mean)| *mean >= 0.05).take(TAKERS_TOLD);
    let told: Vec<String> = told.map(|(name, mean)| format!("{name} {mean:.1} {word}")).collect();
    let what = if is_disk { "used the disk" } else { "took the CPU" };
    ("other programs", what, (!told.is_empty()).then(|| told.join(", ")))
}

const TAKERS_TOLD: usize = 3;

/// Whether a CPU quota stopped the trial.
pub fn is_throttled(trial: &TrialRecord) -> bool {
    trial.disturbance.as_ref().is_some_and(|disturbance| disturbance.throttled > 0)
}

/// Whether the trial was disturbed; one without these readings was not.
pub fn is_disturbed(trial: &TrialRecord) -> bool {
    trial.disturbance.as_ref().is_some_and(|disturbance| {
        taken_share(disturbance) > DISTURBED_SHARE || is_disk_taken(disturbance)
    })
}

/// Whether others moved more of the disk than a few log files do.
pub fn is_disk_taken(disturbance: &Disturbance) -> bool {
    disturbance.disk_foreign_bytes_per_s > DISK_BYTES_PER_S
        && disturbance.disk_foreign_share > DISTURBED_SHARE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(disturbance: Option<Disturbance>) -> TrialRecord {
        let run = pickfs_testkit::fake_run(&pickfs_testkit::FakeRun::default());
        TrialRecord { disturbance, ..run.trials[0].clone() }
    }

    #[test]
    fn a_disk_is_taken_by_rate_and_by_share_and_its_users_are_named() {
        let mut trial = trial(None);
        let mut is_taken = |disk_foreign_bytes_per_s, disk_foreign_share| {
            trial.disturbance = Some(Disturbance {
                disk_foreign_bytes_per_s,
                disk_foreign_share,
                disk_takers: vec![("cp".into(), disk_foreign_bytes_per_s)],
                takers: vec![("sh".into(), 0.02)],
                ..Disturbance::default()
            });
            is_disturbed(&trial)
        };
        assert!(!is_taken(1e6, 0.9) && !is_taken(9e6, 0.01), "logs of the host; next to nothing");
        assert!(is_taken(8e7, 0.6));
        let told = ("other programs", "used the disk", Some("cp 80.0 MB/s".into()));
        assert_eq!(others(&[&trial]), told);
    }

    #[test]
    fn what_a_program_took_is_its_mean_over_the_trials_that_were_disturbed_so() {
        let mut disk = Disturbance { disk_foreign_bytes_per_s: 8e7, ..Disturbance::default() };
        disk.disk_foreign_share = 0.6;
        let takers = vec![("sh".into(), 0.8)];
        let cpu = Disturbance { foreign_user_share: 0.8, takers, ..Disturbance::default() };
        assert_eq!(
            others(&[&trial(Some(cpu)), &trial(Some(disk))]),
            ("other programs", "took the CPU", Some("sh 0.8 CPUs".into()))
        );
        let takers = vec![("sh".into(), 0.1)];
        let (steal_share, foreign_user_share) = (0.2, 0.1);
        let host =
            Disturbance { steal_share, foreign_user_share, takers, ..Disturbance::default() };
        let told = others(&[&trial(Some(host))]);
        assert_eq!(told, ("other virtual machines", "took the CPU", None), "sh took less");
    }

    #[test]
    fn a_program_on_another_cpu_is_not_blamed_for_what_was_taken_of_this_one() {
        let mut trial = trial(None);
        let rustc = format!("rustc{ON_OTHER_CPUS}");
        let mut named = |takers: &[(&str, f64)]| {
            trial.disturbance = Some(Disturbance {
                foreign_user_share: 0.2,
                takers: takers.iter().map(|(name, cpus)| ((*name).into(), *cpus)).collect(),
                ..Disturbance::default()
            });
            others(&[&trial]).2
        };
        assert_eq!(named(&[("sh", 0.2), (&rustc, 1.4)]), Some("sh 0.2 CPUs".into()));
        assert_eq!(named(&[("sh", 0.2), ("ld", 0.04)]), Some("sh 0.2 CPUs".into()));
        assert_eq!(named(&[("ld", 0.04)]), None);
        assert_eq!(named(&[(&rustc, 1.4)]), Some("rustc (on other CPUs) 1.4 CPUs".into()));
    }

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
