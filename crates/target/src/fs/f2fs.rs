//! F2FS, made for flash. It discards by itself unless told `nodiscard`.
//! Source: mkfs.f2fs(8), `-t 0`; `Documentation/filesystems/f2fs.rst`.

use pickfs_model::{CandidateSpec, Step};

use super::{FileSystem, Needs, Period, Place, recipe};

/// The row of f2fs.
pub struct F2fs;

impl FileSystem for F2fs {
    fn name(&self) -> &'static str {
        "f2fs"
    }

    fn origin(&self) -> &'static str {
        "From Samsung (2012), a log-structured file system for flash; served by the f2fs driver."
    }

    fn needs(&self) -> Needs {
        Needs::block(
            &["f2fs"],
            "the kernel module f2fs is in Debian's stock kernel; load it with modprobe f2fs",
            "mkfs.f2fs",
            "f2fs-tools",
        )
        .at_least(64 << 20)
    }

    fn make(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        let mut args = recipe::make_args(&["-q", "-f"], &["-t", "0"], spec);
        args.push(place.device.clone());
        args.extend(place.make_units(place.sector_bytes.into()));
        vec![recipe::exec("make", "mkfs.f2fs", args)]
    }

    fn mount(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        recipe::mount_device("f2fs", recipe::options_without_discard(spec), place)
    }

    /// A checkpoint is taken once a minute at the latest; f2fs.rst, `cp_interval`.
    fn periods(&self, _options: &[String]) -> Vec<Period> {
        vec![Period::new("f2fs checkpoint", 60.0)]
    }
}
