//! Lines of Rust that a crate may have, its tests among them. A number only falls; where one must rise, the line
//! above it says why.

use std::collections::BTreeMap;

const LINES: &[(&str, usize)] = &[
    // cli, lab, record, report, worker, workload: what a journal sustains is counted and shown.
    // Runs, factors and claims of articles are decided with the gates of answers; limits of a search and metrics that
    // nobody carries have their own NO ANSWER; each with its test.
    // Every kind of note and gate has its test.
    ("core/analysis", 14450),
    ("core/candidate", 8730),
    // A run again, and what a reader types, each have a test.
    // A plan keeps its margin whatever flags it gets; the exit code is of the answer also where a trial failed.
    ("core/cli", 9965),
    ("core/journal", 6330),
    // A search for capacity goes on past an attempt that failed, and is tested with a stall.
    // It reads what the machine tells by itself: sys lost four times these lines. A race that is too short says so,
    // and whoever is left of one has a balanced order, which is simulated. A host that journals its data is known by
    // its options.
    ("core/lab", 8210),
    ("core/mkfs", 2580),
    // Tests of what an enemy's log and an earlier level may hold.
    // A scope of any words reads back.
    ("core/record", 4850),
    ("core/report", 12000),
    ("core/store", 1200),
    // What is handed to the program inside leaves no word in the environment, and a test sees that it is gone.
    ("core/sys", 6590),
    ("core/worker", 350),
    // Every record that was due is counted in a group commit, too: a test with a stalling clock.
    ("core/workload", 17450),
    // A program that a test starts and hears: the tests of fix and pair lost ten times its lines.
    ("dev/testkit", 2070),
    ("dev/tidy", 1550),
    ("engines/fix", 6970),
    ("engines/pair", 6100),
    ("engines/queue", 4520),
    ("engines/workloads", 3660),
    // What they alone use of the kernel, of records and reports came from the core, which lost as much.
    ("extras/explain", 7645),
    ("extras/features", 3595),
    ("extras/guest", 4655),
    // The pages of the server came from `report`, which lost 430 lines.
    // A browser looks for cut columns and for names with two colours.
    ("extras/serve", 2550),
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
