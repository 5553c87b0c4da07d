//! Phases that follow from others. What a write took until it was durable follows from a row and its syncs, and is
//! made by each lane.
//!
//! ```text
//! lane 1   |== write ==|.....wait.....|=== sync ===|
//! lane 2   |======== write ========|..|====== sync ======|
//! durable  <-------------------------------------------->   each lane: its start to its own sync's end
//!
//! hot tier, mid tier, cold tier, ingest, durable = geometric mean of the rates of their rows, of the whole trial
//! ```
//!
//! All lanes leave a row and begin the sync together, so a lane that wrote faster waits at the gate,
//! and the kernel may write its pages back meanwhile. That wait counts: left out, the lane would be
//! given the write-back for nothing. What does not count is what the lane prepares of its own between
//! two gates; for a lane alone the figure is time of the row + time of the syncs.
//!
//! A figure that lacks one of its rows is not made up from the others: it is skipped and says why.

use std::collections::BTreeMap;

use pickfs_record::{
    Outcome, PhaseRecord,
    phase::{Heat, WorkUnit},
    record::Flag,
};

use super::{
    params::{Settings, Suite},
    rows::{Row, passes, rows},
};

pub(super) fn durable_phases(settings: &Settings) -> Vec<String> {
    rows(settings).iter().filter_map(Row::durable_phase).collect()
}

pub(super) fn add_durable(settings: &Settings, phases: &mut Vec<PhaseRecord>) {
    for row in rows(settings) {
        let Some(last) = row.synced_by.last() else { continue };
        let Some(at) = phases.iter().position(|phase| phase.phase == *last) else { continue };
        if let Some(durable) = durable(&row, phases) {
            phases.insert(at + 1, durable);
        }
    }
}

