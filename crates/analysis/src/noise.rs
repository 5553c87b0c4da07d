//! The noise row: the raw device over the run (rule 4).

use pickfs_model::{BackingKind, RunRecord, finding::NoiseRow, record::RawProbe};

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
    let width = (p50_ns.high - p50_ns.low) / 2.0 / p50_ns.median;
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

    #[test]
    fn half_width_is_half_the_spread_over_the_median() {
        let probe =
            |p50_ns| RawProbe { count: 9, p50_ns, p99_ns: 2 * p50_ns, ..RawProbe::default() };
        let probes = [probe(90), probe(100), probe(114)];
        let row = row(BackingKind::LoopImage, &probes.iter().collect::<Vec<_>>());
        assert_eq!((row.probes, row.p50_ns.median, row.half_width), (3, 100.0, 0.12));
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
