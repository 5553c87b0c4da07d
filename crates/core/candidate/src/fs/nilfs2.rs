//! NILFS2, a log that keeps its past. Source: mkfs.nilfs2(8), `-K`.

use super::{FileSystem, HostKind, Make, Size, Timer, limits::Limits, row::packaged, words::Words};

pub const NILFS2: FileSystem = FileSystem {
    name: "nilfs2",
    origin: "From NTT (2005), a log-structured file system with snapshots; served by the nilfs2 driver.",
    kernel_type: "nilfs2",
    formatter: packaged("mkfs.nilfs2", "nilfs-tools"),
    // Sixteen segments and a block.
    minimum_bytes: 129 << 20,
    words: Words {
        alone: "-c -f -h -K -n -q -v -V",
        valued: "-b -B -m -O -P",
        text: "-L",
        outside: "",
    },
    make: Make::Tool { ours: &["-q", "-f"], no_discard: &["-K"], size: Size::Whole },
    lacks: "fallocate, user attributes",
    // NILFS_LINK_MAX in include/uapi/linux/nilfs2_ondisk.h.
    limits: Limits::links(32_000),
    // A segment is closed at the latest then.
    timers: &[Timer::new("nilfs2 segment", 5.0)],
    as_host: HostKind::CopyOnWriteAlways,
    ..FileSystem::BLOCK
};
