//! What survives what, declared from the options. Declared, not measured: a device that lies about its
//! cache, or a file system with barriers off, keeps less than is said here.

use crate::axes::{Preallocation, Sync, WritePath};

/// The hardest event that an acknowledged record is expected to outlive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Durability {
    /// The process is killed; the kernel lives on with its page cache.
    ProcessCrash,
    /// The kernel dies; the device keeps its power and its cache.
    KernelCrash,
    /// The power fails, and the device keeps what it said was flushed.
    PowerLoss,
}

impl std::fmt::Display for Durability {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::ProcessCrash => "process crash",
            Self::KernelCrash => "kernel crash",
            Self::PowerLoss => "power loss",
        })
    }
}

/// The class of a record once its sync (where there is one) has returned. Records that wait for a sync
/// (each N records, group commit) have the class of sync none until then.
pub const fn durability(made: Preallocation, path: WritePath, sync: Sync) -> Durability {
    let blocks_written_before = matches!(
        made,
        Preallocation::ZeroFilled | Preallocation::ZeroFilledHot | Preallocation::Recycled
    );
    let reaches_device = matches!(sync, Sync::SyncFileRange) || matches!(path, WritePath::Direct);
    if sync.outlives_power_loss() {
        Durability::PowerLoss
    } else if reaches_device && blocks_written_before {
        // No metadata is needed to find the bytes again, so reaching the device is enough.
        Durability::KernelCrash
    } else {
        Durability::ProcessCrash
    }
}
