//! What depends on how it was made (inodes, free space, the longest name) is asked from the kernel
//! instead; see `fitting`. A type that is not listed has no limit that these phases reach.

use super::names::NAME_BYTES_MAX;

#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) fs_type: &'static str,
    /// Longest file, in bytes.
    pub(super) file_bytes_max: Option<u64>,
    pub(super) directory: Directory,
    /// Names that one file may have; 0 where there are no hard links.
    pub(super) hard_links_max: Option<u32>,
    pub(super) has_symbolic_links: bool,
    pub(super) subdirectories_max: Option<u32>,
    /// Whether upper and lower case are one. Our names stay different: their numbers are.
    pub(super) is_case_blind: bool,
    /// Whether it may store fewer bytes than were written.
    pub(super) compresses: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Directory {
    Unlimited,
    Names(u32),
    /// So many entries of fixed size; a name takes `fixed` of them and one for each
    /// `characters` characters.
    Entries {
        entries: u32,
        fixed: u32,
        characters: u32,
    },
}

impl Directory {
    /// The most of our names that are certain to fit, with a mark before each.
    pub(super) fn names_max(self) -> Option<u32> {
        match self {
            Directory::Unlimited => None,
            Directory::Names(names) => Some(names),
            Directory::Entries { entries, fixed, characters } => {
                let each = fixed + (NAME_BYTES_MAX as u32 + 1).div_ceil(characters);
                // Two entries are the directory itself and its parent.
                Some((entries - 2) / each)
            }
        }
    }
}

const PLAIN: Limits = Limits {
    fs_type: "",
    file_bytes_max: None,
    directory: Directory::Unlimited,
    hard_links_max: None,
    has_symbolic_links: true,
    subdirectories_max: None,
    is_case_blind: false,
    compresses: false,
};

const GIB: u64 = 1 << 30;

/// FAT12, FAT16 and FAT32 with long names: a directory has at most 65,536 entries of 32 bytes, a
/// name takes a short entry and one for each 13 characters (Microsoft, "FAT: General Overview of
/// On-Disk Format" 1.03, p. 23; `fs/fat/fat.h`, FAT_MAX_DIR_ENTRIES).
const VFAT: Limits = Limits {
    fs_type: "vfat",
    file_bytes_max: Some(4 * GIB - 1),
    directory: Directory::Entries { entries: 65_536, fixed: 1, characters: 13 },
    hard_links_max: Some(0),
    has_symbolic_links: false,
    is_case_blind: true,
    ..PLAIN
};

