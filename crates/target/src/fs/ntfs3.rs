//! NTFS by the kernel's own driver ntfs3 (Linux 5.15), made by ntfs-3g's mkfs.
//! Source: `Documentation/filesystems/ntfs3.rst`.

use pickfs_model::{CandidateSpec, Step};

use super::{FileSystem, Needs, Place, recipe};

/// The row of ntfs3.
pub struct Ntfs3;

impl FileSystem for Ntfs3 {
    fn name(&self) -> &'static str {
        "ntfs3"
    }

    fn origin(&self) -> &'static str {
        "Microsoft's NTFS, served by Paragon's driver in Linux since 5.15."
    }

    fn needs(&self) -> Needs {
        Needs::block(
            &["ntfs3"],
            "the kernel module ntfs3 is not built in Debian 12; a kernel with CONFIG_NTFS3_FS \
             has it, and ntfs-3g serves the same format",
            "mkfs.ntfs",
            "ntfs-3g",
        )
    }

    fn make(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        let mut args = recipe::make_args(&["-q", "-F", "-Q"], &[], spec);
        args.push(place.device.clone());
        args.extend(place.make_units(place.sector_bytes.into()));
        vec![recipe::exec("make", "mkfs.ntfs", args)]
    }
}
