//! Lines of Rust that a crate may have, its tests among them. A number only falls; where one must rise, the line
//! above it says why.

use std::collections::BTreeMap;

const LINES: &[(&str, usize)] = &[
    ("core/analysis", 15100),
    ("core/candidate", 9400),
    ("core/cli", 11100),
    ("core/journal", 6900),
    ("core/lab", 8400),
    ("core/mkfs", 3000),
    ("core/record", 5100),
    ("core/report", 14600),
    ("core/store", 1400),
    ("core/sys", 9300),
    ("core/worker", 600),
    ("core/workload", 19900),
    ("dev/testkit", 2200),
    ("dev/tidy", 1900),
    ("engines/fix", 8500),
    ("engines/pair", 7100),
    ("engines/queue", 4800),
    ("engines/workloads", 4500),
    ("extras/explain", 7500),
    ("extras/features", 3000),
    ("extras/guest", 6100),
    ("extras/modules", 900),
    ("extras/serve", 2500),
];

/// Of files with their texts.
pub fn breaches<'a>(files: impl Iterator<Item = (&'a str, String)>) -> Vec<String> {
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    for (path, text) in files {
        let mut parts = path.strip_prefix("crates/").unwrap_or(path).split('/');
        let name = [parts.next(), parts.next()].map(Option::unwrap_or_default).join("/");
        *found.entry(name).or_default() += text.lines().count();
    }
    let too_long = |(name, lines): (String, usize)| {
        let allowed = LINES.iter().find(|(known, _)| *known == name).map_or(0, |row| row.1);
        (lines > allowed).then(|| {
            format!(
                "{name} has {lines} lines, {allowed} are allowed: take some away, or write into \
                 crates/dev/tidy/src/budget.rs why it must grow"
            )
        })
    };
    found.into_iter().filter_map(too_long).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_that_grew_is_named() {
        let grown =
            |lines| breaches([("crates/core/store/src/a.rs", "x\n".repeat(lines))].into_iter());
        assert!(grown(10).is_empty());
        assert!(grown(100_000)[0].starts_with("core/store has 100000 lines"));
        assert_eq!(breaches([("crates/core/attic/a.rs", "x\n".into())].into_iter()).len(), 1);
    }
}
