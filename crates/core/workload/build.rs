use std::{path::Path, process::Command};

const HEADS: &str = "../../../.git/logs/HEAD";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let version = env!("CARGO_PKG_VERSION");
    let build = match commit() {
        Some(commit) => format!("{version}+{commit}"),
        None => version.to_owned(),
    };
    println!("cargo::rustc-env=PICKFS_BUILD={build}");
    println!("cargo::rerun-if-env-changed=PICKFS_COMMIT");
    // A path that is not there would make every build a new one.
    if Path::new(HEADS).exists() {
        println!("cargo::rerun-if-changed={HEADS}");
    }
}

fn commit() -> Option<String> {
    if let Ok(given) = std::env::var("PICKFS_COMMIT") {
        return Some(given).filter(|commit| !commit.is_empty());
    }
    let output = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output().ok()?;
    let commit = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !commit.is_empty()).then_some(commit)
}
