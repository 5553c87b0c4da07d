//! None of them looks at how fast the candidate was.

use pickfs_analysis::summary::belongs_to;
use pickfs_candidate::fs::Period;
use pickfs_record::{
    TrialRecord,
    quantity::{bytes_text, duration_text},
    record::{Flag, RawProbe},
};

/// A trial shorter than this many periods has not seen periodic work (validity rule 2).
pub const PERIODS_MIN: f64 = 2.0;

/// Of a loop that the clock ended after `measured_s`; of phases each by its own time: those whose operations
/// may show a tail, which are the ones with repeated operations.
pub fn periods(record: &mut TrialRecord, periods: &[Period], measured_s: Option<f64>) {
    let longest = periods.iter().max_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let Some(longest) = longest else { return };
    record.environment.put("period.longest_s", longest.seconds);
    record.environment.put("period.longest", &longest.what);
    if let Some(text) = measured_s.and_then(|measured_s| too_short(longest, measured_s)) {
        flag(record, "period-not-covered", text);
    }
    let TrialRecord { phases, ops, .. } = record;
    for phase in phases.iter_mut().filter(|phase| phase.is_finished() && !phase.is_derived) {
        let has_operations = ops.iter().any(|op| belongs_to(&op.op, &phase.phase));
        let Some(text) = too_short(longest, phase.elapsed_ns as f64 / 1e9) else { continue };
        if has_operations {
            phase.flags.push(Flag { kind: "period-not-covered".into(), text });
        }
    }
}

fn too_short(longest: &Period, measured_s: f64) -> Option<String> {
    (measured_s < PERIODS_MIN * longest.seconds).then(|| {
        let measured = match measured_s {
            1.0.. => format!("{measured_s:.1} s"),
            _ => duration_text(measured_s * 1e9),
        };
        format!(
            "{measured} do not cover periodic work: {} every {:.0} s (two periods are needed)",
            longest.what, longest.seconds
        )
    })
}

pub fn raw_band(record: &mut TrialRecord, raw: &RawProbe, usual_ns: Option<u64>, in_band: bool) {
    let Some(usual_ns) = usual_ns.filter(|_| !in_band) else { return };
    let text = format!(
        "raw write + flush took {} at the median, usually {}",
        duration_text(raw.p50_ns as f64),
        duration_text(usual_ns as f64)
    );
    flag(record, "raw-out-of-band", text);
}

/// Everything that shows only when the trial is over: the wait before it, and what its
/// numbers say to `analysis`.
pub fn after(record: &mut TrialRecord) {
    if let Some(settle) = record.settle.filter(|settle| settle.timed_out) {
        let text = format!(
            "{} still dirty after a wait of {:.1} s",
            bytes_text(settle.dirty_bytes),
            settle.waited_s
        );
        flag(record, "settle-timeout", text);
    }
    cache_state(record);
    record.flags = pickfs_analysis::doubts::doubts(record);
}

/// Hot files that were not all in memory, and cold reads that were (validity rule 14).
fn cache_state(record: &mut TrialRecord) {
    let count = |name: &str| record.counts.get(name).copied();
    let hot = [count("hot_share_before"), count("hot_share_after")];
    let hot_share = hot.into_iter().flatten().fold(1.0, f64::min);
    let warm_reads = count("reads_not_cold").unwrap_or(0.0);
    if hot_share < 1.0 {
        let text = format!("only {:.1} % of the next file was in memory", hot_share * 100.0);
        flag(record, "not-hot", text);
    }
    if warm_reads > 0.0 {
        flag(record, "not-cold", format!("{warm_reads:.0} cold reads found their data in memory"));
    }
}

fn flag(record: &mut TrialRecord, kind: &str, text: String) {
    record.flags.push(Flag { kind: kind.into(), text });
}

#[cfg(test)]
mod tests {
    use pickfs_record::{
        PhaseRecord,
        record::{ImageRecord, SettleRecord},
    };
    use pickfs_testkit::{FakePhasedRun, FakeRun, fake_phased_run, fake_run};

