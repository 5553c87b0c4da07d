use pickfs_record::{BackingKind, RunRecord, finding::NoiseRow, record::RawProbe};

use crate::summary::spread;

/// One row per backing that was probed; none for several directories, as their disks may differ.
pub fn rows(run: &RunRecord) -> Vec<NoiseRow> {
    if run.plan.backing.directories().len() > 1 {
        return Vec::new();
    }
    let mut probed: Vec<(BackingKind, Vec<&RawProbe>)> = Vec::new();
    for trial in &run.trials {
        let Some(raw) = trial.raw.as_ref().filter(|raw| raw.count > 0) else { continue };
        match probed.iter_mut().find(|(backing, _)| *backing == trial.backing) {
            Some((_, probes)) => probes.push(raw),
            None => probed.push((trial.backing, vec![raw])),
        }
    }
    probed.into_iter().map(|(backing, probes)| row(backing, &probes)).collect()
}

fn row(backing: BackingKind, probes: &[&RawProbe]) -> NoiseRow {
    let over = |number: fn(&RawProbe) -> u64| {
        spread(&probes.iter().map(|probe| number(probe) as f64).collect::<Vec<_>>())
    };
    let p50_ns = over(|probe| probe.p50_ns);
    let mut medians: Vec<u64> = probes.iter().map(|probe| probe.p50_ns).collect();
    medians.sort_unstable();
    let quarter = |quarters: usize| medians[quarters * (medians.len() - 1) / 4] as f64;
    let width = (quarter(3) - quarter(1)) / 2.0 / p50_ns.median;
    NoiseRow {
        backing,
        probes: probes.len() as u32,
        p50_ns,
        p99_ns: over(|probe| probe.p99_ns),
        half_width: if width.is_finite() { width } else { 0.0 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pickfs_testkit::{FakeRun, fake_run};

    /// One outlier among them moves it little, and twice as many probes not at all.
    #[test]
    fn half_width_is_half_the_spread_of_the_middle_half_over_the_median() {
        let probe =
            |p50_ns| RawProbe { count: 9, p50_ns, p99_ns: 2 * p50_ns, ..RawProbe::default() };
        let of = |times: usize| {
            let all = [80, 88, 100, 112, 9_000].repeat(times);
            let probes: Vec<RawProbe> = all.into_iter().map(probe).collect();
            row(BackingKind::LoopImage, &probes.iter().collect::<Vec<_>>())
        };
        for times in [1, 2, 20] {
            let row = of(times);
            assert_eq!((row.probes as usize, row.p50_ns.median), (5 * times, 100.0));
            assert_eq!((row.half_width, row.p50_ns.high), (0.12, 9_000.0));
        }
    }

    #[test]
    fn memory_has_no_row_and_a_run_without_probes_none_at_all() {
        let mut run = fake_run(&FakeRun::default());
        let found = rows(&run);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].backing, found[0].probes), (BackingKind::LoopImage, 5 * 6));
        run.trials.iter_mut().for_each(|trial| trial.raw = None);
        assert!(rows(&run).is_empty());
    }
}
