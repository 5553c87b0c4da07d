//! Which /proc to ask: ours, or that of the machine. Not a reader of its files.
//!
//! In a private pid namespace `/proc` shows only the processes inside. The program that entered one
//! by `namespace::run_private` keeps a descriptor of the /proc outside, and [`ProcRoot::host`] finds
//! it, so that questions about the whole machine (who has this device mounted or open?) still get
//! whole answers.
//!
//! ```
//! use pickfs_sys::proc_root::ProcRoot;
//! assert!(ProcRoot::host().process_ids()?.contains(&1));
//! # Ok::<(), std::io::Error>(())
//! ```

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The environment variable that holds the number of the inherited descriptor.
pub(crate) const HOST_PROC_FD: &str = "PICKFS_HOST_PROC_FD";

/// A mounted procfs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcRoot {
    path: PathBuf,
}

impl ProcRoot {
    /// The procfs of our own pid namespace: `/proc`.
    pub fn own() -> Self {
        Self { path: "/proc".into() }
    }

    /// The procfs from outside our private namespace, when we are in one; else `/proc`.
    pub fn host() -> Self {
        inherited().map_or_else(Self::own, |path| Self { path })
    }

    /// Any directory with the layout of procfs.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory of one process.
    pub fn process(&self, process_id: u32) -> PathBuf {
        self.path.join(process_id.to_string())
    }

    /// The processes that it shows, in order.
    pub fn process_ids(&self) -> io::Result<Vec<u32>> {
        let entries = fs::read_dir(&self.path)?;
        let mut ids: Vec<u32> =
            entries.flatten().filter_map(|e| e.file_name().to_str()?.parse().ok()).collect();
        ids.sort_unstable();
        Ok(ids)
    }
}

/// The inherited /proc, if there is one and it is a procfs.
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
