//! JFS, the journalled file system of AIX and OS/2. Sources: mkfs.jfs(8), fsck.jfs(8).

use super::{FileSystem, Guest, Make, Size, row::packaged, words::Words};

pub const JFS: FileSystem = FileSystem {
    name: "jfs",
    origin: "From IBM's OS/2 (1999), in Linux since 2.4.20; served by the jfs driver.",
    kernel_type: "jfs",
    formatter: packaged("mkfs.jfs", "jfsutils"),
    words: Words { alone: "-c -f -O -q -V", valued: "-J -s", text: "-L", outside: "-j" },
    make: Make::Tool { ours: &["-q"], no_discard: &[], size: Size::Units(4096) },
    lacks: "fallocate",
    checker: "fsck.jfs -n SOURCE",
    replayer: "fsck.jfs -a SOURCE",
    guest: Guest { modules_before: &["nls_utf8"], ..FileSystem::BLOCK.guest },
    fsync: FileSystem::UNFLUSHED,
    ..FileSystem::BLOCK
};
