//! One list serves both: the lab flags a trial with [`doubts`] as it ends, and old runs
//! are judged again by today's thresholds.

use pickfs_record::{
    BackingKind, Metric, OpRecord, Outcome, RunRecord, TrialRecord,
    finding::Notice,
    quantity::duration_text,
    record::{Flag, LoadRecord},
    trial::WITH_FINAL_SYNC,
};

use crate::{disturbed, gates, steady, summary::measured_s};

pub const RATE_MISSED_SHARE: f64 = 0.01;
pub const KINDS: [&str; 14] = [
    "disturbed",
    "throttled",
    "rate-missed",
    "not-steady",
    "period-not-covered",
    "holes",
    "not-direct",
    "overflow",
    "settle-timeout",
    "raw-out-of-band",
    "not-cold",
    "not-hot",
    "late-start",
    "clock-loose",
];
/// Of a failed trial: what was acknowledged was not there for another host. Such a candidate is never ahead.
pub const RECORDS_LOST: &str = "records-lost";
/// Lanes on several hosts that begin farther apart than this measure different things.
const START_SKEW_NS: u64 = 10_000_000;
/// Clocks of hosts that may be farther apart than this tell no order of what happened on two of them.
const CLOCK_ERROR_NS: u64 = 1_000_000;
/// Trial environment key with the longest period in force, in seconds (rule 2).
pub const LONGEST_PERIOD_KEY: &str = "period.longest_s";

/// Every doubt about a trial, each kind once; a stored flag's words come first.
pub fn doubts(trial: &TrialRecord) -> Vec<Flag> {
    let mut flags = trial.flags.clone();
    if trial.outcome != Outcome::Finished {
        return flags;
    }
    for (kind, text) in raised(trial) {
        if flags.iter().all(|flag| flag.kind != kind) {
            flags.push(Flag { kind: kind.into(), text });
        }
    }
    flags
}

/// The doubts of a trial that concern a metric: an operation that was not steady concerns itself alone, and cold what was
/// read. A call with its share of a final sync has no seconds: those of the call count.
pub fn doubts_on(trial: &TrialRecord, metric: &Metric) -> Vec<Flag> {
    let call = |op: &str| trial.op(op.strip_suffix(WITH_FINAL_SYNC).unwrap_or(op));
    let own = metric.ops().find_map(call);
    let concerned = |flag: Flag| {
        let text = match own {
            Some(own) if flag.kind == "not-steady" => unsteady_text(own)?,
            _ => flag.text.clone(),
        };
        gates::concerns(&flag.kind, metric).then_some(Flag { text, ..flag })
    };
    doubts(trial).into_iter().filter_map(concerned).collect()
}

fn raised(trial: &TrialRecord) -> Vec<(&'static str, String)> {
    let load = trial.load.as_ref();
    let raised = [
        ("disturbed", disturbed_text(trial)),
        ("throttled", throttled_text(trial)),
        ("rate-missed", load.and_then(rate_missed_text)),
        ("not-steady", steady_text(trial)),
        ("period-not-covered", period_text(trial)),
        ("holes", holes_text(trial)),
        ("not-direct", direct_text(trial)),
        ("overflow", overflow_text(trial)),
        ("late-start", start_text(trial)),
        ("clock-loose", clock_text(trial)),
    ];
    raised.into_iter().filter_map(|(kind, text)| Some((kind, text?))).collect()
}

fn percent(share: f64) -> String {
    format!("{} %", pickfs_record::quantity::significant(100.0 * share))
}

fn disturbed_text(trial: &TrialRecord) -> Option<String> {
    let found = trial.disturbance.as_ref().filter(|_| disturbed::is_disturbed(trial))?;
    if disturbed::taken_share(found) <= disturbed::DISTURBED_SHARE {
        let rate = found.disk_foreign_bytes_per_s / 1e6;
        let share = percent(found.disk_foreign_share);
        return Some(format!(
            "others moved {rate:.1} MB/s on the disk, {share} of all that it moved"
        ));
    }
    Some(format!(
        "others took {} of a CPU (steal {}, foreign programs {}, the kernel for them {})",
        percent(disturbed::taken_share(found)),
        percent(found.steal_share),
        percent(found.foreign_user_share),
        percent(found.foreign_system_share)
    ))
}

