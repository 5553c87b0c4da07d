//! One lab in one run: its folder is locked while the lab lives, whatever ends it. Reading a run needs no
//! lock.
//!
//! ```
//! use pickfs_lab::run_lock::RunLock;
//! let folder = tempfile::tempdir()?;
//! let first = RunLock::take(folder.path());
//! assert!(first.is_ok() && RunLock::take(folder.path()).is_err());
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Source: flock(2), proc_locks(5).

use std::{
    fs::{self, File},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use pickfs_sys::proc_root::ProcRoot;
use rustix::{
    fs::{FlockOperation, flock, major, minor},
    io::Errno,
};
use thiserror::Error;

/// Another lab works in the folder.
#[derive(Debug, Error)]
#[error(
    "run {folder} is running{}; wait for its end, or stop it with kill{}",
    pid.map_or(String::new(), |pid| format!(" (pid {pid})")),
    pid.map_or(" and its number".into(), |pid| format!(" {pid}"))
)]
pub struct Running {
    /// The run's folder.
    pub folder: PathBuf,
    /// The lab's process, as this machine numbers it, where the kernel tells.
    pub pid: Option<u32>,
}

/// Held as long as the lab lives.
#[derive(Debug)]
pub struct RunLock {
    _folder: Option<File>,
}

impl RunLock {
    /// Takes the lock of a run's folder. A file system without locks (some of a network) has no such
    /// guard.
    ///
    /// # Errors
    /// When another lab holds it.
    pub fn take(folder: &Path) -> Result<RunLock, Running> {
        let Ok(opened) = File::open(folder) else { return Ok(RunLock { _folder: None }) };
        match flock(&opened, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => {
                Err(Running { folder: folder.into(), pid: holder_of(&opened) })
            }
            Ok(()) | Err(_) => Ok(RunLock { _folder: Some(opened) }),
        }
    }
}

/// `1: FLOCK  ADVISORY  WRITE 1234 08:01:131 0 EOF`: process, then device and inode.
fn holder_of(file: &File) -> Option<u32> {
    let about = file.metadata().ok()?;
    let (device, inode) = (about.dev(), about.ino());
    let wanted = format!("{:02x}:{:02x}:{inode}", major(device), minor(device));
    let locks = fs::read_to_string(ProcRoot::host().path().join("locks")).ok()?;
    let words = locks.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let mut held = words.filter(|words| words.get(1) == Some(&"FLOCK"));
    let ours = held.find(|words| words.get(5) == Some(&wanted.as_str()))?;
    ours.get(4)?.parse().ok().filter(|pid| *pid > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_lab_is_told_who_the_first_one_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let lock = RunLock::take(folder.path()).expect("free");
        let told = RunLock::take(folder.path()).expect_err("held");
        let on_btrfs_or_overlay = told.pid.is_none();
        assert!(on_btrfs_or_overlay || told.pid == Some(std::process::id()), "{told}");
        assert!(told.to_string().contains("is running"), "{told}");
        drop(lock);
        RunLock::take(folder.path()).expect("free again");
    }
}
