//! AFFS, the Amiga's fast file system. Source: `Documentation/filesystems/affs.rst`.

use pickfs_model::{CandidateSpec, Step};

use super::{FileSystem, Lack, Needs, Place, recipe};

/// The row of affs.
pub struct Affs;

impl FileSystem for Affs {
    fn name(&self) -> &'static str {
        "affs"
    }

    fn origin(&self) -> &'static str {
        "From Commodore's Amiga (1985 and 1988); served by the affs driver."
    }

    fn needs(&self) -> Needs {
        Needs::block(
            &["affs"],
            "the kernel module affs is in Debian's stock kernel; load it with modprobe affs",
            "",
            "",
        )
        .without_formatter(
            "Debian packages no formatter for AFFS; the Python package amitools makes images",
        )
    }

    fn make(&self, _spec: &CandidateSpec, _place: &Place) -> Vec<Step> {
        vec![recipe::call("make", "no-formatter", [self.name()])]
    }

    fn lacks(&self) -> &'static [Lack] {
        &[Lack::Fallocate, Lack::UserAttributes, Lack::CaseSensitivity]
    }

    /// Longer names are cut in silence.
    fn name_bytes_max(&self) -> Option<u16> {
        Some(30)
    }
}
