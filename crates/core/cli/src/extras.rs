//! The one list of what this program has beside the core.

pub fn arrange() {
    pickfs_lab::engines::add(&pickfs_guest::trials::Qemu);
    pickfs_engine_workloads::add();
}
