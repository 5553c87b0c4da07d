use std::{fs, path::Path};

use crate::first_files::EARLY_LIST;
use pickfs_sys::mount::{MountRequest, mount};
use rustix::{
    fs::sync,
    io::Errno,
    system::{RebootCommand, finit_module, reboot},
};

const CHANNEL: &str = "pickfs.channel=";

pub fn channel_name() -> Option<String> {
    let _ = fs::create_dir_all("/proc");
    if !Path::new("/proc/cmdline").exists() {
        let _ = mount(&MountRequest::new("proc", "/proc", "proc"));
    }
    let line = fs::read_to_string("/proc/cmdline").ok()?;
    let name = line.split_whitespace().find_map(|word| word.strip_prefix(CHANNEL))?;
    Some(name.to_owned())
}

/// What kernels and libraries look for. What is there already is left. Says why a module that is needed
/// early was not loaded.
pub fn make_folders() -> Result<(), String> {
    for (source, at) in
        [("devtmpfs", "/dev"), ("sysfs", "/sys"), ("tmpfs", "/tmp"), ("tmpfs", "/run")]
    {
        let _ = fs::create_dir_all(at);
        let _ = mount(&MountRequest::new(source, at, source));
    }
    let _ = fs::create_dir_all("/dev/shm");
    let _ = mount(&MountRequest::new("tmpfs", "/dev/shm", "tmpfs"));
    let early = fs::read_to_string(EARLY_LIST).unwrap_or_default();
    let early: Vec<String> = early.lines().map(str::to_owned).collect();
    load_modules(&early)
}

pub fn load_modules(paths: &[String]) -> Result<(), String> {
    for path in paths {
        let file = fs::File::open(path).map_err(|error| format!("module {path}: {error}"))?;
        match finit_module(&file, c"", 0) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(format!("module {path} not loaded: {error}")),
        }
    }
    Ok(())
}

pub fn kernel_release() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    release.trim().to_owned()
}

pub fn power_off() -> ! {
    sync();
    let _ = reboot(RebootCommand::PowerOff);
    // Process 1 must not end: that is a kernel panic, which ends the guest too, with more noise.
    std::process::exit(1)
}
