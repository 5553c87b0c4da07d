//! The root ring's guard and its private room. Tests here need root, loop
//! devices and the file systems' own programs; where something is missing they
//! say so and are skipped, unless PICKFS_REQUIRE_ROOT_RING=1 makes that a failure.
//!
//! A ring program runs itself again in private mount and pid namespaces, so
//! that no mount, loop device or daemon of a test can stay behind.
#![allow(dead_code, clippy::unwrap_used)]

pub mod zram;

use std::path::PathBuf;

use pickfs_sys::namespace;
use pickfs_target::availability::find_program;

pub type Test = (&'static str, fn());

pub fn run(tests: &[Test]) {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|word| word == "--list") {
        tests.iter().for_each(|(name, _)| println!("{name}: test"));
        return;
    }
    if !may_run() {
        return;
    }
    if !namespace::is_private() {
        let status = namespace::run_private(&arguments).unwrap();
        std::process::exit(namespace::exit_code(status));
    }
    let filters: Vec<_> = arguments.iter().filter(|word| !word.starts_with('-')).collect();
    let wanted = |name: &str| filters.is_empty() || filters.iter().any(|f| name.contains(*f));
    let mut failed = Vec::new();
    for (name, test) in tests.iter().filter(|(name, _)| wanted(name)) {
        let passed = std::panic::catch_unwind(test).is_ok();
        println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
        if !passed {
            failed.push(*name);
        }
    }
    assert!(failed.is_empty(), "failed: {}", failed.join(", "));
}

fn may_run() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let root = status.lines().any(|line| line.starts_with("Uid:\t0\t0"));
    let gap = match root {
        false => Some("not root".to_string()),
        true if !std::path::Path::new("/dev/loop-control").exists() => {
            Some("no /dev/loop-control".into())
        }
        true => None,
    };
    gap.is_none_or(|reason| skip(&reason))
}

/// Otherwise the test is to return at once.
pub fn have(programs: &[&str]) -> bool {
    let missing = programs.iter().find(|program| find_program(program).is_none());
    missing.is_none_or(|program| skip(&format!("{program} not found")))
}

/// Fails where it must not be skipped. Always false.
pub fn skip(reason: &str) -> bool {
    let required = std::env::var("PICKFS_REQUIRE_ROOT_RING").is_ok_and(|value| value == "1");
    assert!(!required, "the root ring is required, and cannot run: {reason}");
    println!("SKIPPED(root ring): {reason}");
    false
}

pub fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::Builder::new().prefix("pickfs-ring-").tempdir().unwrap();
    let path = folder.path().to_owned();
    (folder, path)
}
