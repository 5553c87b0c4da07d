//! bcachefs, copy on write with its own block cache. Source: bcachefs(8).

use super::{
    FileSystem, Guest, HostKind, Make, Size, Support, Timer, limits::Limits, row::packaged,
    words::Words,
};

pub const BCACHEFS: FileSystem = FileSystem {
    name: "bcachefs",
    origin: "Grown out of bcache; in Linux from 6.7 to 6.17, since then a module outside the kernel's tree.",
    kernel_type: "bcachefs",
    kernel_remedy: "no kernel module bcachefs; a kernel from 6.7 to 6.17 may have it, a later one needs the \
                    project's own module package",
    formatter: packaged(
        "bcachefs",
        "bcachefs-tools (not in Debian 12; see the project's own archive)",
    ),
    minimum_bytes: 64 << 20,
    words: Words {
        alone: "-f -q -v --force --quiet --verbose --discard --nodiscard --no_passphrase --encrypted \
                --no_initialize -h",
        valued: "-g -U --uuid --replicas --fs_size --superblock_size --version",
        text: "-l -L --label --fs_label",
        outside: "--source --passphrase_file",
    },
    make: Make::Tool {
        ours: &["format", "--force", "--quiet"],
        no_discard: &["--nodiscard"],
        size: Size::Words("--fs_size={}"),
    },
    limits: Limits::compressing(),
    timers: &[Timer {
        option: "journal_flush_delay",
        unit_s: 0.001,
        ..Timer::new("bcachefs journal flush", 1.0)
    }],
    guest: Guest { support: Support::None, ..FileSystem::BLOCK.guest },
    as_host: HostKind::CopyOnWrite,
    ..FileSystem::BLOCK
};
