//! The folder that is to hold an image: what it is on, and whether there is
//! room. An image never takes its file system under one tenth free, nor its other users'
//! room under [`LEFT_FOR_OTHERS_BYTES`].

use std::path::Path;

use pickfs_record::BackingKind;
use pickfs_sys::mount::{self, FileSystemUse};

use crate::error::TargetError;
use crate::fs::{self, HostKind};
use crate::image::check_size;
use crate::memory;

/// Room that an image leaves to other programs, where one tenth of the file system is more: a
/// large reserve or a quota counts as free (an allocator sees it so), but nobody can write there.
const LEFT_FOR_OTHERS_BYTES: u64 = 1 << 30;

#[derive(Debug)]
pub(crate) struct HostFolder {
    pub(crate) fs_type: String,
    pub(crate) kind: HostKind,
    /// Major 0: there is none.
    pub(crate) device_number: (u32, u32),
    pub(crate) source: String,
    space: FileSystemUse,
}

impl HostFolder {
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

    /// The folder has room for an image of that size, which is of this kind unless the folder is in memory.
    pub(crate) fn of_image(
        directory: &Path,
        size_bytes: u64,
        kind: BackingKind,
    ) -> Result<(Self, BackingKind), TargetError> {
        let host = Self::at(directory)?;
        check_size(size_bytes)?;
        host.check_room(directory, size_bytes)?;
        if host.kind != HostKind::Memory {
            return Ok((host, kind));
        }
        memory::check("an image in memory", size_bytes)?;
        Ok((host, BackingKind::RamImage))
    }

    pub(crate) fn check_room(&self, directory: &Path, size_bytes: u64) -> Result<(), TargetError> {
        let FileSystemUse { total_bytes, free_bytes, available_bytes, .. } = self.space;
        let room_for_others = LEFT_FOR_OTHERS_BYTES.min(total_bytes / 10);
        let leaves = |bytes: u64, least: u64| bytes.checked_sub(size_bytes) >= Some(least);
        if leaves(free_bytes, total_bytes / 10) && leaves(available_bytes, room_for_others) {
            return Ok(());
        }
        Err(TargetError::Other(format!(
            "an image of {size_bytes} bytes is too much for the file system of {}, which has {free_bytes} of \
             {total_bytes} bytes free, {available_bytes} of them for us: one tenth of it stays free, and 1 GiB for \
             other programs; ask for a smaller image or name another folder",
            directory.display()
        )))
    }
}

fn kind_of(fs_type: &str) -> HostKind {
    match (fs_type, fs::called(fs_type)) {
        ("devtmpfs", _) => HostKind::Memory,
        (_, row) => row.map_or(HostKind::InPlace, |row| row.as_host),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(total_bytes: u64, free_bytes: u64, available_bytes: u64) -> HostFolder {
        let space = FileSystemUse {
            type_number: 0,
            block_bytes: 4096,
            total_bytes,
            free_bytes,
            available_bytes,
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
        let room = |size| folder(1000, 500, 500).check_room(Path::new("/x"), size);
        assert!(room(400).is_ok());
        assert_eq!(
            room(401).unwrap_err().to_string(),
            "an image of 401 bytes is too much for the file system of /x, which has 500 of 1000 \
             bytes free, 500 of them for us: one tenth of it stays free, and 1 GiB for other \
             programs; ask for a smaller image or name another folder"
        );
        assert!(room(u64::MAX).is_err());
    }

    #[test]
    fn a_reserve_counts_as_free_but_not_as_room() {
        const GIB: u64 = 1 << 30;
        let reserved = folder(250 * GIB, 200 * GIB, 20 * GIB);
        let room = |size| reserved.check_room(Path::new("/x"), size);
        assert!(room(19 * GIB).is_ok(), "a tenth of 250 stays free: the reserve is not written");
        assert!(room(19 * GIB + 1).is_err(), "others keep one");
        let full = folder(250 * GIB, 26 * GIB, 26 * GIB);
        assert!(full.check_room(Path::new("/x"), GIB).is_ok());
        assert!(full.check_room(Path::new("/x"), GIB + 1).is_err());
    }
}