fn throttled_text(trial: &TrialRecord) -> Option<String> {
    let times = trial.disturbance.as_ref().map_or(0, |disturbance| disturbance.throttled);
    (times > 0).then(|| format!("a CPU quota stopped pickfs in {times} periods"))
}

/// Share of the asked rate that was missed, in [0, 1]; absent in a closed loop.
pub fn rate_missed_share(load: &LoadRecord) -> Option<f64> {
    let asked = load.asked_per_s.filter(|asked| asked.is_finite() && *asked > 0.0)?;
    Some((1.0 - load.achieved_per_s / asked).clamp(0.0, 1.0))
}

fn rate_missed_text(load: &LoadRecord) -> Option<String> {
    let missed = rate_missed_share(load).filter(|missed| *missed > RATE_MISSED_SHARE)?;
    let rate = |value: f64| pickfs_record::quantity::significant(value);
    Some(format!(
        "{} of {}/s asked were held ({} missed)",
        rate(load.achieved_per_s),
        rate(load.asked_per_s.unwrap_or(0.0)),
        percent(missed)
    ))
}

fn steady_text(trial: &TrialRecord) -> Option<String> {
    // A phase is done once from its start to its end: its course is the result.
    let looped = trial.ops.iter().filter(|_| trial.phases.is_empty());
    looped.into_iter().find_map(unsteady_text)
}

fn unsteady_text(op: &OpRecord) -> Option<String> {
    let ratio =
        steady::thirds_ratio(&op.intervals).filter(|_| steady::is_unsteady(&op.intervals))?;
    Some(format!("{}: the last third ran at {ratio:.2} times the median of the first", op.op))
}

/// A trial of phases has no time of its own: the lab judges each of them. Of a whole program only tails are judged, by
/// their gate.
fn period_text(trial: &TrialRecord) -> Option<String> {
    let is_judged = trial.phases.is_empty() && trial.figures.is_empty() && is_short(trial);
    let (period_s, measured_s) = (longest_period_s(trial)?, measured_s(trial));
    is_judged.then(|| {
        format!("periodic work of {period_s:.0} s is not covered by {measured_s:.0} s trials")
    })
}

fn longest_period_s(trial: &TrialRecord) -> Option<f64> {
    trial.environment.get(LONGEST_PERIOD_KEY)?.parse().ok()
}

/// Whether it measured for less than two of the longest period in force.
pub fn is_short(trial: &TrialRecord) -> bool {
    longest_period_s(trial).is_some_and(|period_s| measured_s(trial) < 2.0 * period_s)
}

fn holes_text(trial: &TrialRecord) -> Option<String> {
    let image = trial.image.as_ref()?;
    let holes = image.holes_before_bytes.max(image.holes_after_bytes);
    let text = pickfs_record::quantity::bytes_text(holes);
    (holes > 0).then(|| format!("{text} of the image were unwritten or missing"))
}

fn direct_text(trial: &TrialRecord) -> Option<String> {
    let image = trial.image.as_ref().filter(|_| trial.backing == BackingKind::LoopImage)?;
    (!image.direct_io).then(|| "the loop device did not use direct I/O".to_string())
}

fn overflow_text(trial: &TrialRecord) -> Option<String> {
    let operations: u64 = trial.ops.iter().map(|op| op.service.overflow).sum();
    (operations > 0)
        .then(|| format!("{operations} operations were longer than the histogram holds"))
}

fn start_text(trial: &TrialRecord) -> Option<String> {
    let last = trial.hosts.iter().max_by_key(|host| host.start_skew_ns)?;
    let skew = duration_text(last.start_skew_ns as f64);
    (last.start_skew_ns > START_SKEW_NS)
        .then(|| format!("{} began {skew} after the first host", last.name))
}

fn clock_text(trial: &TrialRecord) -> Option<String> {
    let loosest = trial.hosts.iter().max_by_key(|host| host.clock_error_ns())?;
    let error = duration_text(loosest.clock_error_ns() as f64);
    (loosest.clock_error_ns() > CLOCK_ERROR_NS)
        .then(|| format!("the clock of {} is known to {error} only", loosest.name))
}

