//! HFS, the classic Macintosh file system. Source: hformat(1).

use super::{
    FileSystem, Make, Size,
    limits::{Directory, Limits},
    row::packaged,
    words::Words,
};

pub const HFS: FileSystem = FileSystem {
    name: "hfs",
    origin: "From Apple's Macintosh (1985); served by the hfs driver.",
    kernel_type: "hfs",
    formatter: packaged("hformat", "hfsutils"),
    words: Words { alone: "-f", valued: "", text: "-l", outside: "" },
    make: Make::Tool { ours: &["-f", "-l", "pickfs"], no_discard: &[], size: Size::Whole },
    lacks: "fallocate, hard links, symbolic links, permissions, user attributes, fsync of a directory, tell case apart",
    // Apple, "Inside Macintosh: Files": 32,767 entries in a folder, files below 2 GiB.
    limits: Limits {
        file_bytes_max: Some((2 << 30) - 1),
        directory: Directory::Names(32_767),
        hard_links_max: Some(0),
        has_symbolic_links: false,
        is_case_blind: true,
        ..Limits::NONE
    },
    fsync: FileSystem::UNFLUSHED,
    ..FileSystem::BLOCK
};
