//! HPFS of OS/2. Source: `Documentation/filesystems/hpfs.rst`.

use pickfs_model::{CandidateSpec, Step};

use super::{FileSystem, Lack, Needs, Place, recipe};

/// The row of hpfs.
pub struct Hpfs;

impl FileSystem for Hpfs {
    fn name(&self) -> &'static str {
        "hpfs"
    }

    fn origin(&self) -> &'static str {
        "From Microsoft and IBM's OS/2 (1989); served by the hpfs driver."
    }

    fn needs(&self) -> Needs {
        Needs::block(
            &["hpfs"],
            "the kernel module hpfs is in Debian's stock kernel; load it with modprobe hpfs",
            "",
            "",
        )
        .without_formatter("no Linux distribution packages a formatter for HPFS")
    }

    fn make(&self, _spec: &CandidateSpec, _place: &Place) -> Vec<Step> {
        vec![recipe::call("make", "no-formatter", [self.name()])]
    }

    fn lacks(&self) -> &'static [Lack] {
        &[
            Lack::Fallocate,
            Lack::GrowByTruncate,
            Lack::DirectIo,
            Lack::HardLinks,
            Lack::UserAttributes,
            Lack::CaseSensitivity,
        ]
    }

    fn name_bytes_max(&self) -> Option<u16> {
        Some(254)
    }
}
