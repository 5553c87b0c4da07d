//! tmpfs: files in the page cache and swap. Nothing to make, nothing to flush:
//! the floor under every other candidate. Source: tmpfs(5).

use pickfs_model::{CandidateSpec, Durability, Step};

use super::{FileSystem, Formatter, Ground, Needs, Place, recipe};

/// The row of tmpfs.
pub struct Tmpfs;

impl FileSystem for Tmpfs {
    fn name(&self) -> &'static str {
        "tmpfs"
    }

    fn origin(&self) -> &'static str {
        "Memory with a size limit, in every Linux kernel; may be swapped out."
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
