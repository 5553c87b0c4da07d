//! Which candidates a named device is too small for, or cannot put their log on a second one,
//! before a byte of it is written.

use std::path::Path;

use pickfs_candidate::{
    TargetError,
    fs::{self, Ground, LogPlace},
};
use pickfs_record::{BackingSpec, Cell, Plan, quantity::bytes_text, record::SkippedCell};
use pickfs_sys::block::BlockDevice;

use crate::expand::Expansion;

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
    leave_out(expansion, |cell| {
        let row = fs::find(&cell.candidate.fs);
        let small = row.filter(|row| have_bytes < row.minimum_bytes).map(|row| {
            let (fs, minimum_bytes) = (row.name, row.minimum_bytes);
            TargetError::TooSmall { fs, minimum_bytes, have_bytes }
        });
        small?.skip().map(|(reason, _)| (reason, "name a larger device".into()))
    });
}

pub(crate) fn leave_out_without_log(plan: &Plan, expansion: &mut Expansion) {
    let BackingSpec::Device { log_device: Some(node), .. } = &plan.backing else { return };
    let log = LogPlace::on(node);
    leave_out(expansion, |cell| {
        let row = fs::find(&cell.candidate.fs)?;
        match row.log_apart(&cell.candidate) {
            None if row.ground == Ground::BlockDevice => {
                let reason = format!("{} cannot put its log on another device", row.name);
                Some((reason, format!("leave --log-device or {} out", row.name)))
            }
            Some(true) if log.bytes < LogPlace::BYTES_MIN => {
                let [least, has] = [LogPlace::BYTES_MIN, log.bytes].map(bytes_text);
                let reason = format!("a log needs at least {least}, {} has {has}", log.device);
                Some((reason, "name a larger device for the log".into()))
            }
            _ => None,
        }
    });
}

fn leave_out(expansion: &mut Expansion, why: impl Fn(&Cell) -> Option<(String, String)>) {
    for cell in std::mem::take(&mut expansion.cells) {
        match why(&cell) {
            Some((reason, remedy)) => {
                expansion.skipped.push(SkippedCell { cell, reason, remedy });
            }
            None => expansion.cells.push(cell),
        }
    }
}
