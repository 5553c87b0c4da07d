//! Gives the crate its build identity: the version, and the commit when git knows one.

use std::process::Command;

fn main() {
    let version = env!("CARGO_PKG_VERSION");
    let build = match commit() {
        Some(commit) => format!("{version}+{commit}"),
        None => version.to_owned(),
    };
    println!("cargo::rustc-env=PICKFS_BUILD={build}");
    println!("cargo::rerun-if-env-changed=PICKFS_COMMIT");
    println!("cargo::rerun-if-changed=../../.git/logs/HEAD");
}

fn commit() -> Option<String> {
    if let Ok(given) = std::env::var("PICKFS_COMMIT") {
        return Some(given).filter(|commit| !commit.is_empty());
    }
    let output = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output().ok()?;
    let commit = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !commit.is_empty()).then_some(commit)
}
