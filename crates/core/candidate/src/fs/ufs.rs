//! UFS1 (the format of 4.4BSD) and UFS2 (64-bit, from FreeBSD 5). Two rows, one driver, which writes only where
//! the kernel was built with CONFIG_UFS_FS_WRITE (Debian's is not).
//! Source: `Documentation/admin-guide/ufs.rst`.

use super::{FileSystem, Guest, Support, limits::Limits, recipe};

pub const UFS: FileSystem = FileSystem {
    name: "ufs",
    origin: "From Berkeley (1983) and FreeBSD (2003); served by the ufs driver.",
    kernel_type: "ufs",
    kernel_remedy: "the kernel module ufs writes only if built with CONFIG_UFS_FS_WRITE, which Debian's \
                    is not",
    mount: |row, spec, place| {
        let mut options = spec.mount_options.clone();
        if recipe::option_value(&options, "ufstype").is_none() {
            let is_first = row.name == UFS.name;
            let kind = if is_first { "ufstype=44bsd" } else { "ufstype=ufs2" };
            options.insert(0, kind.into());
        }
        recipe::mount_device(row.kernel_type, options, place)
    },
    lacks: "fallocate, O_DIRECT, user attributes",
    // UFS_LINK_MAX in fs/ufs/ufs_fs.h.
    limits: Limits::links(32_000),
    guest: Guest { support: Support::Rebuilt, ..FileSystem::BLOCK.guest },
    ..FileSystem::BLOCK
};

pub const UFS2: FileSystem = FileSystem { name: "ufs2", ..UFS };
