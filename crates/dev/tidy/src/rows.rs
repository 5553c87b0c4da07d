//! All that is known of a file system stands in its row: its name as a literal elsewhere is a second row in the
//! making.

use std::collections::BTreeSet;

use crate::code::{blanked, line_of};

pub const FOLDER: &str = "crates/core/candidate/src/fs/";

const ALLOWED: &[&str] = &[
    // A memory file system of our own, for the image or for a daemon.
    "crates/core/candidate/src/calls.rs",
    "crates/core/candidate/src/image.rs",
    // The first program of a guest mounts what every machine has.
    "crates/extras/guest/src/agent/system.rs",
    // Formatters and recipes of modules are called as what they make.
    "crates/core/mkfs/",
    "crates/extras/guest/src/rebuilt.rs",
    // Names of the kernel's trace points.
    "crates/extras/explain/src/context/points.rs",
    // Published tables compare with the row that their authors chose.
    "crates/core/analysis/src/published/table.rs",
    "crates/dev/testkit/",
    "/tests",
    "/examples/",
];

/// What rows call themselves and what the kernel calls them, but for what it calls all programs.
pub fn names(rows: impl Iterator<Item = String>) -> BTreeSet<String> {
    let literal = |line: &str| {
        let (key, value) = line.trim().split_once(": ")?;
        let quoted = value.trim_start_matches("Some(").strip_prefix('"')?.split('"').next()?;
        matches!(key, "name" | "kernel_type" | "fs_type").then(|| quoted.to_owned())
    };
    let of_file = |text: String| text.lines().filter_map(literal).collect::<Vec<_>>();
    rows.flat_map(of_file).filter(|name| !name.is_empty() && !name.starts_with("fuse")).collect()
}

pub fn breaches(names: &BTreeSet<String>, path: &str, source: &str) -> Vec<String> {
    if path.starts_with(FOLDER) || ALLOWED.iter().any(|allowed| path.contains(allowed)) {
        return Vec::new();
    }
    let text = blanked(source);
    let end = text.find("mod tests {").unwrap_or(text.len());
    let found = names.iter().flat_map(|name| {
        let literal = format!("\"{name}\"");
        let at = source[..end].match_indices(&literal).map(|(at, _)| at).collect::<Vec<_>>();
        // Within another literal or a comment its quotes are blank.
        at.into_iter().filter(|at| text.as_bytes()[*at] == b'"').map(move |at| (at, name))
    });
    let told = |(at, name)| {
        format!("line {}: \"{name}\" belongs into its row in {FOLDER}", line_of(&text, at))
    };
    found.map(told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_outside_its_row_is_found() {
        let row = "pub const X: F = F {\n    name: \"xfs\",\n    kernel_type: \"fuse\",\n";
        let names = names([row.to_owned()].into_iter());
        assert_eq!(names.iter().collect::<Vec<_>>(), ["xfs"]);
        let source = "fn a() { f(\"xfs\", \"an xfs log\") } // \"xfs\"\nmod tests {\n\"xfs\" }";
        assert_eq!(breaches(&names, "crates/core/lab/src/run.rs", source).len(), 1);
        assert!(breaches(&names, "crates/core/lab/tests/run.rs", source).is_empty());
        assert!(breaches(&names, "crates/core/candidate/src/fs/xfs.rs", source).is_empty());
    }
}
