#![allow(clippy::unwrap_used)]

use pickfs_journal::{compatibility, durability_markdown};

#[test]
fn the_readme_holds_the_tables_as_they_are() {
    let readme = include_str!("../README.md");
    for table in [compatibility::markdown(), durability_markdown()] {
        assert!(readme.contains(table.trim_end()), "put this into README.md:\n\n{table}");
    }
}
