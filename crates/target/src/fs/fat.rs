//! FAT with 16-bit and with 32-bit tables, with long names (vfat).
//! Two rows, one program. Source: mkfs.fat(8), `Documentation/filesystems/vfat.rst`.

use pickfs_model::{CandidateSpec, Step};

use super::{FileSystem, Lack, Needs, Place, recipe};

/// The rows of FAT: how many bits an entry of the table has.
pub enum Fat {
    /// `fat16`: at most 2 GiB with clusters of 32 KiB.
    Sixteen,
    /// `fat32`.
    ThirtyTwo,
}

impl FileSystem for Fat {
    fn name(&self) -> &'static str {
        match self {
            Fat::Sixteen => "fat16",
            Fat::ThirtyTwo => "fat32",
        }
    }

    fn origin(&self) -> &'static str {
        "From Microsoft's DOS (1984) and Windows 95 (1996); served by the vfat driver."
    }

    fn needs(&self) -> Needs {
        Needs::block(
            &["vfat"],
            "the kernel module vfat is in Debian's stock kernel; load it with modprobe vfat",
            "mkfs.fat",
            "dosfstools",
        )
        .at_least(64 << 20)
    }

    fn make(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        let bits = match self {
            Fat::Sixteen => "16",
            Fat::ThirtyTwo => "32",
        };
        let mut args = recipe::make_args(&["-I", "-F", bits], &[], spec);
        args.push(place.device.clone());
        args.extend(place.make_units(1024));
        vec![recipe::exec("make", "mkfs.fat", args)]
    }

    fn lacks(&self) -> &'static [Lack] {
        &[
            Lack::PunchHole,
            Lack::HardLinks,
            Lack::SymbolicLinks,
            Lack::Permissions,
            Lack::UserAttributes,
            Lack::CaseSensitivity,
        ]
    }
}
