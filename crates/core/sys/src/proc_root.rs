//! Which /proc to ask: ours, or that of the machine. In a private pid namespace `/proc` shows only
//! the processes inside; `namespace::run_private` keeps a descriptor of the /proc outside, and
//! [`ProcRoot::host`] finds it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub(crate) const HOST_PROC_FD: &str = "PICKFS_HOST_PROC_FD";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcRoot {
    path: PathBuf,
}

impl ProcRoot {
    pub fn own() -> Self {
        Self { path: "/proc".into() }
    }

    /// The procfs from outside our private namespace, when we are in one; else `/proc`.
    pub fn host() -> Self {
        inherited().map_or_else(Self::own, |path| Self { path })
    }

    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn process(&self, process_id: u32) -> PathBuf {
        self.path.join(process_id.to_string())
    }

    pub fn process_ids(&self) -> io::Result<Vec<u32>> {
        let entries = fs::read_dir(&self.path)?;
        let mut ids: Vec<u32> =
            entries.flatten().filter_map(|e| e.file_name().to_str()?.parse().ok()).collect();
        ids.sort_unstable();
        Ok(ids)
    }
}

fn inherited() -> Option<PathBuf> {
    let number: u32 = std::env::var(HOST_PROC_FD).ok()?.parse().ok()?;
    let path = PathBuf::from(format!("/proc/self/fd/{number}/"));
    let kind = rustix::fs::statfs(&path).ok()?.f_type;
    (kind as u64 == rustix::fs::PROC_SUPER_MAGIC as u64).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn we_are_among_the_processes_of_our_own_proc() {
        assert!(ProcRoot::own().process_ids().unwrap().contains(&std::process::id()));
    }

    #[test]
    fn only_numbers_are_processes() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["12", "3", "self", "4x"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        assert_eq!(ProcRoot::at(folder.path()).process_ids().unwrap(), [3, 12]);
    }
}
