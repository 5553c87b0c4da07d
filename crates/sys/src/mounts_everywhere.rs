//! The mounts of the whole machine: those of every mount namespace, by way of its processes. Not the
//! mounts that this process sees: those are `mount::mounts`.
//!
//! A device that is mounted in a container, or in another lab's private namespace, is in use, though
//! our own table does not show it.
//!
//! ```
//! use pickfs_sys::{mount::mounts_everywhere, proc_root::ProcRoot};
//! assert!(!mounts_everywhere(&ProcRoot::host())?.mounts.is_empty());
//! # Ok::<(), pickfs_sys::mount::MountError>(())
//! ```

use crate::mount::{MountError, read_table};
use crate::mount_table::MountEntry;
use crate::proc_root::ProcRoot;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

/// A mount somewhere on this machine, seen by way of one process of its mount namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespacedMount {
    /// A process of that namespace, as the given /proc numbers it.
    pub process_id: u32,
    /// The namespace, as `/proc/PID/ns/mnt` names it.
    pub namespace: String,
    /// The mount.
    pub entry: MountEntry,
}

/// The mounts of a machine, and how much of it could not be looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MountsEverywhere {
    /// What was found.
    pub mounts: Vec<NamespacedMount>,
    /// Processes whose namespace or table could not be read; not zero means that the answer may
    /// be incomplete.
    pub unreadable_process_count: usize,
}

/// The mounts in every mount namespace that has a process in `proc_root`, each namespace once.
///
/// Inside a private pid namespace `/proc` shows only its own processes: give [`ProcRoot::host`].
pub fn mounts_everywhere(proc_root: &ProcRoot) -> Result<MountsEverywhere, MountError> {
    let mut seen = BTreeSet::new();
    let mut everywhere = MountsEverywhere::default();
    let listed = proc_root.process_ids();
    let listed =
        listed.map_err(|cause| MountError::Table { path: proc_root.path().to_owned(), cause })?;
    for process_id in listed {
        let process = proc_root.process(process_id);
        match namespace_mounts(&process, &mut seen) {
            Ok((namespace, table)) => {
                everywhere.mounts.extend(table.into_iter().map(|entry| NamespacedMount {
                    process_id,
                    namespace: namespace.clone(),
                    entry,
                }));
            }
            Err(_) if !process.exists() => {}
            Err(_) => everywhere.unreadable_process_count += 1,
        }
    }
    Ok(everywhere)
}

/// The table of a process whose namespace was not seen before; empty when it was.
fn namespace_mounts(
    process: &Path,
    seen: &mut BTreeSet<String>,
) -> Result<(String, Vec<MountEntry>), MountError> {
    let link = process.join("ns/mnt");
    let namespace = fs::read_link(&link).map_err(|cause| MountError::Path { path: link, cause })?;
    let namespace = namespace.to_string_lossy().into_owned();
    if seen.contains(&namespace) {
        return Ok((namespace, Vec::new()));
    }
    let table = read_table(&process.join("mountinfo"))?;
    seen.insert(namespace.clone());
    Ok((namespace, table))
}

/// The mounts of one block device in every namespace: by device number, or by the name of its node
/// (btrfs shows a number of its own). Symbolic links to the node are followed in our namespace.
pub fn mounts_of_device(
    device: &Path,
    proc_root: &ProcRoot,
) -> Result<MountsEverywhere, MountError> {
    let wanted = device_number(device)
        .map_err(|cause| MountError::Path { path: device.to_owned(), cause })?;
    let mut everywhere = mounts_everywhere(proc_root)?;
    everywhere.mounts.retain(|mount| {
        let entry = &mount.entry;
        (entry.major, entry.minor) == wanted
            || entry.source == device
            || device_number(&entry.source).is_ok_and(|number| number == wanted)
    });
    Ok(everywhere)
}

fn device_number(path: &Path) -> io::Result<(u32, u32)> {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    let metadata = fs::metadata(path)?;
    if !metadata.file_type().is_block_device() {
        return Err(io::Error::from_raw_os_error(libc::ENOTBLK));
    }
    let number = metadata.rdev();
    Ok((rustix::fs::major(number), rustix::fs::minor(number)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mount::mounts;

    #[test]
    fn our_own_mounts_are_among_the_mounts_everywhere() {
        let everywhere = mounts_everywhere(&ProcRoot::own()).unwrap();
        let ours = mounts().unwrap();
        let found = |entry: &MountEntry| everywhere.mounts.iter().any(|m| m.entry == *entry);
        assert!(ours.iter().any(found));
    }
}
