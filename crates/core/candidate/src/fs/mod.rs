//! File systems, one format per file, and the one table of them. Nothing here touches the machine, except
//! to read a period or a size from /proc or /sys.

mod affs;
mod bcachefs;
mod btrfs;
mod exfat;
mod ext;
mod f2fs;
pub mod facts;
mod fat;
mod fuse2fs;
mod hfs;
mod hfsplus;
mod hpfs;
mod jfs;
pub mod limits;
mod memory;
mod nilfs2;
mod ntfs;
pub mod recipe;
mod reiserfs;
pub mod row;
mod ufs;
pub mod words;
mod xfs;
mod zfs;
mod zfs_fuse;

use std::path::Path;

pub use limits::Limits;
pub use row::{
    FileSystem, Formatter, Ground, Guest, HostKind, LogPlace, MadeInside, Make, Period, Place,
    Program, Size, Support, Timer, periods,
};

/// In the order in which they are shown.
pub static FILE_SYSTEMS: &[FileSystem] = &[
    ext::EXT4,
    xfs::XFS,
    btrfs::BTRFS,
    memory::TMPFS,
    ext::EXT3,
    ext::EXT2,
    memory::RAMFS,
    ntfs::NTFS_3G,
    zfs_fuse::ZFS_FUSE,
    exfat::EXFAT_FUSE,
    fuse2fs::EXT4,
    fuse2fs::EXT3,
    fuse2fs::EXT2,
    f2fs::F2FS,
    zfs::ZFS,
    jfs::JFS,
    reiserfs::V35,
    reiserfs::V36,
    fat::FAT16,
    fat::FAT32,
    hfs::HFS,
    hfsplus::HFSPLUS,
    hfsplus::HFSX,
    affs::AFFS,
    hpfs::HPFS,
    ufs::UFS,
    ufs::UFS2,
    nilfs2::NILFS2,
    exfat::EXFAT,
    ntfs::NTFS3,
    bcachefs::BCACHEFS,
];

pub const OWN_PROGRAMS: &[Program] = &[
    Program { name: "blkid", package: "util-linux" },
    Program { name: "wipefs", package: "util-linux" },
    Program { name: "blkdiscard", package: "util-linux" },
];

pub fn find(name: &str) -> Option<&'static FileSystem> {
    FILE_SYSTEMS.iter().find(|row| row.name == name)
}

/// What a mount of this type is; FUSE types do not tell which program serves them.
pub fn serving(fs_type: &str) -> Option<&'static FileSystem> {
    FILE_SYSTEMS.iter().find(|row| row.kernel_type == fs_type && !row.is_program())
}

/// What serves a mount, of this row where that is known.
pub fn driver_of(fs_type: &str, source: &Path, row: Option<&FileSystem>) -> String {
    let device = source.file_name().unwrap_or_default().to_string_lossy();
    let row = row.or_else(|| serving(fs_type));
    row.map_or_else(|| fs_type.to_owned(), |row| row.driver(fs_type, &device))
}

/// By the name of a candidate or the type of a mount (`fuse.zfs`).
pub fn called(name: &str) -> Option<&'static FileSystem> {
    let name = name.strip_prefix("fuse.").unwrap_or(name);
    find(name).or_else(|| serving(name))
}

pub fn limits_of(name: &str) -> Limits {
    let others = limits::OF_OTHERS.iter().find(|(known, _)| *known == name);
    let known = called(name).map(|row| row.limits).or(others.map(|(_, limits)| *limits));
    known.unwrap_or(Limits::NONE)
}

pub fn package_of(program: &str) -> Option<&'static str> {
    programs().find(|known| known.name == program).map(|known| known.package)
}

/// Of all rows, and our own.
pub fn programs() -> impl Iterator<Item = Program> {
    let formatters = FILE_SYSTEMS.iter().filter_map(|row| match row.formatter {
        Formatter::Packaged(program) => Some(program),
        _ => None,
    });
    let helpers = FILE_SYSTEMS.iter().flat_map(|row| row.helpers.iter().copied());
    formatters.chain(helpers).chain(OWN_PROGRAMS.iter().copied())
}

pub fn names() -> Vec<&'static str> {
    FILE_SYSTEMS.iter().map(|row| row.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pickfs_record::CandidateSpec;

    #[test]
    fn names_are_unique_and_can_be_written_in_a_candidate() {
        let mut seen = std::collections::BTreeSet::new();
        for name in names() {
            assert!(seen.insert(name), "{name} stands twice");
            assert_eq!(name.parse::<CandidateSpec>().unwrap().fs, name);
        }
    }

    #[test]
    fn every_row_says_where_it_comes_from_and_what_it_is_mounted_as() {
        for row in FILE_SYSTEMS {
            assert!(row.origin.ends_with('.') && !row.kernel_type.is_empty(), "{}", row.name);
        }
    }

    #[test]
    fn a_smaller_size_reaches_the_formatter_where_the_row_says_so() {
        let place = Place { make_bytes: Some(512 << 20), ..Place::example() };
        for row in FILE_SYSTEMS.iter().filter(|row| row.ground == Ground::BlockDevice) {
            let spec = row.name.parse().unwrap();
            let changed = row.make(&spec, &place) != row.make(&spec, &Place::example());
            assert_eq!(changed, row.is_sized(), "{}", row.name);
        }
    }

    #[test]
    fn every_row_mounts_where_it_is_told_and_unmounts() {
        for row in FILE_SYSTEMS {
            let spec = row.name.parse().unwrap();
            let text = |steps: Vec<pickfs_record::Step>| -> String {
                steps.iter().map(|step| step.action.to_string() + "\n").collect()
            };
            let place = Place::example();
            let all = text(row.make(&spec, &place)) + &text(row.mount(&spec, &place));
            assert!(all.contains(&place.at), "{}: {all}", row.name);
            assert!(!row.unmount(&spec, &place).is_empty(), "{}", row.name);
        }
    }

    #[test]
    fn a_mount_is_known_by_its_type() {
        assert_eq!(called("fuse.zfs").map(|row| row.as_host), Some(HostKind::CopyOnWriteAlways));
        assert_eq!(called("vfat").map(|row| row.limits.hard_links_max), Some(Some(0)));
        assert!(called("fuseblk").is_none() && called("fuse.sshfs").is_none());
        assert_eq!(limits_of("fuse.sshfs"), Limits::NONE);
    }

    #[test]
    fn a_fat_directory_holds_twenty_thousand_names_of_23_characters() {
        let names = |fs_type: &str| limits_of(fs_type).directory.names_max(23);
        // One short and two long entries each.
        assert_eq!(names("vfat"), Some(65_534 / 3));
        assert_eq!(names("exfat"), Some(8_388_606 / 4));
        assert_eq!(names("ext4"), None);
    }
}
