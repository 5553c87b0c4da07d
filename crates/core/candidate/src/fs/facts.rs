//! What is known of a file system without asking it: the page docs/origins.md is the table.

use pickfs_record::origin::{Class, Fact, Home, Origin};

const PAGE: &str = include_str!("../../../../../docs/origins.md");
const LOOKED_UP: &str = "2026-11";

/// `None` where the page has no section of that name.
pub fn of(name: &str) -> Option<Origin> {
    let fact = |what: &str| cell(name, what);
    let article_class =
        [Class::Native, Class::ForeignSupported, Class::ForeignUnsupported].into_iter();
    let class = fact("article of 2011")?.text;
    Some(Origin {
        home: if fact("home")?.text == "Linux" { Home::Linux } else { Home::Elsewhere },
        is_unix_by_design: fact("Unix by design")?.text == "yes",
        article_class: article_class.into_iter().find(|known| known.name() == class),
        designed: fact("designed")?,
        purpose: fact("for")?,
        stable_since: fact("stable in Linux")?,
        served_by: fact("served by")?,
        journal: fact("journal")?,
        devices: fact("several devices")?,
        systems: fact("other systems")?,
        distributions: fact("distributions")?,
        checksums: fact("checksums")?,
        compression: fact("compression")?,
        snapshots: fact("snapshots")?,
        encryption: fact("encryption")?,
        casefold: fact("case folding")?,
        limits: fact("limits of the format")?,
        looked_up: LOOKED_UP,
    })
}

/// The row of a section, or of the one that it is like.
fn cell(name: &str, what: &str) -> Option<Fact> {
    let section = PAGE.split("\n## ").find(|section| section.lines().next() == Some(name))?;
    let own = section.lines().find_map(|line| {
        let mut cells = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ");
        cells
            .next()?
            .split(", ")
            .any(|name| name == what)
            .then_some(Fact { text: cells.next()?, source: cells.next()? })
    });
    let base = || section.lines().find_map(|line| line.strip_prefix("As ")?.split(',').next());
    own.or_else(|| cell(base()?, what))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::FILE_SYSTEMS;

    #[test]
    fn every_section_is_of_a_file_system_and_has_every_fact_with_its_source() {
        for section in PAGE.split("\n## ").skip(1) {
            let name = section.lines().next().unwrap();
            assert!(FILE_SYSTEMS.iter().any(|row| row.name == name), "{name}");
            let origin = of(name).unwrap_or_else(|| panic!("{name}: a row is missing"));
            for (what, fact) in origin.facts() {
                let is_short = (3..=160).contains(&fact.text.chars().count());
                assert!(is_short && !fact.text.ends_with('.'), "{name}: {what}");
                assert!(fact.source.chars().count() > 5, "{name}: source of {what}");
            }
        }
        assert_eq!(of("ext2-fuse2fs").unwrap().journal.text, "none");
        assert_eq!(of("minix"), None);
    }
}
