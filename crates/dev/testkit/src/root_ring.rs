use std::{env, path::PathBuf};

/// Whether a test of the root ring may run: as root, and with the programs or whole paths that it
/// needs. Otherwise the reason is said; `PICKFS_REQUIRE_ROOT_RING=1` makes that a failure.
pub fn may_run(needs: &[&str]) -> bool {
    if !rustix::process::geteuid().is_root() {
        return skipped("not root");
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    let folders: Vec<_> = env::split_paths(&path).chain(system).collect();
    let is_absent = |need: &&&str| !folders.iter().any(|folder| folder.join(need).exists());
    needs.iter().find(is_absent).is_none_or(|need| skipped(&format!("{need} not found")))
}

/// Ends a test that may not run here; whoever says so has said why.
#[macro_export]
macro_rules! only_if {
    ($may_run:expr) => {
        if !$may_run {
            return;
        }
    };
}

/// Says why a test does not run. Always false.
pub fn skipped(reason: &str) -> bool {
    let is_required = env::var("PICKFS_REQUIRE_ROOT_RING").is_ok_and(|value| value == "1");
    assert!(!is_required, "the root ring is required, and cannot run: {reason}");
    println!("SKIPPED(root ring): {reason}");
    false
}
