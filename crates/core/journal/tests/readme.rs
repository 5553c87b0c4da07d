#![allow(clippy::unwrap_used)]

use pickfs_journal::durability_markdown;

#[test]
fn the_readme_holds_the_table_as_it_is() {
    let table = durability_markdown();
    let readme = include_str!("../README.md");
    assert!(readme.contains(table.trim_end()), "put this into README.md:\n\n{table}");
}
