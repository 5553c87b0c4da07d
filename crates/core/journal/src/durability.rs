//! What survives what, declared from the options. Declared, not measured: a device that lies about its
//! cache, or a file system with barriers off, keeps less than is said here.

use crate::axes::{Preallocation, Sync, WritePath};
use crate::compatibility::{path_and_sync, preallocation_and_path};

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

/// The classes as a Markdown table, for the documentation to embed. A cell with two classes has the
/// second one where the blocks were written before: zero-filled, zero-filled-hot and recycled files.
pub fn durability_markdown() -> String {
    let heads: String = Sync::ALL.iter().map(|sync| format!(" {sync} |")).collect();
    let mut text =
        format!("| write path \\ sync |{heads}\n|{}\n", "---|".repeat(Sync::ALL.len() + 1));
    for path in WritePath::ALL {
        let cells: String =
            Sync::ALL.iter().map(|sync| format!(" {} |", cell(*path, *sync))).collect();
        text.push_str(&format!("| {path} |{cells}\n"));
    }
    text
}

fn cell(path: WritePath, sync: Sync) -> String {
    if path_and_sync(path, sync).is_err() {
        return "-".to_owned();
    }
    let plain = durability(Preallocation::Fallocate, path, sync);
    let written_before = Preallocation::ZeroFilled;
    let goes = preallocation_and_path(written_before, path).is_ok();
    let best = durability(written_before, path, sync);
    match goes && best != plain {
        true => format!("{plain} / {best}"),
        false => plain.to_string(),
    }
}
