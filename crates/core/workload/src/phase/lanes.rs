use std::collections::BTreeMap;

use pickfs_record::{
    Outcome, PhaseRecord,
    record::{Flag, OpRecord},
};

/// Rates, work, bytes and CPU are added up; elapsed time is the slowest lane's; counted facts are
/// added up unless they are shares, factors, limits, sizes of one thing or maxima (see
/// [`is_common`]).
pub fn merged_phases(lanes: &[Vec<PhaseRecord>]) -> Vec<PhaseRecord> {
    let of = |name: &str| -> Vec<&PhaseRecord> {
        let same = |phase: &&PhaseRecord| phase.phase == name;
        lanes.iter().filter_map(|phases| phases.iter().find(same)).collect()
    };
    let mut names: Vec<&str> = Vec::new();
    for phase in lanes.iter().flatten() {
        if !names.contains(&phase.phase.as_str()) {
            names.push(&phase.phase);
        }
    }
    names.into_iter().map(|name| merged(&of(name))).collect()
}

fn merged(lanes: &[&PhaseRecord]) -> PhaseRecord {
    let finished = lanes.iter().filter(|lane| lane.is_finished());
    let mut starts_ns: Vec<u64> = finished.map(|lane| lane.began_ns).collect();
    starts_ns.sort_unstable();
    let after_first_ns =
        |at: usize| starts_ns.get(at).map_or(0, |start_ns| start_ns - starts_ns[0]);
    let sum = |of: fn(&PhaseRecord) -> u64| lanes.iter().map(|lane| of(lane)).sum::<u64>();
    let most = |of: fn(&PhaseRecord) -> u64| lanes.iter().map(|lane| of(lane)).max().unwrap_or(0);
    PhaseRecord {
        work: lanes.iter().map(|lane| lane.work).sum(),
        real_bytes: sum(|lane| lane.real_bytes),
        rate_per_s: lanes.iter().map(|lane| lane.rate_per_s).sum(),
        elapsed_ns: most(|lane| lane.elapsed_ns),
        elapsed_mean_ns: sum(|lane| lane.elapsed_ns) / starts_ns.len().max(1) as u64,
        began_ns: lanes.iter().map(|lane| lane.began_ns).min().unwrap_or(0),
        ended_ns: most(|lane| lane.ended_ns),
        waited_before_ns: most(|lane| lane.waited_before_ns),
        waited_after_ns: most(|lane| lane.waited_after_ns),
        start_skew_ns: after_first_ns(starts_ns.len().saturating_sub(1)),
        start_skew_p50_ns: after_first_ns(starts_ns.len() / 2),
        lanes: lanes.len() as u32,
        cpu_user_ns: sum(|lane| lane.cpu_user_ns),
        cpu_system_ns: sum(|lane| lane.cpu_system_ns),
        outcome: outcome(lanes),
        flags: flags(lanes),
        values: values(lanes),
        ..lanes[0].clone()
    }
}

/// One lane that did not finish is the phase's outcome, a failure before a skip.
fn outcome(records: &[&PhaseRecord]) -> Outcome {
    let failed = |record: &&&PhaseRecord| matches!(record.outcome, Outcome::Failed { .. });
    let unfinished =
        records.iter().find(failed).or_else(|| records.iter().find(|record| !record.is_finished()));
    unfinished.map_or(Outcome::Finished, |record| record.outcome.clone())
}

/// One flag of each kind: the first lane's words, with the number of lanes.
fn flags(records: &[&PhaseRecord]) -> Vec<Flag> {
    let mut by_kind: BTreeMap<&str, (&Flag, usize)> = BTreeMap::new();
    for flag in records.iter().flat_map(|record| &record.flags) {
        by_kind.entry(&flag.kind).or_insert((flag, 0)).1 += 1;
    }
    let told = |(flag, lanes): (&Flag, usize)| match records.len() {
        1 => flag.clone(),
        all => Flag {
            kind: flag.kind.clone(),
            text: format!("{} ({lanes} of {all} lanes)", flag.text),
        },
    };
    by_kind.into_values().map(told).collect()
}

fn values(records: &[&PhaseRecord]) -> BTreeMap<String, f64> {
    let mut sums: BTreeMap<String, (f64, usize)> = BTreeMap::new();
    for (name, value) in records.iter().flat_map(|record| &record.values) {
        let entry = sums.entry(name.clone()).or_insert((0.0, 0));
        entry.1 += 1;
        entry.0 = match is_maximum(name) {
            true => entry.0.max(*value),
            false => entry.0 + value,
        };
    }
    let mean = |(name, (sum, lanes)): (String, (f64, usize))| {
        let value = if is_common(&name) { sum / lanes as f64 } else { sum };
        (name, value)
    };
    sums.into_iter().map(mean).collect()
}

