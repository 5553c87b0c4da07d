use crate::answers::{Capability, Group};

use crate::probe::Probe;
use crate::probes;

pub fn questions() -> impl Iterator<Item = &'static Probe> {
    probes::ALL.iter().flat_map(|group| group.iter())
}

const TABLE: &str = include_str!("capabilities.psv");
const GROUPS: [Group; 7] = [
    Group::Unix,
    Group::Names,
    Group::Renames,
    Group::Space,
    Group::Data,
    Group::Time,
    Group::Service,
];

/// In the order of the questions.
pub fn capabilities() -> Vec<Capability> {
    questions().map(|probe| capability(probe.key)).collect()
}

/// The row of a key; tests see that each probe has one.
pub fn capability(key: &str) -> Capability {
    let mut rows = TABLE.lines().filter_map(row);
    rows.find(|row| row.key == key).expect("each probe has its row in capabilities.psv")
}

fn row(line: &'static str) -> Option<Capability> {
    let mut cells = line.split('|').map(str::trim);
    let (name, key, label, how) = (cells.next()?, cells.next()?, cells.next()?, cells.next()?);
    let group = GROUPS.into_iter().find(|group| format!("{group:?}") == name)?;
    Some(Capability { key, label, group, how })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn keys_are_unique_labels_are_short_and_groups_stand_together() {
        let all = capabilities();
        let keys: BTreeSet<_> = all.iter().map(|capability| capability.key).collect();
        assert_eq!(keys.len(), all.len());
        assert_eq!(TABLE.lines().filter_map(row).collect::<Vec<_>>(), all);
        assert_eq!(TABLE.lines().count(), 1 + all.len());
        for capability in &all {
            assert!(capability.label.chars().count() <= 26, "{}", capability.label);
            assert!(capability.how.ends_with('.'), "{}", capability.key);
        }
        let groups: Vec<_> = all.iter().map(|capability| capability.group).collect();
        assert!(groups.is_sorted(), "{groups:?}");
    }
}
