use pickfs_record::Plan;

use crate::plan_file::{PlanError, read_plan};

#[derive(Debug, Clone, Copy)]
pub struct BuiltInPlan {
    pub name: &'static str,
    /// What people who choose it have before them; plans of one group stand together.
    pub group: &'static str,
    pub text: &'static str,
}

impl BuiltInPlan {
    pub fn read(&self) -> Result<Plan, PlanError> {
        read_plan(self.name, self.text)
    }
}

macro_rules! plans {
    ($($group:literal: $($name:literal),+;)+) => {
        &[$($(BuiltInPlan {
            name: $name,
            group: $group,
            text: include_str!(concat!("../../../../plans/", $name, ".toml")),
        }),+),+]
    };
}

/// Every built-in plan; adding one is a file in `plans/`, its name here, and in `tests/questions.rs` what answers it.
pub static PLANS: &[BuiltInPlan] = plans! {
    "a journal of your own":
        "quick",
        "journal",
        "dispute-latency",
        "dispute-capacity",
        "article-001-preallocation",
        "article-001-readers",
        "article-001-neighbour",
        "article-003-ext3-ext4",
        "roll",
        "seek-write-or-pwrite";
    "mount options and kernels":
        "question-noatime",
        "question-barrier",
        "kernels";
    "queues, FIX engines, replicas":
        "queue",
        "queue-throughput",
        "queue-read-ahead",
        "fix",
        "fix-stores",
        "article-000",
        "article-000-ram",
        "pair",
        "pair-degrees";
    "a column store":
        "column-tiny",
        "column",
        "compression",
        "article-002-rhel9",
        "article-002-ubuntu",
        "article-002-guests";
    "files, large and small":
        "files-tiny",
        "files",
        "article-004",
        "article-004-guests",
        "article-004-guests-large";
    "programs as they are":
        "postgresql",
        "sqlite",
        "etcd",
        "redis",
        "rocksdb",
        "git-checkout",
        "cargo-build";
    "Java's own":
        "journal-java",
        "queue-chronicle",
        "fix-quickfix";
    "this machine":
        "trust";
};

/// The plans that one name runs after each other.
pub const TOUR: (&str, &[&str]) =
    ("tour", &["quick", "column-tiny", "files-tiny", "queue", "fix", "pair"]);

pub fn built_in(name: &str) -> Option<&'static BuiltInPlan> {
    PLANS.iter().find(|plan| plan.name == name)
}

#[cfg(test)]
pub(crate) fn planned(name: &str) -> Plan {
    built_in(name).expect("a plan").read().expect("a good plan")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_seed_is_drawn_for_each_run_unless_the_plan_names_one() {
        let seed = |text: &str| read_plan("a.toml", text).expect("a good plan").design.seed;
        let drawn: BTreeSet<u64> =
            (0..4).flat_map(|_| PLANS.iter().map(|p| seed(p.text))).collect();
        assert!(drawn.len() > 3 * PLANS.len(), "{drawn:?}");
        let quick = super::built_in("quick").expect("a plan").text;
        assert_eq!(seed(&quick.replace("blocks = 60", "blocks = 60\nseed = 11")), 11);
    }

    #[test]
    fn every_plan_file_is_built_in() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../plans");
        for entry in std::fs::read_dir(folder).expect("the folder of plans") {
            let path = entry.expect("an entry").path();
            let name = path.file_stem().and_then(|stem| stem.to_str()).expect("a name");
            assert!(built_in(name).is_some(), "{name} is not in the table");
        }
    }
}