pub(super) const LIMITS: &[Limits] = &[
    VFAT,
    Limits { fs_type: "msdos", directory: Directory::Names(65_534), ..VFAT },
    // exFAT specification 6 and 7.4 to 7.7: 256 MiB of 32-byte entries; a file entry, a stream entry
    // and one for each 15 characters.
    Limits {
        fs_type: "exfat",
        directory: Directory::Entries { entries: 8_388_608, fixed: 2, characters: 15 },
        hard_links_max: Some(0),
        has_symbolic_links: false,
        is_case_blind: true,
        ..PLAIN
    },
    // EXT2_LINK_MAX in fs/ext2/ext2.h; a directory's own two names count.
    Limits {
        fs_type: "ext2",
        hard_links_max: Some(32_000),
        subdirectories_max: Some(31_998),
        ..PLAIN
    },
    // The ext4 driver serves it (EXT4_LINK_MAX), but the format lacks dir_nlink.
    Limits {
        fs_type: "ext3",
        hard_links_max: Some(65_000),
        subdirectories_max: Some(64_998),
        ..PLAIN
    },
    // EXT4_LINK_MAX in fs/ext4/ext4.h; dir_nlink takes the limit from directories.
    Limits { fs_type: "ext4", hard_links_max: Some(65_000), ..PLAIN },
    // BTRFS_LINK_MAX in include/uapi/linux/btrfs_tree.h.
    Limits { fs_type: "btrfs", hard_links_max: Some(65_535), compresses: true, ..PLAIN },
    Limits { fs_type: "bcachefs", compresses: true, ..PLAIN },
    Limits { fs_type: "zfs", compresses: true, ..PLAIN },
    Limits { fs_type: "fuse.zfs", compresses: true, ..PLAIN },
    Limits { fs_type: "f2fs", compresses: true, ..PLAIN },
    // NILFS_LINK_MAX in include/uapi/linux/nilfs2_ondisk.h.
    Limits {
        fs_type: "nilfs2",
        hard_links_max: Some(32_000),
        subdirectories_max: Some(31_998),
        ..PLAIN
    },
    // UFS_LINK_MAX in fs/ufs/ufs_fs.h.
    Limits {
        fs_type: "ufs",
        hard_links_max: Some(32_000),
        subdirectories_max: Some(31_998),
        ..PLAIN
    },
    // REISERFS_LINK_MAX in fs/reiserfs/reiserfs.h (up to Linux 6.12).
    Limits {
        fs_type: "reiserfs",
        hard_links_max: Some(64_535),
        subdirectories_max: Some(64_533),
        ..PLAIN
    },
    // MINIX_LINK_MAX in fs/minix/minix.h: that of version 1; the others have 65,530.
    Limits { fs_type: "minix", hard_links_max: Some(250), subdirectories_max: Some(248), ..PLAIN },
    // Apple, "Inside Macintosh: Files": 32,767 entries in a folder, files below 2 GiB.
    Limits {
        fs_type: "hfs",
        file_bytes_max: Some(2 * GIB - 1),
        directory: Directory::Names(32_767),
        hard_links_max: Some(0),
        has_symbolic_links: false,
        is_case_blind: true,
        ..PLAIN
    },
    Limits { fs_type: "hfsplus", is_case_blind: true, ..PLAIN },
    Limits { fs_type: "hpfs", hard_links_max: Some(0), is_case_blind: true, ..PLAIN },
    Limits { fs_type: "affs", is_case_blind: true, ..PLAIN },
    // NTFS_LINK_MAX in fs/ntfs3/ntfs.h.
    Limits { fs_type: "ntfs3", hard_links_max: Some(4_000), compresses: true, ..PLAIN },
];

pub(super) fn of(fs_type: &str) -> Limits {
    LIMITS.iter().copied().find(|limits| limits.fs_type == fs_type).unwrap_or(PLAIN)
}

pub fn limits_markdown() -> String {
    let mut text = String::from(
        "| type | longest file, bytes | our names in a directory | names of one file | directories in a \
         directory | symbolic links | case |\n|---|---|---|---|---|---|---|\n",
    );
    for limits in LIMITS {
        let number = |number: Option<u64>| number.map_or("-".into(), |number| number.to_string());
        let links = match limits.hard_links_max {
            Some(0) => "one: no hard links".into(),
            other => number(other.map(u64::from)),
        };
        text += &format!(
            "| `{}` | {} | {} | {links} | {} | {} | {} |\n",
            limits.fs_type,
            number(limits.file_bytes_max),
            number(limits.directory.names_max().map(u64::from)),
            number(limits.subdirectories_max.map(u64::from)),
            if limits.has_symbolic_links { "yes" } else { "no" },
            if limits.is_case_blind { "not told apart" } else { "told apart" },
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fat_directory_holds_twenty_thousand_of_our_names() {
        // A name of 23 characters takes one short and two long entries.
        assert_eq!(of("vfat").directory.names_max(), Some(65_534 / 3));
        assert_eq!(of("exfat").directory.names_max(), Some(8_388_606 / 4));
        assert_eq!(of("ext4").directory.names_max(), None);
    }

    #[test]
    fn a_type_that_is_not_known_has_no_limits() {
        let limits = of("fuse.sshfs");
        assert!(limits.has_symbolic_links && limits.hard_links_max.is_none());
        assert!(limits.file_bytes_max.is_none());
    }
}
