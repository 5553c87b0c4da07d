//! ReiserFS in its two formats; the driver left the kernel in Linux 6.13. Source: mkreiserfs(8).
//! The driver of late kernels refuses a freshly made 3.5 volume: its leaf check counts directory
//! entries too large. Such a trial fails at the mount step, with the kernel's words.

use super::{
    FileSystem, Guest, Make, Size, Support, Timer, limits::Limits, row::packaged, words::Words,
};

pub const V36: FileSystem = FileSystem {
    name: "reiserfs-3.6",
    origin: "From Namesys (2001), in Linux from 2.4.1 to 6.12; served by the reiserfs driver.",
    kernel_type: "reiserfs",
    kernel_remedy: "no kernel module reiserfs; it left the kernel in Linux 6.13, Debian 12's stock \
                    kernel has it",
    formatter: packaged("mkreiserfs", "reiserfsprogs"),
    minimum_bytes: 64 << 20,
    words: Words {
        alone: "-d -f -q -V",
        valued: "-b -h -o -s -t -u --block-size --format --hash --journal-offset --journal-size --transaction-max-size --uuid",
        text: "-l --label",
        outside: "-B -j --badblocks --journal-device",
    },
    make: Make::Tool {
        ours: &["-q", "-f", "-f", "--format", "3.6"],
        no_discard: &[],
        size: Size::Units(4096),
    },
    lacks: "fallocate",
    // REISERFS_LINK_MAX in fs/reiserfs/reiserfs.h (up to Linux 6.12).
    limits: Limits::links(64_535),
    timers: &[Timer { option: "commit", ..Timer::new("journal commit", 30.0) }],
    no_barrier: &["barrier=none"],
    checker: "reiserfsck --check --yes --quiet SOURCE",
    ..FileSystem::BLOCK
};

/// Files up to 2 GiB.
pub const V35: FileSystem = FileSystem {
    name: "reiserfs-3.5",
    make: Make::Tool {
        ours: &["-q", "-f", "-f", "--format", "3.5"],
        no_discard: &[],
        size: Size::Units(4096),
    },
    // Linux 6.1 refuses a new volume of format 3.5: a check of its root folder takes the wrong size. The
    // driver with that one word corrected registers beside the stock one, under a name of its own.
    guest: Guest { support: Support::Rebuilt, fs_type: Some("reiserfs35"), ..V36.guest },
    ..V36
};
