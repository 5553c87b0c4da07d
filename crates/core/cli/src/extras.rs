//! The one list of what this program has beside the core.

pub fn arrange() {
    pickfs_engine_workloads::add();
}