/// Doubts over the run, one notice per kind: the number of its trials, and the words
/// of the first of them.
pub fn notices(run: &RunRecord) -> Vec<Notice> {
    let mut notices: Vec<Notice> = Vec::new();
    for flag in run.trials.iter().flat_map(doubts) {
        match notices.iter_mut().find(|notice| notice.kind == flag.kind) {
            Some(notice) => notice.trials += 1,
            None => notices.push(Notice { kind: flag.kind, text: flag.text, trials: 1 }),
        }
    }
    let repeated = run.trials.iter().filter(|trial| trial.attempt > 1).count();
    if let Some(notice) = notices.iter_mut().find(|n| n.kind == "disturbed" && repeated > 0) {
        notice.text.push_str(&format!("; repeated once more: {repeated}, both attempts are kept"));
    }
    notices
}

#[cfg(test)]
mod tests {
    use super::*;
    use pickfs_record::{plan::Statistic, record::HostShare};
    use pickfs_testkit::{FakeRun, Mishap, MishapKind, fake_run};

    fn kinds(kind: MishapKind) -> Vec<(String, u32)> {
        let mishaps = vec![Mishap::new("xfs:noatime", "none", 2, kind)];
        let run = fake_run(&FakeRun { mishaps, ..FakeRun::default() });
        notices(&run).into_iter().map(|notice| (notice.kind, notice.trials)).collect()
    }

    #[test]
    fn each_mishap_raises_its_own_doubt_once() {
        for (mishap, kind) in [
            (MishapKind::Throttled(3), "throttled"),
            (MishapKind::RateMissed(0.98), "rate-missed"),
            (MishapKind::Unsteady(1.5), "not-steady"),
            (MishapKind::Disturbed(1.2), "disturbed"),
            (MishapKind::Flagged("not-cold".into(), "3 % warm".into()), "not-cold"),
        ] {
            assert_eq!(kinds(mishap), [(kind.to_string(), 1)]);
        }
        assert!(kinds(MishapKind::RateMissed(0.995)).is_empty());
    }

    #[test]
    fn an_operation_that_was_not_steady_concerns_itself_and_its_share_of_a_sync_alone() {
        let mishaps = vec![Mishap::new("xfs:noatime", "none", 2, MishapKind::Unsteady(1.5))];
        let run = fake_run(&FakeRun { mishaps, ..FakeRun::default() });
        let mut trials = run.trials.into_iter();
        let mut trial = trials.find(|one| !doubts(one).is_empty()).expect("one trial");
        let append = trial.op("append").expect("an operation").clone();
        let steady = |op: &str| OpRecord { op: op.into(), intervals: Vec::new(), ..append.clone() };
        trial.ops = vec![append.clone(), steady("append with final sync"), steady("roll")];
        let of = |op: &str| doubts_on(&trial, &Metric::new(op, Statistic::Quantile(0.5))).len();
        assert_eq!(["append", "append with final sync", "roll"].map(of), [1, 1, 0]);
    }

    #[test]
    fn hosts_that_begin_late_or_have_loose_clocks_are_named() {
        let mut run = fake_run(&FakeRun::default());
        let host = |name: &str, offset_ns_max, start_skew_ns| HostShare {
            name: name.into(),
            offset_ns_max,
            start_skew_ns,
            ..HostShare::default()
        };
        run.trials[0].hosts = vec![host("h1", 0, 0), host("h2", 9_000, 90_000)];
        assert!(notices(&run).is_empty());
        run.trials[0].hosts = vec![host("h1", 3_000_000, 0), host("h2", 9_000, 90_000_000)];
        let texts: Vec<String> = notices(&run).into_iter().map(|notice| notice.text).collect();
        assert_eq!(
            texts,
            ["h2 began 90.0 ms after the first host", "the clock of h1 is known to 1.50 ms only"]
        );
    }

    #[test]
    fn a_period_longer_than_half_the_trial_is_not_covered() {
        let mut run = fake_run(&FakeRun::default());
        run.trials[0].environment.put(LONGEST_PERIOD_KEY, 30);
        run.trials[1].environment.put(LONGEST_PERIOD_KEY, 4);
        let notices = notices(&run);
        assert_eq!(notices.len(), 1);
        assert_eq!(notices[0].text, "periodic work of 30 s is not covered by 8 s trials");
    }
}
