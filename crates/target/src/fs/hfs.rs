//! HFS, the classic Macintosh file system. Source: hformat(1).

use pickfs_model::{CandidateSpec, Step};

use super::{FileSystem, Lack, Needs, Place, recipe};

/// The row of hfs.
pub struct Hfs;

impl FileSystem for Hfs {
    fn name(&self) -> &'static str {
        "hfs"
    }

    fn origin(&self) -> &'static str {
        "From Apple's Macintosh (1985); served by the hfs driver."
    }

    fn needs(&self) -> Needs {
        Needs::block(
            &["hfs"],
            "the kernel module hfs is in Debian's stock kernel; load it with modprobe hfs",
            "hformat",
            "hfsutils",
        )
        .whole_device()
    }

    fn make(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        let mut args = recipe::make_args(&["-f", "-l", "pickfs"], &[], spec);
        args.push(place.device.clone());
        vec![recipe::exec("make", "hformat", args)]
    }

    fn lacks(&self) -> &'static [Lack] {
        &[
            Lack::Fallocate,
            Lack::HardLinks,
            Lack::SymbolicLinks,
            Lack::Permissions,
            Lack::UserAttributes,
            Lack::FolderSync,
            Lack::CaseSensitivity,
        ]
    }

    /// Longer names are cut in silence.
    fn name_bytes_max(&self) -> Option<u16> {
        Some(31)
    }
}
