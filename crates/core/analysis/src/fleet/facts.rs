//! By what hosts of one fleet are told apart: their machines, and how each candidate is mounted on them.

use std::collections::BTreeMap;

use pickfs_record::{Cell, CellId};

use super::Host;

pub(super) type Facts = BTreeMap<String, String>;

/// Of a machine; nobody assigned them by lot.
const FACTS: [&str; 10] = [
    "kernel.release",
    "os.name",
    "cpu.model",
    "host.product",
    "host.hypervisor",
    "device.model",
    "device.link",
    "device.rotational",
    "device.scheduler",
    "device.write_cache",
];
/// And these of each candidate, as its trials found them.
const OF_MOUNTS: [&str; 3] = ["mount.driver", OPTIONS, "mount.block_size_bytes"];
const OPTIONS: &str = "mount.options";
/// Options of NFS that say who mounts and from where: each host has its own.
const ADDRESSES: [&str; 2] = ["clientaddr=", "addr="];

/// Gives each host its facts that are not the same on all of them.
pub(super) fn tell_apart(hosts: &mut [Host<'_>]) {
    let known: Vec<Facts> = hosts.iter().map(known).collect();
    for (host, own) in hosts.iter_mut().zip(&known) {
        let differing = own.iter().filter_map(|(key, value)| {
            let others = known.iter().map(|facts| facts.get(key).map(String::as_str));
            // A candidate that a host lacks differs in no mount.
            let others: Vec<_> = others.filter(|v| v.is_some() || !is_of_mount(key)).collect();
            let differs = others.iter().any(|other| *other != Some(value.as_str()));
            differs.then(|| {
                let is_list = key.starts_with(OPTIONS);
                let told = if is_list { unshared(value, &others) } else { value.clone() };
                (key.clone(), told)
            })
        });
        host.facts = differing.collect();
    }
}

fn is_of_mount(key: &str) -> bool {
    OF_MOUNTS.iter().any(|of_mount| key.starts_with(of_mount))
}

/// Of the machine by its first run, of a candidate by the first trial that says it.
fn known(host: &Host<'_>) -> Facts {
    let run = host.runs[0].run;
    let of_machine = FACTS.iter().filter_map(|key| {
        let value = run.environment.get(key).or_else(|| run.card.get(key))?;
        Some(((*key).into(), value.into()))
    });
    let mut facts: Facts = of_machine.collect();
    for run in host.runs.iter().map(|one| one.run) {
        let label = |cell: &Cell| (cell.id.clone(), cell.candidate.label.clone());
        let labels: BTreeMap<CellId, String> = run.cells.iter().map(label).collect();
        for (trial, label) in run.trials.iter().filter_map(|t| Some((t, labels.get(&t.cell)?))) {
            for (key, value) in
                OF_MOUNTS.iter().filter_map(|k| Some((k, trial.environment.get(k)?)))
            {
                let told = || if *key == OPTIONS { without_addresses(value) } else { value.into() };
                facts.entry(format!("{key} of {label}")).or_insert_with(told);
            }
        }
    }
    facts
}

fn without_addresses(options: &str) -> String {
    let is_address = |word: &&str| ADDRESSES.iter().any(|address| word.starts_with(address));
    options.split(',').filter(|word| !is_address(word)).collect::<Vec<_>>().join(",")
}

/// Of a list of options those that some host has not.
fn unshared(options: &str, hosts: &[Option<&str>]) -> String {
    let has = |host: &Option<&str>, word: &str| {
        host.is_some_and(|options| options.split(',').any(|other| other == word))
    };
    let own = options.split(',').filter(|word| !hosts.iter().all(|host| has(host, word)));
    match own.collect::<Vec<_>>().join(",") {
        own if own.is_empty() => "-".into(),
        own => own,
    }
}
