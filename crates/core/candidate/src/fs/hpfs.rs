//! HPFS of OS/2. Source: `Documentation/filesystems/hpfs.rst`.

use super::{FileSystem, limits::Limits};

pub const HPFS: FileSystem = FileSystem {
    name: "hpfs",
    origin: "From Microsoft and IBM's OS/2 (1989); served by the hpfs driver.",
    kernel_type: "hpfs",
    lacks: "fallocate, grow by ftruncate, O_DIRECT, hard links, user attributes, tell case apart",
    limits: Limits { hard_links_max: Some(0), is_case_blind: true, ..Limits::NONE },
    fsync: FileSystem::UNFLUSHED,
    ..FileSystem::BLOCK
};
