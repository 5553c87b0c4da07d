//! JFS, the journalled file system of AIX and OS/2. Source: mkfs.jfs(8).

use pickfs_model::{CandidateSpec, Step};

use super::{FileSystem, Lack, Needs, Place, recipe};

/// The row of jfs.
pub struct Jfs;

impl FileSystem for Jfs {
    fn name(&self) -> &'static str {
        "jfs"
    }

    fn origin(&self) -> &'static str {
        "From IBM's OS/2 (1999), in Linux since 2.4.20; served by the jfs driver."
    }

    fn needs(&self) -> Needs {
        Needs::block(
            &["jfs"],
            "the kernel module jfs is in Debian's stock kernel; load it with modprobe jfs",
            "mkfs.jfs",
            "jfsutils",
        )
    }

    fn make(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        let mut args = recipe::make_args(&["-q"], &[], spec);
        args.push(place.device.clone());
        args.extend(place.make_units(4096));
        vec![recipe::exec("make", "mkfs.jfs", args)]
    }

    fn lacks(&self) -> &'static [Lack] {
        &[Lack::Fallocate]
    }
}
