#![allow(dead_code)]

/// True when we are root and have the programs; else prints why not, or panics when
/// `PICKFS_REQUIRE_ROOT_RING=1` says that nothing may be skipped.
pub fn runs(programs: &[&str]) -> bool {
    let Some(reason) = missing(programs) else { return true };
    let required = std::env::var_os("PICKFS_REQUIRE_ROOT_RING").is_some_and(|value| value == "1");
    assert!(!required, "the root ring must run here, but: {reason}");
    println!("SKIPPED(root ring): {reason}");
    false
}

fn missing(programs: &[&str]) -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("not root".into());
    }
    if !std::path::Path::new("/dev/loop-control").exists() {
        return Some("no /dev/loop-control; load the loop module".into());
    }
    let absent = programs.iter().find(|program| !installed(program));
    absent.map(|program| format!("{program} is not installed"))
}

fn installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/sbin".into(), "/usr/sbin".into()])
        .any(|folder: std::path::PathBuf| folder.join(program).exists())
}

pub fn loop_backing(number: u32) -> Option<String> {
    std::fs::read_to_string(format!("/sys/block/loop{number}/loop/backing_file")).ok()
}
