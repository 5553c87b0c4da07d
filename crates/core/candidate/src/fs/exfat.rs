//! exFAT by the kernel's driver, and by the FUSE program of the project exfat. Source: mkfs.exfat(8),
//! mount.exfat-fuse(8).

use super::{
    FileSystem, Guest, Make, Program, Size,
    limits::{Directory, Limits},
    recipe,
    row::packaged,
    words::Words,
};

pub const EXFAT: FileSystem = FileSystem {
    name: "exfat",
    origin: "From Microsoft (2006), in Linux since 5.7; served by the exfat driver.",
    kernel_type: "exfat",
    formatter: packaged("mkfs.exfat", "exfatprogs"),
    words: Words {
        alone: "-f -q -v -V -h --full-format --pack-bitmap --quiet --verbose",
        valued: "-b -c -i -p -s -U --boundary-align --cluster-size --sector-size --volume-guid",
        text: "-L -n --volume-label",
        outside: "",
    },
    make: Make::Tool { ours: &[], no_discard: &[], size: Size::Whole },
    // exFAT specification 6 and 7.4 to 7.7: 256 MiB of 32-byte entries; a file entry, a stream entry
    // and one for each 15 characters.
    limits: Limits {
        directory: Directory::Entries { entries: 8_388_608, fixed: 2, characters: 15 },
        hard_links_max: Some(0),
        has_symbolic_links: false,
        is_case_blind: true,
        ..Limits::NONE
    },
    guest: Guest { modules_before: &["nls_utf8", "nls_iso8859-1"], ..FileSystem::BLOCK.guest },
    ..FileSystem::BLOCK
};

pub const EXFAT_FUSE: FileSystem = FileSystem {
    name: "exfat-fuse",
    origin: "Microsoft's exFAT, served outside the kernel by the program mount.exfat-fuse through FUSE.",
    formatter: EXFAT.formatter,
    helpers: &[Program { name: "mount.exfat-fuse", package: "exfat-fuse" }],
    words: EXFAT.words,
    make: EXFAT.make,
    mount: |_, spec, place| {
        vec![recipe::exec("mount", "mount.exfat-fuse", recipe::helper_args(spec, place))]
    },
    lacks: "fallocate, hard links, symbolic links, permissions, user attributes, tell case apart",
    driver: "exfat-fuse (FUSE)",
    ..FileSystem::FUSE
};
