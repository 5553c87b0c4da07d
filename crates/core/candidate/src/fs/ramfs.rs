//! ramfs: the page cache itself, without a size limit. What a trial writes is
//! bounded by the lab, not by the kernel.
//! Source: `Documentation/filesystems/ramfs-rootfs-initramfs.rst`.

use pickfs_record::features::{Home, Origin};
use pickfs_record::{CandidateSpec, Durability, Step};

use super::facts::{LOOKED_UP, fact};
use super::{FileSystem, Formatter, Ground, Lack, Needs, Place, recipe};

pub struct Ramfs;

impl FileSystem for Ramfs {
    fn name(&self) -> &'static str {
        "ramfs"
    }

    fn origin(&self) -> &'static str {
        "Memory without a size limit, in every Linux kernel; never swapped out."
    }

    fn facts(&self) -> Origin {
        ORIGIN
    }

    fn needs(&self) -> Needs {
        Needs {
            kernel_types: &["ramfs"],
            kernel_remedy: "every Linux kernel has ramfs; is /proc mounted?",
            formatter: Formatter::None,
            helpers: &[],
            minimum_bytes: 1 << 20,
            ground: Ground::Memory,
            sized: true,
        }
    }

    fn make(&self, _spec: &CandidateSpec, _place: &Place) -> Vec<Step> {
        Vec::new()
    }

    fn mount(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        vec![recipe::mount("ramfs", "ramfs", spec.mount_options.clone(), &place.at)]
    }

    fn lacks(&self) -> &'static [Lack] {
        &[Lack::Fallocate, Lack::DirectIo]
    }

    fn durability(&self, _options: &[String]) -> (Durability, &'static str) {
        (Durability::ProcessCrash, "files live in memory: fsync reaches no device")
    }
}

const ORIGIN: Origin = Origin {
    home: Home::Linux,
    is_unix_by_design: true,
    article_class: None,
    designed: fact("2000 by Linus Torvalds, for Linux", "fs/ramfs/inode.c"),
    purpose: fact(
        "the page cache as a file system, also as an example",
        "Documentation/filesystems/ramfs-rootfs-initramfs.rst",
    ),
    stable_since: fact("2.4 (January 2001)", "fs/ramfs/inode.c"),
    served_by: fact(
        "the kernel's ramfs driver",
        "Documentation/filesystems/ramfs-rootfs-initramfs.rst",
    ),
    journal: fact(
        "none: nothing survives the machine",
        "Documentation/filesystems/ramfs-rootfs-initramfs.rst",
    ),
    devices: fact("none", "Documentation/filesystems/ramfs-rootfs-initramfs.rst"),
    systems: fact("none", "Documentation/filesystems/ramfs-rootfs-initramfs.rst"),
    distributions: fact(
        "RHEL, SUSE, Debian, Ubuntu: it is in every kernel",
        "Documentation/filesystems/ramfs-rootfs-initramfs.rst",
    ),
    checksums: fact("none", "Documentation/filesystems/ramfs-rootfs-initramfs.rst"),
    compression: fact("none", "Documentation/filesystems/ramfs-rootfs-initramfs.rst"),
    snapshots: fact("none", "Documentation/filesystems/ramfs-rootfs-initramfs.rst"),
    encryption: fact("none", "Documentation/filesystems/ramfs-rootfs-initramfs.rst"),
    casefold: fact("none", "Documentation/filesystems/ramfs-rootfs-initramfs.rst"),
    limits: fact(
        "memory, without any other bound",
        "Documentation/filesystems/ramfs-rootfs-initramfs.rst",
    ),
    looked_up: LOOKED_UP,
};
