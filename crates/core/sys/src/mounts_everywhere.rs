//! The mounts of every mount namespace, by way of its processes: a device that is mounted in a
//! container, or in another lab's private namespace, is in use, though our own table does not show
//! it.

use crate::mount::{look_at, read_table};
use crate::mount_table::MountEntry;
use crate::proc_root::ProcRoot;
use crate::refused::Refused;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespacedMount {
    /// As the given /proc numbers it.
    pub process_id: u32,
    pub entry: MountEntry,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MountsEverywhere {
    pub mounts: Vec<NamespacedMount>,
    /// If not 0 the answer may be incomplete.
    pub unreadable_process_count: usize,
}

/// Each namespace once. Inside a private pid namespace `/proc` shows only its own processes: give
/// [`ProcRoot::host`].
pub fn mounts_everywhere(proc_root: &ProcRoot) -> Result<MountsEverywhere, Refused> {
    let mut seen = BTreeSet::new();
    let mut everywhere = MountsEverywhere::default();
    for process_id in proc_root.process_ids().map_err(look_at(proc_root.path()))? {
        let process = proc_root.process(process_id);
        match namespace_mounts(&process, &mut seen) {
            Ok(table) => {
                let seen_by = |entry| NamespacedMount { process_id, entry };
                everywhere.mounts.extend(table.into_iter().map(seen_by));
            }
            Err(_) if !process.exists() => {}
            Err(_) => everywhere.unreadable_process_count += 1,
        }
    }
    Ok(everywhere)
}

/// Empty when its namespace was seen before.
fn namespace_mounts(
    process: &Path,
    seen: &mut BTreeSet<PathBuf>,
) -> Result<Vec<MountEntry>, Refused> {
    let link = process.join("ns/mnt");
    let namespace = fs::read_link(&link).map_err(look_at(&link))?;
    if seen.contains(&namespace) {
        return Ok(Vec::new());
    }
    let table = read_table(&process.join("mountinfo"))?;
    seen.insert(namespace);
    Ok(table)
}

/// The mounts of one block device in every namespace: by device number, or by the name of its node
/// (btrfs shows a number of its own). Symbolic links to the node are followed in our namespace.
pub fn mounts_of_device(device: &Path, proc_root: &ProcRoot) -> Result<MountsEverywhere, Refused> {
    let wanted = device_number(device).map_err(look_at(device))?;
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
