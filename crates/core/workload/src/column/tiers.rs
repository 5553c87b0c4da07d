//! ```text
//! hot tier, mid tier, cold tier, ingest, durable = geometric mean of the rates of their rows
//! ```
//!
//! A figure that lacks one of its rows is not made up from the others: it is skipped and says why.

use pickfs_record::{
    Outcome, PhaseRecord,
    phase::{Heat, WorkUnit},
    record::Flag,
};

use super::{
    params::Settings,
    rows::{Row, passes, rows},
};

const SUITE: &str = "tier";

struct Tier {
    name: &'static str,
    heat: Option<Heat>,
    members: Vec<String>,
}

fn tiers() -> Vec<Tier> {
    let random = |heat| -> Vec<String> {
        passes(false).into_iter().map(|pass| pass.row(heat).phase).collect()
    };
    let named =
        |names: &[&str]| -> Vec<String> { names.iter().map(|name| (*name).into()).collect() };
    let rereads = named(&[
        "sequential reread int small",
        "sequential reread int medium",
        "sequential reread float large",
        "sequential reread int huge",
        "sequential read binary hot",
    ]);
    let reads = named(&[
        "sequential read int tiny",
        "sequential read int small",
        "sequential read int medium",
        "sequential read float large",
        "sequential read int huge",
        "sequential read binary cold",
    ]);
    let ingest = named(&[
        "open append mid sym, sync once",
        "open append mid float, sync once",
        "write int tiny, durable",
        "write int small, durable",
        "write int medium, durable",
        "write sym large, durable",
        "write float large, durable",
        "write int huge, durable",
        "disk sort, durable",
        "add attribute, durable",
    ]);
    let hot = [random(Heat::Hot), rereads].concat();
    vec![
        Tier { name: "hot tier", heat: Some(Heat::Hot), members: hot },
        Tier { name: "mid tier", heat: Some(Heat::Cold), members: random(Heat::Cold) },
        Tier { name: "cold tier", heat: Some(Heat::Cold), members: reads },
        Tier { name: "ingest, durable", heat: None, members: ingest },
    ]
}

fn asked_tiers(settings: &Settings) -> Vec<Tier> {
    let all = rows(settings);
    let durable = all.iter().filter_map(Row::durable_phase);
    let phases: Vec<String> = all.iter().map(|row| row.phase.clone()).chain(durable).collect();
    let is_asked = |tier: &Tier| tier.members.iter().all(|member| phases.contains(member));
    tiers().into_iter().filter(is_asked).collect()
}

pub(super) fn tier_phases(settings: &Settings) -> Vec<String> {
    asked_tiers(settings).iter().map(|tier| tier.name.to_string()).collect()
}

pub(super) fn derive(settings: &Settings, phases: &mut Vec<PhaseRecord>) {
    for tier in asked_tiers(settings) {
        let mean = mean(&tier, phases);
        phases.push(mean);
    }
}

fn find<'a>(phases: &'a [PhaseRecord], name: &str) -> Option<&'a PhaseRecord> {
    phases.iter().find(|phase| phase.phase == name)
}

fn outcome(parts: &[&PhaseRecord]) -> Outcome {
    let unfinished = parts.iter().find(|part| !part.is_finished());
    unfinished.map_or(Outcome::Finished, |part| Outcome::Skipped {
        reason: format!("{} was not run to its end", part.phase),
    })
}

fn mean(tier: &Tier, phases: &[PhaseRecord]) -> PhaseRecord {
    let parts: Vec<&PhaseRecord> =
        tier.members.iter().filter_map(|member| find(phases, member)).collect();
    let missing = tier.members.iter().find(|member| find(phases, member).is_none());
    let outcome = match missing {
        Some(member) => Outcome::Skipped { reason: format!("{member} is missing") },
        None => outcome(&parts),
    };
    let mut record = PhaseRecord {
        suite: SUITE.into(),
        heat: tier.heat,
        is_derived: true,
        unit: WorkUnit::Bytes,
        lanes: parts.first().map_or(0, |part| part.lanes),
        outcome,
        ..PhaseRecord::named(tier.name)
    };
    if record.is_finished() {
        let logarithms: f64 = parts.iter().map(|part| part.rate_per_s.max(1e-9).ln()).sum();
        record.rate_per_s = (logarithms / parts.len().max(1) as f64).exp();
        record.work = parts.iter().map(|part| part.work).sum();
        record.real_bytes = parts.iter().map(|part| part.real_bytes).sum();
        record.elapsed_ns = parts.iter().map(|part| part.elapsed_ns).sum();
        record.elapsed_mean_ns = parts.iter().map(|part| part.elapsed_mean_ns).sum();
        record.values.insert("rows".into(), parts.len() as f64);
        keep_doubts(&mut record, &parts);
    }
    record
}

