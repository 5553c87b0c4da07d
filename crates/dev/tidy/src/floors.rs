//! Floors: a crate stands only on crates of lower floors.
//!
//! Read from the `[dependencies]` of each crate; what only tests need is free,
//! and a fixture crate may serve nothing but tests.

use toml::Table;

/// Every crate of the house with its floor; half floors keep order within one.
const FLOORS: &[(&str, f32)] = &[
    ("record", 1.0),
    ("sys", 2.0),
    ("mkfs", 2.0),
    ("modules", 2.0),
    ("candidate", 3.0),
    ("guest", 3.25),
    ("journal", 3.0),
    ("explain", 3.0),
    ("pair", 3.25),
    ("fix", 3.5),
    ("features", 4.0),
    ("workload", 4.0),
    ("store", 4.0),
    ("analysis", 4.0),
    ("lab", 5.0),
    ("worker", 5.0),
    ("report", 5.0),
    ("serve", 5.5),
    ("cli", 6.0),
];

/// Crates that serve tests only: on no floor, and nobody's ordinary dependency.
const TESTS_ONLY: &[&str] = &["testkit", "tidy"];

pub fn breaches(manifest: &Table) -> Vec<String> {
    let Some(name) = short_name(manifest["package"]["name"].as_str().unwrap_or_default()) else {
        return vec!["its package name does not begin with pickfs-".into()];
    };
    let Some(floor) = floor_of(name) else { return unknown(name) };
    let stands_on = ["dependencies", "build-dependencies"]
        .into_iter()
        .filter_map(|section| manifest.get(section)?.as_table())
        .flat_map(Table::keys)
        .filter_map(|dependency| short_name(dependency));
    stands_on.filter_map(|below| upward(name, floor, below)).collect()
}

fn short_name(package: &str) -> Option<&str> {
    package.strip_prefix("pickfs-")
}

fn floor_of(name: &str) -> Option<f32> {
    FLOORS.iter().find(|(known, _)| *known == name).map(|(_, floor)| *floor)
}

fn unknown(name: &str) -> Vec<String> {
    if TESTS_ONLY.contains(&name) {
        return Vec::new();
    }
    vec![format!("{name} has no floor; give it one in crates/dev/tidy/src/floors.rs")]
}

fn upward(name: &str, floor: f32, below: &str) -> Option<String> {
    match floor_of(below) {
        Some(lower) if lower < floor => None,
        Some(other) => {
            Some(format!("{name} (floor {floor}) stands on {below} (floor {other}): not below it"))
        }
        None => Some(format!("{name} stands on {below}, which is on no floor")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaches_of(name: &str, dependency: &str) -> Vec<String> {
        let text = format!(
            "[package]\nname = \"pickfs-{name}\"\n[dependencies]\n\
             pickfs-{dependency}.workspace = true\nserde = \"1\"\n"
        );
        breaches(&text.parse().expect("valid TOML"))
    }

    #[test]
    fn downward_is_allowed() {
        assert!(breaches_of("lab", "store").is_empty());
        assert!(breaches_of("fix", "journal").is_empty());
        assert!(breaches_of("tidy", "record").is_empty());
    }

    #[test]
    fn upward_sideways_and_unknown_are_found() {
        assert_eq!(
            breaches_of("record", "sys"),
            ["record (floor 1) stands on sys (floor 2): not below it"]
        );
        assert_eq!(breaches_of("store", "analysis").len(), 1);
        assert_eq!(breaches_of("journal", "fix").len(), 1);
        assert_eq!(breaches_of("lab", "testkit").len(), 1);
        assert_eq!(breaches_of("attic", "record").len(), 1);
    }
}
