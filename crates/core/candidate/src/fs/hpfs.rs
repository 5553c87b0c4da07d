//! HPFS of OS/2. Source: `Documentation/filesystems/hpfs.rst`.

use super::{FileSystem, Lack, limits::Limits};

pub const HPFS: FileSystem = FileSystem {
    name: "hpfs",
    origin: "From Microsoft and IBM's OS/2 (1989); served by the hpfs driver.",
    kernel_type: "hpfs",
    lacks: &[
        Lack::Fallocate,
        Lack::GrowByTruncate,
        Lack::DirectIo,
        Lack::HardLinks,
        Lack::UserAttributes,
        Lack::CaseSensitivity,
    ],
    name_bytes_max: Some(254),
    limits: Limits { hard_links_max: Some(0), is_case_blind: true, ..Limits::NONE },
    ..FileSystem::BLOCK
};
