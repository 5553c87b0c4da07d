//! ramfs: the page cache itself, without a size limit. What a trial writes is
//! bounded by the lab, not by the kernel.
//! Source: `Documentation/filesystems/ramfs-rootfs-initramfs.rst`.

use pickfs_model::{CandidateSpec, Durability, Step};

use super::{FileSystem, Formatter, Ground, Lack, Needs, Place, recipe};

/// The row of ramfs.
pub struct Ramfs;

impl FileSystem for Ramfs {
    fn name(&self) -> &'static str {
        "ramfs"
    }

    fn origin(&self) -> &'static str {
        "Memory without a size limit, in every Linux kernel; never swapped out."
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
