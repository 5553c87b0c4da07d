//! A key that is absent is left out; a key that this page does not know but that
//! starts with `card.` is shown under its own name.

use std::collections::BTreeSet;

use pickfs_record::{
    Environment, RunRecord,
    quantity::{bytes_text, duration_text, significant},
};

use crate::document::{Node, Role, Text, facts};

/// One line of the card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    pub name: String,
    pub value: String,
    pub flag: Option<String>,
}

const KEYS: &[(&str, &str)] = &[
    ("device.model", "Device"),
    ("device.name", "Device node"),
    ("device.link", "Link"),
    ("device.size_bytes", "Device size"),
    ("device.rotational", "Rotational"),
    ("device.write_cache", "Write cache"),
    ("device.fua", "Forced unit access"),
    ("device.scheduler", "I/O scheduler"),
    ("device.logical_sector_bytes", "Logical block"),
    ("device.physical_sector_bytes", "Physical block"),
    ("host.write_cache", "Write cache of the host's device"),
    ("card.sequential_read_mb_s", "Bare sequential read"),
    ("card.sequential_write_mb_s", "Bare sequential write"),
    ("card.random_read_4k_per_s", "Bare 4 KiB random reads"),
    ("card.random_read_4k_p50_ns", "Bare 4 KiB random read, p50"),
    ("card.random_read_4k_p99_ns", "Bare 4 KiB random read, p99"),
    ("card.random_write_4k_per_s", "Bare 4 KiB random writes"),
    ("card.random_write_4k_p50_ns", "Bare 4 KiB random write, p50"),
    ("card.random_write_4k_p99_ns", "Bare 4 KiB random write, p99"),
    ("card.flush_p50_ns", "Flush, p50"),
    ("card.flush_p99_ns", "Flush, p99"),
    ("log_device.name", "Log device node"),
    ("log_device.size_bytes", "Log device size"),
    ("log_device.write_cache", "Write cache of the log device"),
    ("card.log_flush_p50_ns", "Flush of the log device, p50"),
    ("cpu.model", "CPU"),
    ("cpu.sockets", "Sockets"),
    ("cpu.online", "CPUs online"),
    ("cpu.threads_per_core", "Threads per core"),
    ("numa.nodes", "NUMA nodes"),
    ("cpu.governor", "Governor"),
    ("clock.source", "Clock source"),
    ("clock.read_at_start_ns", "Reading of the clock"),
    ("clock.step_at_start_ns", "Step of the clock"),
    ("host.hypervisor", "Hypervisor"),
    ("host.product", "Machine"),
    ("memory.total_bytes", "Memory"),
    ("kernel.release", "Kernel"),
    ("kernel.version", "Kernel build"),
    ("os.name", "Distribution"),
];

const FLAGS: &[(&str, &str)] =
    &[("card.flush_p50_ns", "card.flush_doubt"), ("card.log_flush_p50_ns", "card.log_flush_doubt")];

pub fn setup_card(run: &RunRecord) -> Vec<Fact> {
    let mut facts = card_facts(&run.card, &run.environment);
    facts.extend(unknown(&run.card));
    facts
}

/// The card as a section.
pub(crate) fn section(run: &RunRecord) -> Node {
    let rows = setup_card(run).into_iter().map(|fact| {
        let flag = fact.flag.map(|flag| Role::NoAnswer.of(format!("! {flag}")));
        let value = Text::from(fact.value);
        (fact.name, flag.into_iter().fold(value, |value, flag| value.and(" ").and(flag)))
    });
    let rows: Vec<_> = rows.collect();
    let nodes = match rows.is_empty() {
        true => vec![Node::Paragraph("Nothing was recorded.".into())],
        false => vec![facts(rows)],
    };
    Node::Section("setup", "Set-up card".into(), nodes)
}

/// The facts that have a name, from what was measured of the backing and what the machine says.
pub fn card_facts(card: &Environment, environment: &Environment) -> Vec<Fact> {
    let get = |key: &str| card.get(key).or_else(|| environment.get(key));
    KEYS.iter()
        .filter_map(|(key, name)| get(key).map(|value| fact(key, name, value, &get)))
        .collect()
}

fn fact<'a>(key: &str, name: &str, value: &str, get: &impl Fn(&str) -> Option<&'a str>) -> Fact {
    let flag = FLAGS.iter().find(|(of, _)| *of == key).and_then(|(_, flag)| get(flag));
    Fact { name: name.into(), value: value_text(key, value), flag: flag.map(String::from) }
}

fn unknown(card: &Environment) -> impl Iterator<Item = Fact> {
    let known: BTreeSet<&str> =
        KEYS.iter().map(|(key, _)| *key).chain(FLAGS.iter().map(|(_, key)| *key)).collect();
    card.0.iter().filter(move |(key, _)| !known.contains(key.as_str())).map(|(key, value)| Fact {
        name: key.strip_prefix("card.").unwrap_or(key).replace(['.', '_'], " "),
        value: value_text(key, value),
        flag: None,
    })
}

pub fn value_text(key: &str, value: &str) -> String {
    let Ok(number) = value.parse::<f64>() else {
        return value.into();
    };
    match key {
        k if k.ends_with("_mb_s") => format!("{} MB/s", significant(number)),
        k if k.ends_with("bytes_per_s") => format!("{}/s", bytes_text(number as u64)),
        k if k.ends_with("_bytes") => bytes_text(number as u64),
        k if k.ends_with("_ns") => duration_text(number),
        k if k.ends_with("_per_s") => format!("{}/s", significant(number)),
        k if k.ends_with(".rotational") => if number > 0.0 { "yes" } else { "no" }.into(),
        _ => value.into(),
    }
}

pub fn machine_line(env: &Environment) -> String {
    let text = |key: &str| env.get(key).map(|value| value_text(key, value));
    let cpu = env.get("cpu.model").map(|model| match env.get("cpu.online") {
        Some(count) => format!("{count} x {model}"),
        None => model.into(),
    });
    let kernel = env.get("kernel.release").map(|release| format!("Linux {release}"));
    let parts: Vec<_> =
        [cpu, text("memory.total_bytes"), kernel, text("os.name")].into_iter().flatten().collect();
    if parts.is_empty() { "not recorded".into() } else { parts.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_take_the_unit_of_their_key() {
        assert_eq!(value_text("card.flush_p50_ns", "141000"), "141 us");
        assert_eq!(value_text("memory.total_bytes", "1073741824"), "1 GiB");
        assert_eq!(value_text("card.sequential_read_mb_s", "412.3"), "412 MB/s");
        assert_eq!(value_text("card.read_bytes_per_s", "1048576"), "1 MiB/s");
        assert_eq!(value_text("card.random_read_4k_per_s", "12345"), "12,345/s");
        assert_eq!(value_text("device.write_cache", "write back"), "write back");
    }

    #[test]
    fn unknown_keys_of_the_card_are_shown_and_flags_are_not_lines() {
        let mut card = Environment::default();
        card.put("card.trim_bytes", 4096);
        card.put("card.flush_doubt", "implausibly fast");
        let facts: Vec<_> = unknown(&card).collect();
        assert_eq!(facts.len(), 1);
        assert_eq!((facts[0].name.as_str(), facts[0].value.as_str()), ("trim bytes", "4 KiB"));
    }
}
