//! F2FS, made for flash. It discards by itself unless told `nodiscard`.
//! Source: mkfs.f2fs(8), `-t 0`; fsck.f2fs(8); `Documentation/filesystems/f2fs.rst`.

use super::{
    FileSystem, Guest, Make, Size, Timer, limits::Limits, recipe, row::packaged, words::Words,
};

pub const F2FS: FileSystem = FileSystem {
    name: "f2fs",
    origin: "From Samsung (2012), a log-structured file system for flash; served by the f2fs driver.",
    kernel_type: "f2fs",
    formatter: packaged("mkfs.f2fs", "f2fs-tools"),
    minimum_bytes: 64 << 20,
    words: Words {
        alone: "-f -h -i -m -q -r -V",
        valued: "-a -b -C -d -e -E -g -H -o -O -R -s -S -t -T -U -w -z -Z",
        text: "-l",
        outside: "-c",
    },
    make: Make::Tool { ours: &["-q", "-f"], no_discard: &["-t", "0"], size: Size::Sectors },
    mount: recipe::mount_without_discard,
    limits: Limits::compressing(),
    // At the latest; f2fs.rst, `cp_interval`.
    timers: &[Timer::new("f2fs checkpoint", 60.0)],
    checker: "fsck.f2fs --dry-run SOURCE",
    guest: Guest { modules_before: &["crc32_generic"], ..FileSystem::BLOCK.guest },
    ..FileSystem::BLOCK
};
