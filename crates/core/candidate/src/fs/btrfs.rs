//! btrfs: copy on write, checksums, subvolumes.
//!
//! It discards by itself unless told `nodiscard` (`discard=async` is the
//! default since Linux 6.2), so that word is added where the candidate says
//! nothing of discard. Source: btrfs(5); mkfs.btrfs(8) `-K` and `-b`.

use super::{
    FileSystem, Guest, HostKind, Make, Size, Timer, limits::Limits, recipe, row::packaged,
    words::Words,
};

pub const BTRFS: FileSystem = FileSystem {
    name: "btrfs",
    origin: "Begun at Oracle (2007), in Linux since 2.6.29; served by the btrfs driver.",
    kernel_type: "btrfs",
    formatter: packaged("mkfs.btrfs", "btrfs-progs"),
    minimum_bytes: 128 << 20,
    words: Words {
        alone: "-f -K -M -q -v -V --force --nodiscard --mixed --quiet --verbose",
        valued: "-A -b -d -l -m -n -O -R -s -U --alloc-start --byte-count --data --leafsize --metadata \
                 --nodesize --features --runtime-features --sectorsize --csum --checksum --uuid --device-uuid",
        text: "-L --label",
        outside: "-r -u --rootdir --subvol --inode-flags --compress --reflink --shrink",
    },
    make: Make::Tool { ours: &["-q", "-f"], no_discard: &["-K"], size: Size::Words("-b {}") },
    mount: recipe::mount_without_discard,
    // BTRFS_LINK_MAX in include/uapi/linux/btrfs_tree.h.
    limits: Limits { hard_links_max: Some(65_535), ..Limits::compressing() },
    timers: &[Timer { option: "commit", ..Timer::new("btrfs commit", 30.0) }],
    no_barrier: &["nobarrier"],
    guest: Guest { modules_before: &["crc32c_generic"], ..FileSystem::BLOCK.guest },
    as_host: HostKind::CopyOnWrite,
    checker: "btrfs check --readonly SOURCE",
    ..FileSystem::BLOCK
};
