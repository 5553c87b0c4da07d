//! Whether a run was begun on this machine: its mark is made of the machine's
//! id, which run files do not hold, and of all that the run would do. No
//! signature: it keeps a file from elsewhere from passing for one of here.

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
};

use pickfs_record::{Cell, Plan, RunRecord};

/// Where the mark is kept, among the facts of a run's start.
pub const MARK_KEY: &str = "host.run_mark";

pub fn mark(plan: &Plan, cells: &[Cell]) -> Option<String> {
    marked_by(&id()?, plan, cells)
}

/// The host in digits that name nobody. Clones of one disk share their id, so its name is in it, too.
pub fn host() -> Option<String> {
    let names = rustix::system::uname();
    Some(digits(&(id()?, names.nodename().to_string_lossy())))
}

/// A machine without an id knows its runs until it boots again.
fn id() -> Option<String> {
    let places = ["/etc/machine-id", "/proc/sys/kernel/random/boot_id"];
    let ids = places.iter().filter_map(|place| fs::read_to_string(place).ok());
    ids.map(|id| id.trim().to_owned()).find(|id| id.len() >= 32)
}

pub fn is_made_here(run: &RunRecord) -> bool {
    let kept = run.environment.get(MARK_KEY);
    kept.is_some() && kept.map(str::to_owned) == mark(&run.plan, &run.cells)
}

fn marked_by(id: &str, plan: &Plan, cells: &[Cell]) -> Option<String> {
    Some(digits(&(id, serde_json::to_string(&(plan, cells)).ok()?)))
}

fn digits(of: &impl Hash) -> String {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plans::planned;

    #[test]
    fn another_machine_and_another_command_have_another_mark() {
        let plan = planned("quick");
        let here = marked_by("here", &plan, &[]);
        let text = serde_json::to_string(&plan).expect("a plan is text");
        let stored: Plan = serde_json::from_str(&text).expect("and read again");
        assert_eq!(marked_by("here", &stored, &[]), here);
        assert_ne!(marked_by("there", &plan, &[]), here);
        let mut other = plan.clone();
        other.params.insert("command".into(), "rm -rf /".into());
        assert_ne!(marked_by("here", &other, &[]), here);
    }
}
