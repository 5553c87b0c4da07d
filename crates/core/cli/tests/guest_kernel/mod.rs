#![allow(dead_code, clippy::unwrap_used)]

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::{OnceLock, mpsc},
    thread,
    time::Duration,
};

use pickfs_guest::{Engine, Kernel, PackageCache};
use pickfs_testkit::until;
use rustix::process::{Pid, Signal, kill_process};

/// With `PICKFS_REQUIRE_GUESTS=1` none is a failure.
pub fn kernel() -> Option<(PathBuf, Kernel)> {
    static FOUND: OnceLock<Result<(PathBuf, Kernel), String>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guest-kernels");
        fs::create_dir_all(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        let kernel = Engine::QemuTcg.kernel(&PackageCache::at(&folder), None);
        Ok((folder, kernel.map_err(|error| error.to_string())?))
    });
    match found {
        Ok(found) => Some(found.clone()),
        Err(why) => {
            let required = std::env::var("PICKFS_REQUIRE_GUESTS").is_ok_and(|value| value == "1");
            assert!(!required, "guests must run here: {why}");
            println!("SKIPPED(guests): {why}");
            None
        }
    }
}

pub fn engines_over(folder: &Path) -> Vec<Pid> {
    let folder = folder.to_string_lossy().into_owned();
    let own = std::process::id() as i32;
    let number = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().parse::<i32>().ok();
    let mut found: Vec<i32> = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| {
            let line = fs::read(entry.path().join("cmdline")).ok()?;
            let line = String::from_utf8_lossy(&line).into_owned();
            let is_engine = line.contains("qemu-system") && !line.contains("-guest\0");
            number(&entry).filter(|pid| *pid != own && is_engine && line.contains(&folder))
        })
        .collect();
    found.sort_unstable();
    found.into_iter().filter_map(Pid::from_raw).collect()
}

pub fn signal_engine(folder: &Path, signal: Signal) {
    // One look: while it becomes its program, a process has no command line for a moment.
    let reached = |pid: &Pid| kill_process(*pid, signal).is_ok();
    until("an engine", || engines_over(folder).into_iter().find(reached));
}

pub fn wait_until_gone(folder: &Path) {
    until("the end of the guest", || engines_over(folder).is_empty().then_some(()));
}

/// One that takes longer is asked to end, which takes away what it made.
pub fn output_within(minutes: u64, command: &mut Command) -> Output {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.unwrap();
    let (pid, (sender, ended)) = (Pid::from_child(&child), mpsc::channel());
    thread::spawn(move || sender.send(child.wait_with_output()));
    match ended.recv_timeout(Duration::from_secs(minutes * 60)) {
        Ok(output) => output.unwrap(),
        Err(_) => {
            kill_process(pid, Signal::TERM).unwrap();
            let said = ended.recv_timeout(Duration::from_secs(30));
            panic!("not ended within {minutes} minutes: {command:?}, {said:?}");
        }
    }
}