fn keep_doubts(record: &mut PhaseRecord, parts: &[&PhaseRecord]) {
    for kind in ["not-cold", "not-hot"] {
        let is_doubted = |part: &&&PhaseRecord| part.flags.iter().any(|flag| flag.kind == kind);
        let count = parts.iter().filter(is_doubted).count();
        if count > 0 {
            let text = format!("{count} of its {} rows", parts.len());
            record.flags.push(Flag { kind: kind.into(), text });
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn settings(asked: Value) -> Settings {
        Settings::new(&super::super::WORKLOAD.validate(asked.as_object().unwrap()).unwrap())
    }

    fn phase(name: &str, bytes: u64, elapsed_ns: u64) -> PhaseRecord {
        PhaseRecord {
            real_bytes: bytes,
            rate_per_s: bytes as f64 * 1e9 / elapsed_ns as f64,
            elapsed_ns,
            elapsed_mean_ns: elapsed_ns,
            ..PhaseRecord::named(name)
        }
    }

    fn all_phases(settings: &Settings) -> Vec<PhaseRecord> {
        let rows = rows(settings);
        let ran = rows.iter().map(|row| phase(&row.phase, 1_000, 1_000_000));
        let durable = rows.iter().filter_map(Row::durable_phase);
        ran.chain(durable.map(|name| phase(&name, 1_000, 2_000_000))).collect()
    }

    #[test]
    fn a_whole_trial_has_all_tiers_and_what_was_announced() {
        let settings = settings(json!({}));
        let mut phases = all_phases(&settings);
        let measured = phases.len();
        derive(&settings, &mut phases);
        let derived = &phases[measured..];
        let announced = tier_phases(&settings);
        assert_eq!(announced.len(), derived.len());
        assert!(
            derived.iter().all(|phase| announced.contains(&phase.phase) && phase.is_finished())
        );
        let hot = find(&phases, "hot tier").unwrap();
        assert!((hot.rate_per_s - 1e6).abs() < 1e-3, "{}", hot.rate_per_s);
        assert_eq!(hot.values["rows"], 11.0);
        let ingest = find(&phases, "ingest, durable").unwrap();
        assert!(ingest.rate_per_s < 1e6, "syncs take time: {}", ingest.rate_per_s);
    }

    #[test]
    fn a_tier_without_one_of_its_rows_says_which() {
        let settings = settings(json!({}));
        let mut phases = all_phases(&settings);
        let skipped = phases.iter_mut().find(|phase| phase.phase == "random read 4k cold").unwrap();
        skipped.outcome = Outcome::Skipped { reason: "tmpfs".into() };
        derive(&settings, &mut phases);
        let Outcome::Skipped { reason } = &find(&phases, "mid tier").unwrap().outcome else {
            panic!("it has no figure")
        };
        assert_eq!(reason, "random read 4k cold was not run to its end");
        assert!(find(&phases, "hot tier").unwrap().is_finished());
    }

    #[test]
    fn tiers_are_as_doubtful_as_their_rows() {
        let settings = settings(json!({}));
        let mut phases = all_phases(&settings);
        for phase in
            phases.iter_mut().filter(|phase| phase.phase.starts_with("sequential read int"))
        {
            phase.flags.push(Flag { kind: "not-cold".into(), text: String::new() });
        }
        derive(&settings, &mut phases);
        let flags = &find(&phases, "cold tier").unwrap().flags;
        assert_eq!((flags.len(), flags[0].text.as_str()), (1, "4 of its 6 rows"));
    }

    #[test]
    fn without_its_suites_a_tier_is_not_asked_for() {
        let derived = tier_phases(&settings(json!({ "suites": "write,random" })));
        assert!(derived.contains(&"mid tier".to_string()));
        assert!(!derived.contains(&"hot tier".to_string()));
        assert!(!derived.contains(&"ingest, durable".to_string()));
    }
}
