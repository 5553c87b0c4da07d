use pickfs_record::features::{Answer, Capability};

use crate::probe::Probe;
use crate::probes;
use crate::room::Room;

pub fn questions() -> impl Iterator<Item = &'static Probe> {
    probes::ALL.iter().flat_map(|group| group.iter())
}

pub fn capabilities() -> Vec<Capability> {
    questions().map(|probe| probe.capability).collect()
}

/// Asks in a room; `keys` empty asks everything. `begun` hears each question before it is put.
/// Answers come in the order of the table. Each probe leaves a folder of its own in the room.
pub fn ask(
    room: &Room,
    keys: &[&str],
    begun: &mut dyn FnMut(&Capability),
) -> Vec<(Capability, Answer)> {
    let wanted = |probe: &&Probe| keys.is_empty() || keys.contains(&probe.capability.key);
    let asked = questions().filter(wanted).map(|probe| {
        begun(&probe.capability);
        (probe.capability, probe.ask(room))
    });
    asked.collect()
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
        for capability in &all {
            assert!(capability.label.chars().count() <= 26, "{}", capability.label);
            assert!(capability.how.ends_with('.'), "{}", capability.key);
        }
        let groups: Vec<_> = all.iter().map(|capability| capability.group).collect();
        assert!(groups.is_sorted(), "{groups:?}");
    }
}