fn is_maximum(name: &str) -> bool {
    name.ends_with("_max") || name.contains("_max_")
}

/// Whether a counted fact is the same thing in every lane, so that its mean over the lanes counts:
/// shares, factors, percentages, limits, settings in KiB, thresholds.
pub(crate) fn is_common(name: &str) -> bool {
    const ENDS: &[&str] = &["_share", "_factor", "_percent", "_limit_bytes", "_kb", "_setting"];
    !is_maximum(name) && ENDS.iter().any(|end| name.ends_with(end))
}

pub fn merged_ops(lanes: Vec<Vec<OpRecord>>, spikes_max: usize) -> Result<Vec<OpRecord>, String> {
    let mut order: Vec<String> = Vec::new();
    let mut by_op: BTreeMap<String, Vec<OpRecord>> = BTreeMap::new();
    for op in lanes.into_iter().flatten() {
        if !by_op.contains_key(&op.op) {
            order.push(op.op.clone());
        }
        by_op.entry(op.op.clone()).or_default().push(op);
    }
    let parts = order.iter().map(|name| by_op.remove(name).unwrap_or_default());
    parts.map(|parts| OpRecord::merged(parts, spikes_max)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(began_ns: u64, elapsed_ns: u64, work: f64) -> Vec<PhaseRecord> {
        vec![PhaseRecord {
            began_ns,
            ended_ns: began_ns + elapsed_ns,
            work,
            rate_per_s: work * 1e9 / elapsed_ns as f64,
            elapsed_ns,
            values: BTreeMap::from([
                ("disk_bytes".to_string(), 10.0),
                ("resident_share".to_string(), 0.5),
                ("latency_max_ns".to_string(), elapsed_ns as f64),
            ]),
            ..PhaseRecord::named("write")
        }]
    }

    #[test]
    fn rates_add_up_and_the_slowest_lane_tells_the_time() {
        let lanes = [lane(100, 1_000, 5.0), lane(400, 2_000, 5.0), lane(900, 500, 5.0)];
        let phase = merged_phases(&lanes).remove(0);
        assert_eq!((phase.lanes, phase.work, phase.elapsed_ns), (3, 15.0, 2_000));
        assert!((phase.rate_per_s - (5e6 + 2.5e6 + 1e7)).abs() < 1e-3);
        assert_eq!((phase.start_skew_ns, phase.start_skew_p50_ns), (800, 300));
        let value = |name: &str| phase.values[name];
        assert_eq!((value("disk_bytes"), value("resident_share")), (30.0, 0.5));
        assert_eq!(value("latency_max_ns"), 2_000.0);
    }

    /// Lanes that do different things at one time: the first one's stand first.
    #[test]
    fn a_phase_of_some_lanes_is_theirs_alone() {
        let other = |ns| vec![PhaseRecord { phase: "query".into(), ..lane(1, ns, 6.0).remove(0) }];
        let phases = merged_phases(&[lane(1, 1_000, 5.0), other(1_000), other(2_000)]);
        let told: Vec<_> = phases.iter().map(|phase| (&*phase.phase, phase.lanes)).collect();
        assert_eq!(told, [("write", 1), ("query", 2)]);
        assert_eq!((phases[1].work, phases[1].rate_per_s), (12.0, 9e6));
    }

    #[test]
    fn a_lane_that_failed_is_the_outcome() {
        let mut lanes = [lane(1, 1, 1.0), lane(1, 1, 1.0), lane(1, 1, 1.0)];
        lanes[1][0].outcome = Outcome::Skipped { reason: "no room".into() };
        lanes[2][0].outcome = Outcome::Failed { reason: "EIO".into() };
        let phase = merged_phases(&lanes).remove(0);
        assert_eq!(phase.outcome, Outcome::Failed { reason: "EIO".into() });
    }

    #[test]
    fn doubts_are_counted_over_lanes() {
        let mut lanes = [lane(1, 1, 1.0), lane(1, 1, 1.0)];
        lanes[1][0].flags.push(Flag { kind: "not-cold".into(), text: "40 % left".into() });
        let phase = merged_phases(&lanes).remove(0);
        assert_eq!(phase.flags[0].text, "40 % left (1 of 2 lanes)");
    }
}
