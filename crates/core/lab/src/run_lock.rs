//! One lab in one run: its folder is locked while the lab lives, whatever ends it. Reading a run
//! needs no lock.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use pickfs_sys::proc_root::ProcRoot;
use rustix::{
    fs::{FlockOperation, flock, major, minor},
    io::Errno,
};
use thiserror::Error;

use crate::launch::RUN_FILE;

#[derive(Debug, Error)]
#[error(
    "run {folder} is running{}; wait for its end, or stop it with kill{}",
    pid.map_or(String::new(), |pid| format!(" (pid {pid})")),
    pid.map_or(" and its number".into(), |pid| format!(" {pid}"))
)]
pub struct Running {
    pub folder: PathBuf,
    /// The lab's process, as this machine numbers it, where the kernel tells.
    pub pid: Option<u32>,
}

#[derive(Debug)]
pub struct RunLock {
    _folder: Option<File>,
}

impl RunLock {
    /// Takes the lock of a run's folder. A file system without locks (some of a network) has no
    /// such guard.
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

/// Removes what killed labs left in a folder of runs: mount points and folders of images, which are empty,
/// and runs without a file in which nothing else lies. Gives each with what came of it.
pub fn clean_left(runs: &Path) -> Vec<(PathBuf, io::Result<()>)> {
    let is_run = |folder: &PathBuf| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let day = name.as_bytes().get(..11).unwrap_or_default();
        day.iter().map(|c| if c.is_ascii_digit() { b'0' } else { *c }).eq(*b"0000-00-00-")
    };
    let mut cleaned = Vec::new();
    for run in folders_in(runs).filter(is_run) {
        // Without a lock nothing shows that no lab works there, and a mount point in use may look empty.
        let Ok(opened) = File::open(&run) else { continue };
        if flock(&opened, FlockOperation::NonBlockingLockExclusive).is_err() {
            continue;
        }
        cleaned.extend(folders_in(&run).filter(|folder| is_of_lab(folder)).map(remove_empty));
        if !run.join(RUN_FILE).exists() {
            cleaned.push(remove_empty(run));
        }
    }
    cleaned.retain(|(_, removed)| !removed.as_ref().is_err_and(is_used));
    cleaned
}

fn is_used(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::ResourceBusy)
}

/// Where a mount point lies that must be passed by everybody.
pub(crate) const OUTSIDE: [&str; 2] = ["/run", "/var/tmp"];

/// Removes the mount points that killed labs of this user left outside their run's folder, which are empty. One
/// that a lab uses looks so too, and has its lock.
pub fn clean_left_outside() -> Vec<(PathBuf, io::Result<()>)> {
    OUTSIDE.iter().flat_map(|above| clean_left_in(Path::new(above))).collect()
}

fn clean_left_in(above: &Path) -> Vec<(PathBuf, io::Result<()>)> {
    let user = rustix::process::geteuid().as_raw();
    let is_ours = |folder: &PathBuf| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let is_named = name.strip_prefix("pickfs-").is_some_and(is_number);
        is_named && fs::symlink_metadata(folder).is_ok_and(|facts| facts.uid() == user)
    };
    let left = folders_in(above).filter(is_ours).filter_map(|folder| {
        let opened = File::open(&folder).ok()?;
        flock(&opened, FlockOperation::NonBlockingLockExclusive).ok()?;
        Some(remove_empty(folder))
    });
    left.filter(|(_, removed)| !removed.as_ref().is_err_and(is_used)).collect()
}

fn remove_empty(folder: PathBuf) -> (PathBuf, io::Result<()>) {
    let removed = fs::remove_dir(&folder);
    (folder, removed)
}

fn folders_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|e| e.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path())
}

/// The mount point, or the folder of an image in memory: `pickfs-ram-0123456789abcdef`.
fn is_of_lab(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    name == "mnt" || name.strip_prefix("pickfs-ram-").is_some_and(is_number)
}

fn is_number(text: &str) -> bool {
    text.len() == 16 && text.chars().all(|c| c.is_ascii_hexdigit())
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

    #[test]
    fn a_mount_point_outside_goes_when_it_is_empty_and_no_lab_holds_it() {
        let above = tempfile::tempdir().expect("a folder");
        let at =
            |number: char| above.path().join(format!("pickfs-{}", number.to_string().repeat(16)));
        let (left, held, full) = (at('1'), at('2'), at('3'));
        let other = above.path().join("pickfs-notes");
        for folder in [&left, &held, &full, &other] {
            fs::create_dir(folder).expect("made");
        }
        fs::write(full.join("theirs"), "").expect("written");
        let _lab = RunLock::take(&held).expect("free");
        let cleaned = clean_left_in(above.path());
        assert!(cleaned.len() == 1 && cleaned[0].0 == left && cleaned[0].1.is_ok(), "{cleaned:?}");
        assert!(!left.exists() && [held, full, other].iter().all(|folder| folder.exists()));
    }

    #[test]
    fn what_a_killed_lab_left_goes_and_what_lives_or_holds_something_stays() {
        let runs = tempfile::tempdir().expect("a folder");
        let at = |name: &str| runs.path().join(name);
        let image = "pickfs-ram-0123456789abcdef";
        for name in ["2026-11-21-quick", "2026-11-21-quick-2", "2026-11-21-kept", "mine"] {
            fs::create_dir_all(at(name).join("mnt")).expect("made");
            fs::create_dir(at(name).join(image)).expect("made");
        }
        fs::write(at("2026-11-21-kept").join(RUN_FILE), "").expect("written");
        fs::create_dir_all(at("2026-11-21-full/mnt/theirs")).expect("made");
        let lives = RunLock::take(&at("2026-11-21-quick-2")).expect("free");
        let cleaned = clean_left(runs.path());
        assert!(cleaned.iter().all(|(_, removed)| removed.is_ok()), "{cleaned:?}");
        let mut gone: Vec<_> = cleaned.into_iter().map(|(folder, _)| folder).collect();
        gone.sort();
        let [first, second] = ["2026-11-21-kept", "2026-11-21-quick"].map(at);
        let within = |run: &Path| [run.join("mnt"), run.join(image)];
        assert_eq!(
            gone,
            [&within(&first)[..], std::slice::from_ref(&second), &within(&second)].concat()
        );
        assert!(at("2026-11-21-full/mnt/theirs").exists() && at("mine/mnt").exists());
        drop(lives);
        assert_eq!(clean_left(runs.path()).len(), 3);
    }
}
