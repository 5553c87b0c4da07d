//! Loop devices around a device: which stand on it, and what a loop device
//! itself stands on. Loop devices are no holders in sysfs, and their open files
//! belong to no process, so each is asked by its number. Decides nothing.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use pickfs_sys::block::{BlockDevice, BlockFacts};
use pickfs_sys::loop_device::{self, LoopStatus};

/// What is behind a loop device, the same for every way to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behind {
    Device((u32, u32)),
    /// Device and inode number of stat(2).
    File(u64, u64),
}

impl Behind {
    fn of(status: &LoopStatus) -> Self {
        let file = Self::File(status.backing_device, status.backing_inode);
        status.backing_node.map_or(file, Self::Device)
    }

    fn at(path: &Path) -> Option<Self> {
        match BlockDevice::at(path) {
            Ok(device) => Some(Self::Device(device.device_number())),
            Err(_) => path.metadata().ok().map(|facts| Self::File(facts.dev(), facts.ino())),
        }
    }

    pub(crate) fn is_at(self, path: &Path) -> bool {
        Self::at(path) == Some(self)
    }
}

#[derive(Debug)]
pub(crate) struct Footing {
    pub(crate) behind: Behind,
    pub(crate) path: Option<PathBuf>,
    pub(crate) is_part: bool,
    pub(crate) number: u32,
}

impl Footing {
    /// `None`: it is no loop device nor a partition of one.
    pub(crate) fn of(facts: &BlockFacts) -> Option<Result<Self, String>> {
        let name = facts.partition_of.as_ref().unwrap_or(&facts.name);
        let number = name.strip_prefix("loop")?.parse().ok()?;
        let status = match loop_device::status_of(number) {
            Ok(status) => status,
            Err(error) => return Some(Err(error.to_string())),
        };
        let behind = Behind::of(&status);
        let mut paths: Vec<PathBuf> = facts.loop_backing_file.iter().cloned().collect();
        if let Behind::Device((major, minor)) = behind {
            let node = std::fs::canonicalize(format!("/sys/dev/block/{major}:{minor}"));
            let name = node.ok().and_then(|node| Some(node.file_name()?.to_owned()));
            paths.extend(name.map(|name| Path::new("/dev").join(name)));
        }
        let path = paths.into_iter().find(|path| behind.is_at(path));
        Some(Ok(Self { behind, path, is_part: status.is_part, number }))
    }

    pub(crate) fn neighbour(&self) -> Option<String> {
        first_on(&[self.behind], Some(self.number))
    }
}

/// On a device or on the disk of that partition, besides one.
pub(crate) fn over(number: (u32, u32), facts: &BlockFacts, besides: Option<u32>) -> Option<String> {
    let disk = facts.partition_of.as_ref().map(|name| Path::new("/dev").join(name));
    let disk = disk.and_then(|disk| Behind::at(&disk));
    let below: Vec<Behind> = [Behind::Device(number)].into_iter().chain(disk).collect();
    first_on(&below, besides)
}

/// A loop device that does not answer counts by the path that sysfs has of it.
fn first_on(below: &[Behind], besides: Option<u32>) -> Option<String> {
    let mut others = loop_device::attached().into_iter().filter(|one| Some(one.number) != besides);
    let stands = |one: &loop_device::AttachedLoop| {
        let behind = loop_device::status_of(one.number).map(|status| Behind::of(&status)).ok();
        behind.or_else(|| Behind::at(&one.backing_file)).is_some_and(|one| below.contains(&one))
    };
    others.find(stands).map(|one| format!("loop{}", one.number))
}
