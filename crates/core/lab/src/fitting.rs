//! Which candidates a named device is too small for, or cannot put their log on a second one,
//! before a byte of it is written.

use std::path::Path;

use pickfs_candidate::{
    availability::Unavailable,
    fs::{self, Ground, LogPlace},
};
use pickfs_record::{BackingSpec, Plan, quantity::bytes_text};
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
    expansion.leave_out(|cell| {
        let row = fs::find(&cell.candidate.fs);
        let small = row.filter(|row| have_bytes < row.minimum_bytes)?;
        Some((Unavailable::too_small(small, have_bytes).reason, "name a larger device".into()))
    });
}

pub(crate) fn leave_out_without_log(plan: &Plan, expansion: &mut Expansion) {
    let BackingSpec::Device { log_device: Some(node), .. } = &plan.backing else { return };
    let log = LogPlace::on(node);
    expansion.leave_out(|cell| {
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
