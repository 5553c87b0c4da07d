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
pub use pickfs_testkit::{may_run as have, skipped as skip};

pub type Test = (&'static str, fn());

pub fn run(tests: &[Test]) {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|word| word == "--list") {
        tests.iter().for_each(|(name, _)| println!("{name}: test"));
        return;
    }
    if !have(&["/dev/loop-control"]) {
        return;
    }
    if !namespace::is_private() {
        let status = namespace::run_private(&arguments, &[]).unwrap();
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

pub fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::Builder::new().prefix("pickfs-ring-").tempdir().unwrap();
    let path = folder.path().to_owned();
    (folder, path)
}
