//! Every rule of causes has a stack that was recorded from a kernel, or says that it has none yet.

use std::collections::BTreeSet;

use pickfs_explain::cause::{Causes, plain};

const RECORDED: &[(&str, &str)] = &[("linux-6.18", include_str!("../stacks/linux-6.18.txt"))];

fn lines(text: &str) -> impl Iterator<Item = (&str, Vec<&str>)> {
    let told = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    told.map(|line| {
        let (cause, frames) = line.split_once(": ").expect("cause: frames");
        (cause, frames.split(" < ").map(plain).collect())
    })
}

#[test]
fn each_recorded_stack_has_the_name_that_stands_before_it() {
    for (kernel, text) in RECORDED {
        for (cause, frames) in lines(text) {
            let found = Causes::built_in().of(&frames, &[]).map(|cause| cause.name.as_str());
            assert_eq!(found, Some(cause), "{kernel}: {}", frames.join(" < "));
        }
    }
}

#[test]
fn a_rule_is_recorded_or_says_that_it_is_reasoned() {
    let recorded: BTreeSet<&str> =
        RECORDED.iter().flat_map(|(_, text)| lines(text)).map(|(cause, _)| cause).collect();
    for cause in Causes::built_in().all() {
        let is_recorded = recorded.contains(cause.name.as_str());
        assert_ne!(is_recorded, cause.reasoned, "{}: recorded or reasoned?", cause.name);
    }
}