fn durable(row: &Row, phases: &[PhaseRecord]) -> Option<PhaseRecord> {
    let parts: Vec<&PhaseRecord> = [&row.phase]
        .into_iter()
        .chain(&row.synced_by)
        .map(|name| phases.iter().find(|phase| phase.phase == *name))
        .collect::<Option<_>>()?;
    let (op, last) = (*parts.first()?, parts.last()?);
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

struct Tier {
    name: &'static str,
    heat: Option<Heat>,
    members: Vec<String>,
}

/// Those of which all suites are asked for.
fn tiers(settings: &Settings) -> Vec<Tier> {
    let all = rows(settings);
    let random = |heat| passes(false).into_iter().map(move |pass| pass.row(heat).phase);
    let of = |suite, heat: Option<Heat>| {
        let rows = all.iter().filter(move |row| row.suite == suite && row.heat == heat);
        rows.map(|row| row.phase.clone())
    };
    let (hot, cold) = (Some(Heat::Hot), Some(Heat::Cold));
    let durable = |row: &Row| row.durable_phase().unwrap_or_else(|| row.phase.clone());
    let ingest = all.iter().filter(|row| row.is_high_impact).map(durable);
    let tiers = [
        ("hot tier", hot, &[Suite::Reread, Suite::Random][..], {
            random(Heat::Hot).chain(of(Suite::Reread, hot)).collect()
        }),
        ("mid tier", cold, &[Suite::Random], random(Heat::Cold).collect()),
        ("cold tier", cold, &[Suite::Read], of(Suite::Read, cold).collect()),
        ("ingest, durable", None, &[Suite::Write, Suite::Sort], ingest.collect()),
    ];
    let asked = tiers.into_iter().filter(|tier| tier.2.iter().all(|suite| settings.has(*suite)));
    asked.map(|(name, heat, _, members)| Tier { name, heat, members }).collect()
}

pub(super) fn tier_phases(settings: &Settings) -> Vec<String> {
    tiers(settings).iter().map(|tier| tier.name.to_string()).collect()
}

pub(super) fn add_tiers(settings: &Settings, phases: &mut Vec<PhaseRecord>) {
    for tier in tiers(settings) {
        let mean = mean(&tier, phases);
        phases.push(mean);
    }
}

fn mean(tier: &Tier, phases: &[PhaseRecord]) -> PhaseRecord {
    let find = |name: &String| phases.iter().find(|phase| phase.phase == *name);
    let parts: Vec<&PhaseRecord> = tier.members.iter().filter_map(find).collect();
    let outcome = match tier.members.iter().find(|member| find(member).is_none()) {
        Some(member) => Outcome::Skipped { reason: format!("{member} is missing") },
        None => outcome(&parts),
    };
    let mut record = PhaseRecord {
        suite: "tier".into(),
        heat: tier.heat,
        is_derived: true,
        unit: WorkUnit::Bytes,
        lanes: parts.first().map_or(0, |part| part.lanes),
        outcome,
        ..PhaseRecord::named(tier.name)
    };
    if !record.is_finished() {
        return record;
    }
    let logarithms: f64 = parts.iter().map(|part| part.rate_per_s.max(1e-9).ln()).sum();
    record.rate_per_s = (logarithms / parts.len().max(1) as f64).exp();
    record.work = parts.iter().map(|part| part.work).sum();
    record.real_bytes = parts.iter().map(|part| part.real_bytes).sum();
    record.elapsed_ns = parts.iter().map(|part| part.elapsed_ns).sum();
    record.elapsed_mean_ns = parts.iter().map(|part| part.elapsed_mean_ns).sum();
    record.values.insert("rows".into(), parts.len() as f64);
    for kind in ["not-cold", "not-hot"] {
        let is_doubted = |part: &&&PhaseRecord| part.flags.iter().any(|flag| flag.kind == kind);
        let count = parts.iter().filter(is_doubted).count();
        if count > 0 {
            let text = format!("{count} of its {} rows", parts.len());
            record.flags.push(Flag { kind: kind.into(), text });
        }
    }
    record
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::phase::merged_phases;

    const S: u64 = 1_000_000_000;

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

    fn durables(mut phases: Vec<PhaseRecord>) -> Vec<PhaseRecord> {
        add_durable(&Settings::asked(json!({ "suites": "write,sort" })), &mut phases);
        phases
    }

    #[test]
    fn a_durable_write_takes_its_sync_too_and_stands_behind_it() {
        let phases = durables(vec![
            phase("write int tiny", 1_000, (0, S)),
            phase("sync int tiny", 0, (5 * S, 8 * S)),
            phase("write int small", 9, (8 * S, 9 * S)),
        ]);
        let names: Vec<&str> = phases.iter().map(|phase| phase.phase.as_str()).collect();
        assert_eq!(names[1..3], ["sync int tiny", "write int tiny, durable"]);
        assert_eq!((phases[2].rate_per_s, phases[2].work), (250.0, 1_000.0));
        assert!(phases[2].is_derived);
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
            durables(phases)
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
        let durable = &durables(phases)[3];
        assert_eq!((durable.phase.as_str(), durable.elapsed_ns), ("disk sort, durable", 3 * S));
        let reason = "sync table after sort was not run to its end".to_string();
        assert_eq!(durable.outcome, Outcome::Skipped { reason });
    }

    fn with_tiers(damage: impl Fn(&mut PhaseRecord)) -> BTreeMap<String, PhaseRecord> {
        let settings = Settings::asked(json!({}));
        let rows = rows(&settings);
        let ran = rows.iter().map(|row| phase(&row.phase, 1_000, (0, 1_000_000)));
        let durable = rows.iter().filter_map(Row::durable_phase);
        let mut phases: Vec<_> =
            ran.chain(durable.map(|name| phase(&name, 1_000, (0, 2_000_000)))).collect();
        phases.iter_mut().for_each(damage);
        add_tiers(&settings, &mut phases);
        phases.into_iter().map(|phase| (phase.phase.clone(), phase)).collect()
    }

    #[test]
    fn a_whole_trial_has_all_tiers_with_all_their_rows() {
        let phases = with_tiers(|_| {});
        let names = tier_phases(&Settings::asked(json!({})));
        let rows: Vec<f64> = names.iter().map(|name| phases[name].values["rows"]).collect();
        assert_eq!(rows, [11.0, 6.0, 6.0, 10.0]);
        assert!(names.iter().all(|name| phases[name].is_finished()));
        assert!((phases["hot tier"].rate_per_s - 1e6).abs() < 1e-3);
        assert!(phases["ingest, durable"].rate_per_s < 1e6, "syncs take time");
        assert_eq!(
            tier_phases(&Settings::asked(json!({ "suites": "write,random" }))),
            ["mid tier"]
        );
    }

    #[test]
    fn a_tier_without_one_of_its_rows_says_which_and_doubts_are_counted() {
        let phases = with_tiers(|phase| {
            if phase.phase == "random read 4k cold" {
                phase.outcome = Outcome::Skipped { reason: "tmpfs".into() };
            }
            if phase.phase.starts_with("sequential read int") {
                phase.flags.push(Flag { kind: "not-cold".into(), text: String::new() });
            }
        });
        let Outcome::Skipped { reason } = &phases["mid tier"].outcome else {
            panic!("it has no figure")
        };
        assert_eq!(reason, "random read 4k cold was not run to its end");
        assert!(phases["hot tier"].is_finished());
        let flags = &phases["cold tier"].flags;
        assert_eq!((flags.len(), flags[0].text.as_str()), (1, "4 of its 6 rows"));
    }
}
