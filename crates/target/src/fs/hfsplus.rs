//! HFS+ and its case-sensitive form HFSX. Two rows, one program.
//!
//! Linux mounts a volume with a journal read-only; mkfs.hfsplus makes one
//! without a journal unless told `-J`. Source: `Documentation/filesystems/hfsplus.rst`.

use pickfs_model::{CandidateSpec, Step};

use super::{FileSystem, Lack, Needs, Place, recipe};

/// The rows of HFS+.
pub enum HfsPlus {
    /// `hfsplus`: names that differ only in case are one.
    Plus,
    /// `hfsx`: case-sensitive.
    X,
}

impl FileSystem for HfsPlus {
    fn name(&self) -> &'static str {
        match self {
            HfsPlus::Plus => "hfsplus",
            HfsPlus::X => "hfsx",
        }
    }

    fn origin(&self) -> &'static str {
        "From Apple's Mac OS 8.1 (1998) and 10.3 (2003); served by the hfsplus driver."
    }

    fn needs(&self) -> Needs {
        Needs::block(
            &["hfsplus"],
            "the kernel module hfsplus is in Debian's stock kernel; load nls_utf8 and hfsplus \
             with modprobe",
            "mkfs.hfsplus",
            "hfsprogs (section non-free in Debian 12)",
        )
        .whole_device()
    }

    fn make(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        let ours: &[&str] = match self {
            HfsPlus::Plus => &["-v", "pickfs"],
            HfsPlus::X => &["-s", "-v", "pickfs"],
        };
        let mut args = recipe::make_args(ours, &[], spec);
        args.push(place.device.clone());
        vec![recipe::exec("make", "mkfs.hfsplus", args)]
    }

    fn lacks(&self) -> &'static [Lack] {
        match self {
            HfsPlus::Plus => &[Lack::Fallocate, Lack::CaseSensitivity],
            HfsPlus::X => &[Lack::Fallocate],
        }
    }
}
