#[derive(Debug, Clone, Copy)]
pub struct BuiltInPlan {
    pub name: &'static str,
    pub text: &'static str,
}

macro_rules! plan {
    ($name:literal) => {
        BuiltInPlan {
            name: $name,
            text: include_str!(concat!("../../../../plans/", $name, ".toml")),
        }
    };
}

/// Every built-in plan; adding one is a file in `plans/` and a line here.
pub static PLANS: &[BuiltInPlan] = &[
    plan!("quick"),
    plan!("journal"),
    plan!("trust"),
    plan!("article-001-preallocation"),
    plan!("article-001-readers"),
    plan!("article-001-neighbour"),
    plan!("article-003-ext3-ext4"),
    plan!("seek-write-or-pwrite"),
    plan!("roll"),
    plan!("dispute-latency"),
    plan!("dispute-capacity"),
    plan!("column"),
    plan!("column-tiny"),
    plan!("article-002-rhel9"),
    plan!("article-002-ubuntu"),
    plan!("compression"),
    plan!("files"),
    plan!("files-tiny"),
    plan!("article-004"),
    plan!("article-004-guests"),
    plan!("kernels"),
    plan!("question-noatime"),
    plan!("question-barrier"),
    plan!("queue"),
    plan!("queue-throughput"),
    plan!("queue-read-ahead"),
    plan!("fix"),
    plan!("fix-stores"),
    plan!("article-000"),
    plan!("article-000-ram"),
    plan!("sqlite"),
    plan!("postgresql"),
    plan!("etcd"),
    plan!("git-checkout"),
    plan!("cargo-build"),
    plan!("rocksdb"),
    plan!("redis"),
    plan!("pair"),
    plan!("pair-degrees"),
    plan!("journal-java"),
    plan!("queue-chronicle"),
    plan!("fix-quickfix"),
];

/// The plans that one name runs after each other.
pub const TOUR: (&str, &[&str]) = (
    "tour",
    &["quick", "column-tiny", "files-tiny", "queue", "fix", "article-001-readers", "roll"],
);

pub fn built_in(name: &str) -> Option<&'static BuiltInPlan> {
    PLANS.iter().find(|plan| plan.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::plan_file::read_plan;

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
