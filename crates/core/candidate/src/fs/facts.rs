//! What is known of a file system without asking it: facts.toml is the table.

use std::sync::LazyLock;

use pickfs_record::origin::{Class, Fact, Home, Origin};
use toml::{Table, Value};

static FACTS: LazyLock<Table> = LazyLock::new(|| {
    include_str!("facts.toml").parse().expect("facts.toml is TOML; a test reads it")
});
const LOOKED_UP: &str = "2026-11";

/// `None` where the table has no section of that name.
pub fn of(name: &str) -> Option<Origin> {
    let fact = |key: &str| {
        let pair = value(name, key)?;
        Some(Fact { text: pair.get(0)?.as_str()?, source: pair.get(1)?.as_str()? })
    };
    let article_class =
        [Class::Native, Class::ForeignSupported, Class::ForeignUnsupported].into_iter();
    let class = value(name, "article_of_2011")?.as_str()?;
    Some(Origin {
        home: if value(name, "home")?.as_str()? == "Linux" { Home::Linux } else { Home::Elsewhere },
        is_unix_by_design: value(name, "unix_by_design")?.as_bool()?,
        article_class: article_class.into_iter().find(|known| known.name() == class),
        designed: fact("designed")?,
        purpose: fact("purpose")?,
        stable_since: fact("stable_in_linux")?,
        served_by: fact("served_by")?,
        journal: fact("journal")?,
        devices: fact("devices")?,
        systems: fact("systems")?,
        distributions: fact("distributions")?,
        checksums: fact("checksums")?,
        compression: fact("compression")?,
        snapshots: fact("snapshots")?,
        encryption: fact("encryption")?,
        casefold: fact("case_folding")?,
        limits: fact("limits")?,
        looked_up: LOOKED_UP,
    })
}

/// Of a section, or of the one that it is like.
fn value(name: &str, key: &str) -> Option<&'static Value> {
    let section = FACTS.get(name)?;
    section.get(key).or_else(|| value(section.get("like")?.as_str()?, key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::FILE_SYSTEMS;

    #[test]
    fn every_section_is_of_a_file_system_and_has_every_fact_with_its_source() {
        for name in FACTS.keys() {
            assert!(FILE_SYSTEMS.iter().any(|row| row.name == name), "{name}");
            let origin = of(name).unwrap_or_else(|| panic!("{name}: a fact is missing"));
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
