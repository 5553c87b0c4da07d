//! Inside a guest calls may take a hundred times as long, so no ratio is formed between two
//! engines; a row says its own, and a notice says what its bare ways cost, as the calibration at
//! the start of each guest found.

use std::collections::BTreeMap;

use pickfs_record::{
    RunRecord, TrialRecord,
    finding::Notice,
    quantity::{bytes_text, duration_text},
};

pub const GUEST_ENGINE: &str = "guest-engine";
const NATIVE: &str = "native";
const EMULATED: &str = "qemu-tcg";
const SLOWED: &str = "; emulation slows calls, copies and the kernel some tenfold and the disk not at all, so software \
                      weighs too much here";

pub fn engine(trial: &TrialRecord) -> &str {
    trial.environment.get("guest.engine").unwrap_or(NATIVE)
}

pub fn note(trial: &TrialRecord) -> Option<String> {
    let fact = |key: &str| trial.environment.get(key);
    let engine = fact("guest.engine")?;
    let mut words = vec![format!("in {engine}")];
    words.extend(fact("guest.kernel").map(|kernel| format!("kernel {kernel}")));
    words.extend(fact("mount.driver").map(|driver| format!("driver {driver}")));
    let block = fact("mount.block_size_bytes").and_then(|bytes| bytes.parse::<u64>().ok());
    words.extend(block.map(|bytes| format!("blocks of {}", bytes_text(bytes))));
    Some(words.join(", "))
}

/// Kernels of one engine are compared, and part of what differs may be these ways.
pub fn notices(run: &RunRecord) -> Vec<Notice> {
    let mut by_engine: BTreeMap<(&str, &str), Vec<&TrialRecord>> = BTreeMap::new();
    for trial in run.trials.iter().filter(|trial| engine(trial) != NATIVE) {
        let kernel = trial.environment.get("guest.kernel").unwrap_or_default();
        by_engine.entry((engine(trial), kernel)).or_default().push(trial);
    }
    let notice = |((engine, kernel), trials): ((&str, &str), Vec<&TrialRecord>)| Notice {
        kind: GUEST_ENGINE.into(),
        text: calibration(engine, kernel, &trials),
        trials: trials.len() as u32,
    };
    by_engine.into_iter().map(notice).collect()
}

