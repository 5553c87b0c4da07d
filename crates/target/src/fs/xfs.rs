//! XFS: allocation groups, delayed logging, extents in B+trees.
//!
//! `mkfs.xfs -K` keeps mkfs from discarding; mounts do not discard by
//! themselves. Source: mkfs.xfs(8); `Documentation/admin-guide/xfs.rst`.

use pickfs_model::{CandidateSpec, Step};

use super::{FileSystem, Needs, Period, Place, recipe};

/// The row of XFS.
pub struct Xfs;

impl FileSystem for Xfs {
    fn name(&self) -> &'static str {
        "xfs"
    }

    fn origin(&self) -> &'static str {
        "From Silicon Graphics' IRIX (1994), in Linux since 2.4.25; served by the xfs driver."
    }

    fn needs(&self) -> Needs {
        Needs::block(
            &["xfs"],
            "the kernel module xfs is in every Debian kernel; load it with modprobe xfs",
            "mkfs.xfs",
            "xfsprogs",
        )
        .at_least(300 << 20)
    }

    fn make(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        let mut args = recipe::make_args(&["-q", "-f"], &["-K"], spec);
        if let Some(bytes) = place.make_bytes {
            args.extend(["-d".into(), format!("size={bytes}")]);
        }
        args.push(place.device.clone());
        vec![recipe::exec("make", "mkfs.xfs", args)]
    }

    fn periods(&self, _options: &[String]) -> Vec<Period> {
        let path = "/proc/sys/fs/xfs/xfssyncd_centisecs";
        vec![Period::from_kernel("xfs log work", path, 0.01, 30.0)]
    }
}
