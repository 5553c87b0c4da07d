//! tmpfs: files in the page cache and swap. Nothing to make, nothing to flush:
//! the floor under every other candidate. Source: tmpfs(5).

use pickfs_record::features::{Home, Origin};
use pickfs_record::{CandidateSpec, Durability, Step};

use super::facts::{LOOKED_UP, fact};
use super::{FileSystem, Formatter, Ground, Needs, Place, recipe};

pub struct Tmpfs;

impl FileSystem for Tmpfs {
    fn name(&self) -> &'static str {
        "tmpfs"
    }

    fn origin(&self) -> &'static str {
        "Memory with a size limit, in every Linux kernel; may be swapped out."
    }

    fn facts(&self) -> Origin {
        ORIGIN
    }

    fn needs(&self) -> Needs {
        Needs {
            kernel_types: &["tmpfs"],
            kernel_remedy: "the kernel lacks tmpfs (CONFIG_TMPFS)",
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
        let mut options = spec.mount_options.clone();
        if recipe::option_value(&options, "size").is_none() {
            options.insert(0, format!("size={}", place.memory_bytes));
        }
        vec![recipe::mount("tmpfs", "tmpfs", options, &place.at)]
    }

    fn durability(&self, _options: &[String]) -> (Durability, &'static str) {
        (Durability::ProcessCrash, "files live in memory: fsync reaches no device")
    }
}

const ORIGIN: Origin = Origin {
    home: Home::Linux,
    is_unix_by_design: true,
    article_class: None,
    designed: fact("2001 by Christoph Rohland, for Linux", "Documentation/filesystems/tmpfs.rst"),
    purpose: fact(
        "files in memory and swap, with a size limit",
        "Documentation/filesystems/tmpfs.rst",
    ),
    stable_since: fact("2.4 (January 2001)", "Documentation/filesystems/tmpfs.rst"),
    served_by: fact("the kernel's tmpfs driver", "fs/Kconfig, TMPFS"),
    journal: fact("none: nothing survives the machine", "Documentation/filesystems/tmpfs.rst"),
    devices: fact("none", "Documentation/filesystems/tmpfs.rst"),
    systems: fact("none; others have a tmpfs of their own", "tmpfs(5)"),
    distributions: fact(
        "RHEL, SUSE, Debian, Ubuntu",
        "systemd, file-hierarchy(7): /run and /dev/shm",
    ),
    checksums: fact("none", "Documentation/filesystems/tmpfs.rst"),
    compression: fact("none", "Documentation/filesystems/tmpfs.rst"),
    snapshots: fact("none", "Documentation/filesystems/tmpfs.rst"),
    encryption: fact("none", "Documentation/filesystems/tmpfs.rst"),
    casefold: fact(
        "by the mount option casefold, where the kernel has it",
        "Documentation/filesystems/tmpfs.rst",
    ),
    limits: fact(
        "the mount option size, at most memory and swap",
        "Documentation/filesystems/tmpfs.rst",
    ),
    looked_up: LOOKED_UP,
};