fn calibration(engine: &str, kernel: &str, trials: &[&TrialRecord]) -> String {
    let kernel = if kernel.is_empty() { String::new() } else { format!(" with kernel {kernel}") };
    let told = |key: &str, what: &str| {
        let ns = middle(trials, key)?;
        Some(format!("{what} {}", duration_text(ns)))
    };
    let costs: Vec<String> = [
        told("guest.call_ns", "an empty call takes"),
        told("guest.kernel_clock_ns", "reading the kernel's clock"),
        told("guest.fill_ns_per_mib", "filling 1 MiB of memory"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let fact = |key: &str| trials.iter().find_map(|trial| trial.environment.get(key));
    let processors =
        fact("guest.processors").map_or(String::new(), |count| format!(", processors: {count}"));
    let processors = processors + if engine == EMULATED { SLOWED } else { "" };
    format!(
        "in {engine}{kernel}, {}{processors}; rows of another engine are not compared with these",
        costs.join(", ")
    )
}

fn middle(trials: &[&TrialRecord], key: &str) -> Option<f64> {
    let value = |trial: &&TrialRecord| trial.environment.get(key)?.parse::<f64>().ok();
    let mut values: Vec<f64> = trials.iter().filter_map(value).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// Why trials of these two are not compared, where their engines differ.
pub fn unlike_engines(one: &TrialRecord, other: &TrialRecord) -> Option<String> {
    let (here, there) = (engine(one), engine(other));
    (here != there)
        .then(|| format!("engine {here} against {there}: what is slow may be the engine"))
}

#[cfg(test)]
mod tests {
    use pickfs_testkit::{FakeRun, fake_run};

    use super::*;
    use crate::panels::groups;

    fn partly_in_guests(label: &str) -> RunRecord {
        let mut run = fake_run(&FakeRun::default());
        let cells: Vec<_> = run.cells.iter().filter(|cell| cell.candidate.label == label).collect();
        let ids: Vec<_> = cells.into_iter().map(|cell| cell.id.clone()).collect();
        for trial in run.trials.iter_mut().filter(|trial| ids.contains(&trial.cell)) {
            trial.environment.put("guest.engine", "qemu-kvm");
            trial.environment.put("guest.kernel", "6.1.176");
            trial.environment.put("guest.call_ns", 31_000);
            trial.environment.put("mount.driver", "xfs");
            trial.environment.put("mount.block_size_bytes", 4096);
        }
        run
    }

    #[test]
    fn no_row_is_compared_with_one_of_another_engine() {
        let native = fake_run(&FakeRun::default());
        assert_eq!(groups(&native)[0].rivals(), [1, 2]);
        let run = partly_in_guests("xfs:noatime");
        assert_eq!(groups(&run)[0].rivals(), [2]);
        let found = crate::findings(&run);
        let mut compared = found.panels.iter().flat_map(|panel| &panel.comparisons);
        assert!(compared.all(|comparison| comparison.other != "xfs:noatime"));
    }

    #[test]
    fn a_row_says_where_it_ran_and_a_notice_what_that_costs() {
        let run = partly_in_guests("xfs:noatime");
        let found = crate::findings(&run);
        let row =
            found.panels[0].rows.iter().find(|row| row.label == "xfs:noatime").expect("a row");
        let said = "in qemu-kvm, kernel 6.1.176, driver xfs, blocks of 4 KiB";
        assert!(row.notes.iter().any(|note| note == said), "{:?}", row.notes);
        let notice = found.notices.iter().find(|notice| notice.kind == GUEST_ENGINE).expect("one");
        let said = "in qemu-kvm with kernel 6.1.176, an empty call takes 31.0 us";
        assert!(notice.text.contains(said), "{}", notice.text);
        let none = crate::findings(&fake_run(&FakeRun::default()));
        assert!(none.notices.iter().all(|notice| notice.kind != GUEST_ENGINE));
    }

    #[test]
    fn an_emulated_machine_is_said_to_slow_software_and_not_the_disk() {
        let mut run = partly_in_guests("xfs:noatime");
        assert!(notices(&run).iter().all(|notice| !notice.text.contains("emulation")));
        for trial in run.trials.iter_mut().filter(|trial| engine(trial) == "qemu-kvm") {
            trial.environment.put("guest.engine", "qemu-tcg");
        }
        let notice = notices(&run).remove(0);
        assert!(
            notice.text.starts_with("in qemu-tcg") && notice.text.contains("tenfold"),
            "{}",
            notice.text
        );
    }

    #[test]
    fn each_kernel_has_its_own_calibration() {
        let mut run = partly_in_guests("xfs:noatime");
        let later = run.trials.iter_mut().rfind(|trial| engine(trial) == "qemu-kvm");
        later.expect("one in a guest").environment.put("guest.kernel", "7.2.7");
        let texts: Vec<_> = notices(&run).into_iter().map(|notice| notice.text).collect();
        assert_eq!(texts.len(), 2);
        assert!(texts[0].contains("6.1.176") && texts[1].contains("7.2.7"), "{texts:?}");
    }

    #[test]
    fn runs_of_two_engines_are_refused_cell_by_cell() {
        let (here, there) = (fake_run(&FakeRun::default()), partly_in_guests("xfs:noatime"));
        let (one, other) = (&here.trials[0], there.trials.iter().find(|t| engine(t) == "qemu-kvm"));
        let why = unlike_engines(one, other.expect("one in a guest")).expect("unlike");
        assert_eq!(why, "engine native against qemu-kvm: what is slow may be the engine");
        assert!(unlike_engines(one, one).is_none());
    }
}
