//! Which candidates a named device is too small for, before a byte of it is written.

use std::path::Path;

use pickfs_model::{BackingSpec, Plan, record::SkippedCell};
use pickfs_sys::block::BlockDevice;
use pickfs_target::{TargetError, fs};

use crate::expand::Expansion;

/// Candidates that cannot be made on the named device, as far as it is there.
pub(crate) fn leave_out_too_small(plan: &Plan, expansion: &mut Expansion) {
    let device_bytes = |path: &Path| BlockDevice::at(path).ok()?.facts().size_bytes;
    let have_bytes = match &plan.backing {
        BackingSpec::Device { path, size_bytes, .. } => {
            device_bytes(path).map(|bytes| bytes.min(size_bytes.unwrap_or(bytes)))
        }
        _ => None,
    };
    // What a device lacks that has no size at all, the interlock says.
    let Some(have_bytes) = have_bytes.filter(|&bytes| bytes > 0) else { return };
    for cell in std::mem::take(&mut expansion.cells) {
        let row = fs::find(&cell.candidate.fs);
        let small = row.filter(|row| have_bytes < row.needs().minimum_bytes).map(|row| {
            let (fs, minimum_bytes) = (row.name(), row.needs().minimum_bytes);
            TargetError::TooSmall { fs, minimum_bytes, have_bytes }
        });
        match small.and_then(|small| small.skip()) {
            Some((reason, _)) => {
                let remedy = "name a larger device".to_owned();
                expansion.skipped.push(SkippedCell { cell, reason, remedy });
            }
            None => expansion.cells.push(cell),
        }
    }
}
