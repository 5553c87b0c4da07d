//! Rates of a user's own file beside those of a run, perhaps on the same machine.

use pickfs_record::PhaseRecord;
use serde::Serialize;

use super::{
    beside::phase_of,
    facts::{Fact, Statistic},
    table::Published,
};
use crate::{panels::Member, summary::median};

/// Value of a sync phase as KX Nano counts it, where a run was told to keep it.
pub const INFLATED: &str = "inflated_rate_per_s";

/// In the unit of the row in the file.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct RatePair {
    pub unit: String,
    pub published: Option<f64>,
    /// Median over the trials.
    pub measured: Option<f64>,
}

pub(super) fn rates(
    table: &Published,
    processes: u32,
    fact: &Fact,
    (member, fs): (&Member<'_>, &str),
) -> RatePair {
    let at = (processes, fact.label.as_str(), fact.heat());
    let bytes = match fact.unit.as_str() {
        "MB/s" => 1e6,
        "MiB/s" => f64::from(1 << 20),
        "KiB/s" => 1024.0,
        _ => 1.0,
    };
    let of = |record: &PhaseRecord| match fact.counts_a_command() {
        true => record.values.get(INFLATED).copied(),
        false => Some(record.rate_per_s),
    };
    let phase = phase_of(member, fact);
    let records = member.trials.iter().filter_map(|trial| trial.phase(phase.as_deref()?));
    let rates: Vec<f64> = records.filter(|record| record.is_finished()).filter_map(of).collect();
    RatePair {
        unit: fact.unit.clone(),
        published: table.number(at, fs, Statistic::Rate),
        measured: (!rates.is_empty()).then(|| median(&rates) / bytes),
    }
}

#[cfg(test)]
mod tests {
    use pickfs_testkit::{FakePhasedRun, fake_phased_run};

    use crate::published::{beside, find, nano};

    /// One file system has no ratio, and its rates stand beside ours all the same.
    #[test]
    fn rates_of_an_own_file_stand_beside_ours() {
        let rows = ["write float large|2000", "sync float large|90000", "disk sort|100"];
        let rows = rows.map(|row| format!("1|write disk|{row}|MB/s\n")).concat();
        let text = format!("numproc|testtype|test|throughput|unit\n{rows}");
        let facts = nano::read("ext4", &text).expect("legal");
        let run = fake_phased_run(&FakePhasedRun::column());
        let found = beside(&run, &nano::published("mine", facts));
        assert_eq!((found.parts.len(), found.parts[0].candidates.len()), (2, 0));
        let part = &found.parts[0];
        let own = &part.rows[0].rates;
        assert_eq!((part.reference.as_str(), own.len()), ("ext4", 1));
        assert_eq!(own[0].published, Some(2000.0));
        let here = own[0].measured.expect("measured");
        assert!((500.0..5_000.0).contains(&here), "{here} MB/s");
        let sync = &found.parts[1].rows[0].rates[0];
        assert_eq!((sync.published, sync.measured), (Some(90_000.0), None), "its command counts");
        let table = beside(&run, find("kx-2025-rhel9").expect("built in"));
        let mut rows = table.parts.iter().flat_map(|part| &part.rows);
        assert!(rows.all(|row| row.rates.is_empty()));
    }
}
