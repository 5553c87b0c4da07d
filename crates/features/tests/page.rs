//! The page `docs/features.md` lists every question as the code asks it.
//!
//! ```text
//! PICKFS_UPDATE_DOCS=1 cargo test -p pickfs-features --test page
//! ```
#![allow(clippy::unwrap_used)]

use std::fmt::Write;
use std::fs;

use pickfs_features::capabilities;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/features.md");

#[test]
fn every_question_is_listed_as_it_is_asked() {
    let mut list = String::from("| asked | how |\n|---|---|\n");
    let mut group = None;
    for capability in capabilities() {
        if group.replace(capability.group) != Some(capability.group) {
            writeln!(list, "| **{}** | |", capability.group.title()).unwrap();
        }
        writeln!(list, "| {} | {} |", capability.label, capability.how).unwrap();
    }
    let text = fs::read_to_string(PAGE).unwrap();
    let (begin, end) = ("<!-- begin questions -->\n", "<!-- end questions -->");
    let (head, rest) = text.split_once(begin).unwrap();
    let (found, tail) = rest.split_once(end).unwrap();
    let wanted = format!("\n{list}\n");
    if std::env::var_os("PICKFS_UPDATE_DOCS").is_some() {
        fs::write(PAGE, format!("{head}{begin}{wanted}{end}{tail}")).unwrap();
    } else {
        assert_eq!(found, wanted, "docs/features.md is stale; see the head of this test");
    }
}
