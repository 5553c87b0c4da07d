//! Order: a crate uses only crates that stand before it, so the core uses no engine and no extra, but for the
//! program, which lists them. Read from `[dependencies]`; what only tests need is free.

use toml::Table;

/// The core, the engines, the extras, the program.
const ORDER: &[&str] = &[
    "record",
    "sys",
    "mkfs",
    "journal",
    "candidate",
    "workload",
    "store",
    "analysis",
    "lab",
    "worker",
    "report",
    "queue",
    "pair",
    "fix",
    "engine-workloads",
    "explain",
    "guest",
    "ranks",
    "features",
    "crash",
    "fleet",
    "serve",
    "cli",
];

/// So many of them are the core; the program, which is the last of all, is built with those alone, too.
const CORE: usize = 11;
const PROGRAM: &str = "cli";

/// Crates that serve tests only: nobody's ordinary dependency.
const TESTS_ONLY: &[&str] = &["testkit", "tidy"];

pub fn breaches(manifest: &Table) -> Vec<String> {
    let Some(name) = short_name(manifest["package"]["name"].as_str().unwrap_or_default()) else {
        return vec!["its package name does not begin with pickfs-".into()];
    };
    if TESTS_ONLY.contains(&name) {
        return Vec::new();
    }
    let place = |name: &str| ORDER.iter().position(|known| *known == name);
    let Some(own) = place(name) else {
        return vec![format!("{name} has no place; give it one in crates/dev/tidy/src/floors.rs")];
    };
    let used = ["dependencies", "build-dependencies"]
        .into_iter()
        .filter_map(|section| manifest.get(section)?.as_table())
        .flat_map(Table::keys)
        .filter_map(|dependency| short_name(dependency));
    let is_optional = |used: &str| {
        let row = manifest.get("dependencies").and_then(|all| all.get(format!("pickfs-{used}")));
        row.and_then(|row| row.get("optional")).is_some()
    };
    used.filter_map(|used| match place(used) {
        Some(place) if place < own.min(CORE) => None,
        Some(place) if place < own && (name != PROGRAM || is_optional(used)) => None,
        Some(place) if place < own => {
            Some(format!("{used} is no part of the core: {name} uses it as a feature, `optional`"))
        }
        _ => Some(format!("{name} uses {used}, which does not stand before it")),
    })
    .collect()
}

fn short_name(package: &str) -> Option<&str> {
    package.strip_prefix("pickfs-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_before_may_be_used_and_nothing_else() {
        let breaches_of = |name: &str, dependency: &str| {
            let text = format!(
                "[package]\nname = \"pickfs-{name}\"\n[dependencies]\n\
                 pickfs-{dependency}.workspace = true\nserde = \"1\"\n"
            );
            breaches(&text.parse().expect("valid TOML"))
        };
        for (name, used) in [("lab", "store"), ("fix", "journal"), ("tidy", "record")] {
            assert!(breaches_of(name, used).is_empty(), "{name}");
        }
        assert_eq!(
            breaches_of("workload", "fix"),
            ["workload uses fix, which does not stand before it"]
        );
        assert_eq!(
            breaches_of("cli", "fix"),
            ["fix is no part of the core: cli uses it as a feature, `optional`"]
        );
        for (name, used) in [("queue", "fix"), ("lab", "testkit"), ("attic", "record")] {
            assert_eq!(breaches_of(name, used).len(), 1, "{name}");
        }
    }
}
