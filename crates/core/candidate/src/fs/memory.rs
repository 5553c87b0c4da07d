//! tmpfs: files in the page cache and swap. Nothing to make, nothing to flush: the floor under every other
//! candidate. ramfs: the page cache itself, without a size limit; what a trial writes is bounded by the lab.
//! Source: tmpfs(5), `Documentation/filesystems/ramfs-rootfs-initramfs.rst`.

use super::{FileSystem, recipe};

pub const TMPFS: FileSystem = FileSystem {
    name: "tmpfs",
    origin: "Memory with a size limit, in every Linux kernel; may be swapped out.",
    kernel_type: "tmpfs",
    kernel_remedy: "the kernel lacks tmpfs (CONFIG_TMPFS)",
    mount: |row, spec, place| {
        let mut options = spec.mount_options.clone();
        if recipe::option_value(&options, "size").is_none() {
            options.insert(0, format!("size={}", place.memory_bytes));
        }
        vec![recipe::mount(row.name, row.kernel_type, options, &place.at)]
    },
    ..FileSystem::MEMORY
};

pub const RAMFS: FileSystem = FileSystem {
    name: "ramfs",
    origin: "Memory without a size limit, in every Linux kernel; never swapped out.",
    kernel_type: "ramfs",
    kernel_remedy: "every Linux kernel has ramfs; is /proc mounted?",
    mount: |row, spec, place| {
        vec![recipe::mount(row.name, row.kernel_type, spec.mount_options.clone(), &place.at)]
    },
    lacks: "fallocate, O_DIRECT",
    ..FileSystem::MEMORY
};