    use super::*;

    fn clean() -> TrialRecord {
        let run = fake_run(&FakeRun { blocks: 1, ..FakeRun::default() });
        let mut record = run.trials.into_iter().find(|t| t.image.is_some()).expect("an image");
        record.flags.clear();
        let load = record.load.as_mut().expect("a load");
        (load.late_driver, load.arrivals, load.asked_per_s) = (0, 10_000, Some(1_000.0));
        load.achieved_per_s = 1_000.0;
        record
    }

    fn kinds(mut record: TrialRecord) -> Vec<String> {
        after(&mut record);
        record.flags.into_iter().map(|flag| flag.kind).collect()
    }

    fn period(what: &str, seconds: f64) -> Period {
        Period { what: what.into(), seconds }
    }

    #[test]
    fn a_clean_trial_raises_no_doubt() {
        assert_eq!(kinds(clean()), Vec::<String>::new());
    }

    #[test]
    fn what_the_numbers_say_and_a_wait_that_timed_out_are_told() {
        let mut record = clean();
        record.load.as_mut().expect("a load").achieved_per_s = 980.0;
        record.image =
            Some(ImageRecord { direct_io: false, holes_after_bytes: 4096, ..Default::default() });
        record.backing = pickfs_record::BackingKind::LoopImage;
        record.settle = Some(SettleRecord { timed_out: true, ..Default::default() });
        assert_eq!(kinds(record), ["settle-timeout", "rate-missed", "holes", "not-direct"]);
    }

    #[test]
    fn hot_and_cold_are_checked_by_what_was_counted() {
        let mut record = clean();
        record.counts.insert("hot_share_before".into(), 1.0);
        record.counts.insert("hot_share_after".into(), 0.52);
        record.counts.insert("reads_not_cold".into(), 3.0);
        assert_eq!(kinds(record), ["not-hot", "not-cold"]);
    }

    #[test]
    fn a_trial_must_cover_two_periods() {
        let mut record = clean();
        let commit = [period("btrfs commit", 30.0), period("expiry", 5.0)];
        periods(&mut record, &commit, Some(61.0));
        assert!(record.flags.is_empty());
        periods(&mut record, &commit, Some(8.0));
        let text =
            "8.0 s do not cover periodic work: btrfs commit every 30 s (two periods are needed)";
        assert_eq!(record.flags[0].text, text);
        let short = too_short(&commit[0], 0.012).unwrap_or_default();
        assert!(short.starts_with("12.0 ms do not cover"), "{short}");
    }

    #[test]
    fn each_phase_with_operations_must_cover_two_periods_by_itself() {
        let mut run = fake_phased_run(&FakePhasedRun { blocks: 1, ..FakePhasedRun::files() });
        let mut record = run.trials.remove(0);
        record.phases.iter_mut().for_each(|phase| phase.elapsed_ns = 70_000_000_000);
        let op = record.ops[0].op.clone();
        let of_op = |phase: &PhaseRecord| belongs_to(&op, &phase.phase);
        let at = record.phases.iter().position(of_op).expect("a phase with operations");
        record.phases[at].elapsed_ns = 20_000_000_000;
        let mute = PhaseRecord { elapsed_ns: 1, ..PhaseRecord::named("one call") };
        record.phases.push(mute);
        periods(&mut record, &[period("btrfs commit", 30.0)], None);
        let flagged: Vec<&PhaseRecord> = record
            .phases
            .iter()
            .filter(|phase| phase.flags.iter().any(|flag| flag.kind == "period-not-covered"))
            .collect();
        assert_eq!(flagged.len(), 1, "{flagged:?}");
        assert_eq!(flagged[0].phase, record.phases[at].phase);
        after(&mut record);
        assert!(record.flags.iter().all(|flag| flag.kind != "period-not-covered"));
    }
}
