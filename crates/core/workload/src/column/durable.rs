//! What a write took until it was durable: a phase that follows from a row and its syncs, made by each
//! lane.
//!
//! ```text
//! lane 1   |== write ==|.....wait.....|=== sync ===|
//! lane 2   |======== write ========|..|====== sync ======|
//! durable  <-------------------------------------------->   each lane: its start to its own sync's end
//! ```
//!
//! All lanes leave a row and begin the sync together, so a lane that wrote faster waits at the gate,
//! and the kernel may write its pages back meanwhile. That wait counts: left out, the lane would be
//! given the write-back for nothing. What does not count is what the lane prepares of its own between
//! two gates; for a lane alone the figure is time of the row + time of the syncs.

use std::collections::BTreeMap;

use pickfs_record::{Outcome, PhaseRecord, phase::WorkUnit};

use super::{
    params::Settings,
    rows::{Row, rows},
};

pub(super) fn durable_phases(settings: &Settings) -> Vec<String> {
    rows(settings).iter().filter_map(Row::durable_phase).collect()
}

pub(super) fn derive(settings: &Settings, phases: &mut Vec<PhaseRecord>) {
    for row in rows(settings).iter().filter(|row| !row.synced_by.is_empty()) {
        let Some(last) = row.synced_by.last() else { continue };
        let Some(at) = phases.iter().position(|phase| phase.phase == *last) else {
            continue;
        };
        if let Some(durable) = durable(row, phases) {
            phases.insert(at + 1, durable);
        }
    }
}

fn durable(row: &Row, phases: &[PhaseRecord]) -> Option<PhaseRecord> {
    let find = |name: &str| phases.iter().find(|phase| phase.phase == name);
    let op = find(&row.phase)?;
    let syncs: Vec<&PhaseRecord> =
        row.synced_by.iter().map(|name| find(name)).collect::<Option<_>>()?;
    let parts: Vec<&PhaseRecord> = [op].into_iter().chain(syncs.iter().copied()).collect();
    let last = parts.last()?;
    let waits = parts.windows(2).map(|pair| pair[0].waited_after_ns + pair[1].waited_before_ns);
    let took = parts.iter().map(|part| part.elapsed_ns);
    let elapsed_ns = took.chain(waits).sum::<u64>();
    Some(PhaseRecord {
        phase: row.durable_phase()?,
        label: row.durable_phase()?,
        is_derived: true,
        unit: WorkUnit::Bytes,
        work: op.real_bytes as f64,
        rate_per_s: op.real_bytes as f64 * 1e9 / elapsed_ns.max(1) as f64,
        elapsed_ns,
        elapsed_mean_ns: elapsed_ns,
        cpu_user_ns: parts.iter().map(|part| part.cpu_user_ns).sum(),
        cpu_system_ns: parts.iter().map(|part| part.cpu_system_ns).sum(),
        outcome: outcome(&parts),
        flags: Vec::new(),
        values: BTreeMap::new(),
        ended_ns: last.ended_ns,
        waited_after_ns: last.waited_after_ns,
        ..op.clone()
    })
}

fn outcome(parts: &[&PhaseRecord]) -> Outcome {
    let unfinished = parts.iter().find(|part| !part.is_finished());
    unfinished.map_or(Outcome::Finished, |part| Outcome::Skipped {
        reason: format!("{} was not run to its end", part.phase),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::phase::merged_phases;

    fn settings() -> Settings {
        let asked = json!({ "suites": "write,sort" });
        Settings::new(&super::super::WORKLOAD.validate(asked.as_object().unwrap()).unwrap())
    }

    fn phase(name: &str, bytes: u64, (began_ns, ended_ns): (u64, u64)) -> PhaseRecord {
        let elapsed_ns = ended_ns - began_ns;
        PhaseRecord {
            began_ns,
            ended_ns,
            real_bytes: bytes,
            rate_per_s: bytes as f64 * 1e9 / elapsed_ns as f64,
            elapsed_ns,
            elapsed_mean_ns: elapsed_ns,
            ..PhaseRecord::named(name)
        }
    }

    const S: u64 = 1_000_000_000;

    #[test]
    fn a_durable_write_takes_its_sync_too_and_stands_behind_it() {
        let mut phases = vec![
            phase("write int tiny", 1_000, (0, S)),
            phase("sync int tiny", 0, (5 * S, 8 * S)),
            phase("write int small", 9, (8 * S, 9 * S)),
        ];
        derive(&settings(), &mut phases);
        let names: Vec<&str> = phases.iter().map(|phase| phase.phase.as_str()).collect();
        assert_eq!(
            names,
            ["write int tiny", "sync int tiny", "write int tiny, durable", "write int small"]
        );
        let durable = &phases[2];
        assert_eq!((durable.rate_per_s, durable.work), (250.0, 1_000.0));
        assert!(durable.is_derived && durable.is_high_impact == phases[0].is_high_impact);
    }

    /// The fast lane writes in 1 s and waits 3 s for the slow one, while the kernel writes its pages
    /// back: its sync of 1 s alone would make it look like 500 bytes a second.
    #[test]
    fn a_lane_that_waited_for_the_others_waited_for_its_data_too() {
        let lane = |wrote_ns: u64| {
            let mut phases = vec![
                phase("write int tiny", 1_000, (0, wrote_ns)),
                phase("sync int tiny", 0, (7 * S, 8 * S)),
            ];
            phases[0].waited_after_ns = 4 * S - wrote_ns;
            phases[1].waited_before_ns = S;
            derive(&settings(), &mut phases);
            phases
        };
        let merged = merged_phases(&[lane(S), lane(4 * S)]);
        let durable = merged.iter().find(|phase| phase.is_derived).unwrap();
        // Four seconds until all had written, two of waiting for the sync and syncing; the two between,
        // in which the lanes prepared, are not the file system's.
        assert_eq!(durable.elapsed_mean_ns, 6 * S);
        assert_eq!((durable.rate_per_s.round(), durable.lanes), (333.0, 2));
    }

    #[test]
    fn all_syncs_of_a_row_count_and_one_that_failed_is_told() {
        let mut phases = vec![
            phase("disk sort", 900, (0, S)),
            phase("sync table after sort", 0, (S, 2 * S)),
            phase("sync columns after sort", 0, (2 * S, 3 * S)),
        ];
        phases[1].outcome = Outcome::Failed { reason: "EIO".into() };
        derive(&settings(), &mut phases);
        let durable = &phases[3];
        assert_eq!((durable.phase.as_str(), durable.elapsed_ns), ("disk sort, durable", 3 * S));
        let reason = "sync table after sort was not run to its end".to_string();
        assert_eq!(durable.outcome, Outcome::Skipped { reason });
    }
}
