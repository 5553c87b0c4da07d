//! NTFS by the kernel's own driver ntfs3 (Linux 5.15), and by the FUSE program ntfs-3g; both made by ntfs-3g's
//! mkfs. Source: `Documentation/filesystems/ntfs3.rst`, ntfs-3g(8), mkntfs(8).

use super::{
    FileSystem, Guest, Make, Program, Size, Support, limits::Limits, recipe, row::packaged,
    words::Words,
};

pub const NTFS3: FileSystem = FileSystem {
    name: "ntfs3",
    origin: "Microsoft's NTFS, served by Paragon's driver in Linux since 5.15.",
    kernel_type: "ntfs3",
    kernel_remedy: "the kernel module ntfs3 is not built in Debian 12; a kernel with CONFIG_NTFS3_FS \
                    has it, and ntfs-3g serves the same format",
    formatter: packaged("mkfs.ntfs", "ntfs-3g"),
    words: Words {
        alone: "-C -f -F -h -I -l -n -q -Q -T -U -v -V --fast --quick --force --enable-compression --no-indexing \
                --zero-time --with-uuid --quiet --verbose --debug",
        valued: "-c -H -p -s -S -z --cluster-size --heads --partition-start --sector-size --sectors-per-track \
                 --mft-zone-multiplier",
        text: "-L --label",
        outside: "",
    },
    make: Make::Tool { ours: &["-q", "-F", "-Q"], no_discard: &[], size: Size::Sectors },
    // NTFS_LINK_MAX in fs/ntfs3/ntfs.h.
    limits: Limits { hard_links_max: Some(4_000), ..Limits::compressing() },
    guest: Guest { support: Support::None, ..FileSystem::BLOCK.guest },
    ..FileSystem::BLOCK
};

pub const NTFS_3G: FileSystem = FileSystem {
    name: "ntfs-3g",
    origin: "Microsoft's NTFS, served outside the kernel by the program ntfs-3g through FUSE.",
    formatter: NTFS3.formatter,
    helpers: &[Program { name: "ntfs-3g", package: "ntfs-3g" }],
    words: NTFS3.words,
    make: NTFS3.make,
    mount: |_, spec, place| {
        vec![recipe::exec("mount", "ntfs-3g", recipe::helper_args(spec, place))]
    },
    lacks: "fallocate, permissions",
    driver: "ntfs-3g (FUSE)",
    // The one FUSE program that is taken into a guest.
    guest: Guest { support: Support::Stock, ..FileSystem::FUSE.guest },
    ..FileSystem::FUSE
};
