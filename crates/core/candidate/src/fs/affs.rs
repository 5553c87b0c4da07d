//! AFFS, the Amiga's fast file system. Source: `Documentation/filesystems/affs.rst`.

use super::{FileSystem, Make, limits::Limits};

pub const AFFS: FileSystem = FileSystem {
    name: "affs",
    origin: "From Commodore's Amiga (1985 and 1988); served by the affs driver.",
    kernel_type: "affs",
    // The driver looks for the root block in the middle of the device.
    make: Make::Own { is_sized: false },
    lacks: "fallocate, user attributes, tell case apart",
    limits: Limits { is_case_blind: true, ..Limits::NONE },
    fsync: FileSystem::UNFLUSHED,
    ..FileSystem::BLOCK
};
