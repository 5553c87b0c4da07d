//! FAT with 16-bit and with 32-bit tables, with long names (vfat).
//! Two rows, one program. Source: mkfs.fat(8), `Documentation/filesystems/vfat.rst`.

use super::{
    FileSystem, Guest, Make, Size,
    limits::{Directory, Limits},
    row::packaged,
    words::Words,
};

pub const FAT32: FileSystem = FileSystem {
    name: "fat32",
    origin: "From Microsoft's DOS (1984) and Windows 95 (1996); served by the vfat driver.",
    kernel_type: "vfat",
    formatter: packaged("mkfs.fat", "dosfstools"),
    minimum_bytes: 64 << 20,
    words: Words {
        alone: "-a -A -c -I -v --invariant --mbr",
        valued: "-b -D -f -F -g -h -i -M -r -R -s -S --codepage --offset --variant",
        text: "-n",
        outside: "-C -l -m",
    },
    make: Make::Tool { ours: &["-I", "-F", "32"], no_discard: &[], size: Size::Units(1024) },
    lacks: "punch holes, hard links, symbolic links, permissions, user attributes, tell case apart",
    limits: LIMITS,
    guest: Guest {
        modules_before: &["nls_cp437", "nls_ascii", "nls_iso8859-1"],
        ..FileSystem::BLOCK.guest
    },
    ..FileSystem::BLOCK
};

/// At most 2 GiB with clusters of 32 KiB.
pub const FAT16: FileSystem = FileSystem {
    name: "fat16",
    make: Make::Tool { ours: &["-I", "-F", "16"], no_discard: &[], size: Size::Units(1024) },
    ..FAT32
};

/// FAT12, FAT16 and FAT32 with long names: a directory has at most 65,536 entries of 32 bytes, a
/// name takes a short entry and one for each 13 characters (Microsoft, "FAT: General Overview of
/// On-Disk Format" 1.03, p. 23; `fs/fat/fat.h`, FAT_MAX_DIR_ENTRIES).
pub(super) const LIMITS: Limits = Limits {
    file_bytes_max: Some((4 << 30) - 1),
    directory: Directory::Entries { entries: 65_536, fixed: 1, characters: 13 },
    hard_links_max: Some(0),
    has_symbolic_links: false,
    is_case_blind: true,
    ..Limits::NONE
};
