//! The folder that is to hold an image: what it is on, and whether there is
//! room. An image never takes its file system under one tenth free.

use std::path::Path;

use pickfs_sys::mount::{self, FileSystemUse};

use crate::error::TargetError;

/// What the file system under a folder does with writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HostKind {
    /// Writes in place.
    InPlace,
    /// Copies on write unless a file is told not to.
    CopyOnWrite,
    /// Copies on write always.
    CopyOnWriteAlways,
    /// Memory: there is no device.
    Memory,
}

/// The file system under a folder.
pub(crate) struct HostFolder {
    /// Its type.
    pub(crate) fs_type: String,
    /// What it does with writes.
    pub(crate) kind: HostKind,
    /// Major and minor number of its device.
    pub(crate) device_number: (u32, u32),
    /// What is mounted there: a device node, mostly.
    pub(crate) source: String,
    space: FileSystemUse,
}

impl HostFolder {
    /// Asks the kernel about a folder.
    pub(crate) fn at(directory: &Path) -> Result<Self, TargetError> {
        let entry = mount::mount_of(directory)?;
        Ok(Self {
            kind: kind_of(&entry.fs_type),
            device_number: (entry.major, entry.minor),
            source: entry.source.to_string_lossy().into_owned(),
            fs_type: entry.fs_type,
            space: mount::file_system_use(directory)?,
        })
    }

    /// Refuses an image that would leave under one tenth free.
    pub(crate) fn check_room(&self, directory: &Path, size_bytes: u64) -> Result<(), TargetError> {
        let total_bytes = self.space.total_bytes;
        let left_bytes = self.space.available_bytes.saturating_sub(size_bytes);
        if size_bytes <= self.space.available_bytes && left_bytes >= total_bytes / 10 {
            return Ok(());
        }
        let directory = directory.to_owned();
        Err(TargetError::HostTooFull { directory, size_bytes, left_bytes, total_bytes })
    }
}

fn kind_of(fs_type: &str) -> HostKind {
    match fs_type {
        "tmpfs" | "ramfs" | "devtmpfs" => HostKind::Memory,
        "btrfs" | "bcachefs" => HostKind::CopyOnWrite,
        "zfs" | "nilfs2" | "fuse.zfs" => HostKind::CopyOnWriteAlways,
        _ => HostKind::InPlace,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(total_bytes: u64, available_bytes: u64) -> HostFolder {
        let space = FileSystemUse {
            type_number: 0,
            block_bytes: 4096,
            total_bytes,
            free_bytes: available_bytes,
            available_bytes,
            inode_count: 0,
        };
        let (kind, device_number) = (HostKind::InPlace, (8, 1));
        HostFolder {
            fs_type: "ext4".into(),
            kind,
            device_number,
            source: "/dev/sda1".into(),
            space,
        }
    }

    #[test]
    fn an_image_may_take_all_but_one_tenth() {
        let room = |size| folder(1000, 500).check_room(Path::new("/x"), size);
        assert!(room(400).is_ok());
        assert_eq!(
            room(401).unwrap_err().to_string(),
            "an image of 401 bytes would leave 99 of 1000 bytes free in /x, under one tenth; \
             ask for a smaller image or name another folder"
        );
        assert!(room(u64::MAX).is_err());
    }
}
