//! HFS+ and HFSX. The formatter is our own: mkfs.hfsplus is in Debian's section non-free.
//! Linux mounts a volume with a journal read-only; ours has none. Source:
//! `Documentation/filesystems/hfsplus.rst`.

use super::{FileSystem, Guest, Make, limits::Limits};

pub const HFSPLUS: FileSystem = FileSystem {
    name: "hfsplus",
    origin: "From Apple's Mac OS 8.1 (1998) and 10.3 (2003); served by the hfsplus driver.",
    kernel_type: "hfsplus",
    kernel_remedy: "the kernel module hfsplus is in Debian's stock kernel; load nls_utf8 and hfsplus \
                    with modprobe",
    // The copy of the header lies at the end of the device.
    make: Make::Own { is_sized: false },
    lacks: "fallocate, tell case apart",
    limits: Limits { is_case_blind: true, ..Limits::NONE },
    guest: Guest { modules_before: &["nls_utf8"], ..FileSystem::BLOCK.guest },
    ..FileSystem::BLOCK
};

/// Names that differ only in case are two.
pub const HFSX: FileSystem = FileSystem { name: "hfsx", lacks: "fallocate", ..HFSPLUS };
