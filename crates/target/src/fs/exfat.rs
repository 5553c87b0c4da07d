//! exFAT by the kernel's driver. Source: mkfs.exfat(8).

use pickfs_model::{CandidateSpec, Step};

use super::{FileSystem, Needs, Place, recipe};

/// The row of exfat.
pub struct Exfat;

impl FileSystem for Exfat {
    fn name(&self) -> &'static str {
        "exfat"
    }

    fn origin(&self) -> &'static str {
        "From Microsoft (2006), in Linux since 5.7; served by the exfat driver."
    }

    fn needs(&self) -> Needs {
        Needs::block(
            &["exfat"],
            "the kernel module exfat is in Debian's stock kernel; load it with modprobe exfat",
            "mkfs.exfat",
            "exfatprogs",
        )
        .whole_device()
    }

    fn make(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        let mut args = recipe::make_args(&[], &[], spec);
        args.push(place.device.clone());
        vec![recipe::exec("make", "mkfs.exfat", args)]
    }
}
