//! Where a program of ours may write to a terminal: in one place, which shows what would steer it.

use crate::code::{blanked, line_of};

const PRODUCT: &[&str] = &[
    "crates/core/analysis/src/",
    "crates/core/cli/src/",
    "crates/extras/crash/src/",
    "crates/extras/features/src/",
    "crates/extras/fleet/src/",
    "crates/extras/guest/src/",
    "crates/extras/ranks/src/",
    "crates/core/lab/src/",
    "crates/core/mkfs/src/",
    "crates/extras/explain/src/",
    "crates/core/record/src/",
    "crates/core/report/src/",
    "crates/extras/serve/src/",
    "crates/core/store/src/",
    "crates/core/sys/src/",
    "crates/core/candidate/src/",
    "crates/core/worker/src/",
    "crates/core/workload/src/",
    "crates/engines/workloads/src/",
];

/// Files that may write.
const ALLOWED: &[&str] = &[
    "crates/core/cli/src/terminal.rs",
    // These speak to the lab and to the worker in JSON, which clean what they show.
    "crates/core/worker/src/conversation.rs",
    "crates/core/workload/src/role.rs",
    "crates/extras/crash/src/ground/recorder.rs",
    "crates/extras/features/src/inside.rs",
    // A guest without a line to its lab; cleaned there.
    "crates/extras/guest/src/agent/mod.rs",
    // What is to become an engine has no lab to tell; its words are ours.
    "crates/extras/guest/src/lib.rs",
    "crates/extras/ranks/src/rank/words.rs",
];

const WRITERS: &[&str] =
    &["println!(", "print!(", "eprintln!(", "eprint!(", "stdout().lock()", "stderr().lock()"];

/// Tests may print.
pub fn breaches(path: &str, source: &str) -> Vec<String> {
    let is_wanted = PRODUCT.iter().any(|of| path.starts_with(of));
    if !is_wanted || ALLOWED.iter().any(|of| path.starts_with(of)) {
        return Vec::new();
    }
    let text = blanked(source);
    let text = text.split("mod tests {").next().unwrap_or_default();
    let found = WRITERS.iter().flat_map(|writer| text.match_indices(writer));
    let whole = found.filter(|(at, _)| !text[..*at].ends_with(|c: char| c.is_alphanumeric()));
    whole
        .map(|(at, writer)| {
            let line = line_of(text, at);
            format!("line {line}: {writer} may stand only in {}", ALLOWED[0])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_of_the_product_prints_in_one_place() {
        let source = "fn a() { eprintln!(\"x\") }\nmod tests {\nfn b() { println!() } }\n";
        assert_eq!(breaches("crates/core/lab/src/run.rs", source).len(), 1);
        assert_eq!(breaches("crates/core/candidate/src/knob.rs", source).len(), 1);
        assert_eq!(breaches("crates/extras/guest/src/agent/system.rs", source).len(), 1);
        assert!(breaches("crates/core/cli/src/terminal.rs", source).is_empty());
        assert!(breaches("crates/core/lab/tests/run.rs", source).is_empty());
        assert!(breaches("crates/core/lab/src/run.rs", "//! println!(\"x\")\n").is_empty());
    }
}
