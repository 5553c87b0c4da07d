//! FAT with 16-bit and with 32-bit tables, with long names (vfat).
//! Two rows, one program. Source: mkfs.fat(8), `Documentation/filesystems/vfat.rst`.

use pickfs_record::features::{Class, Home, Origin};
use pickfs_record::{CandidateSpec, Step};

use super::facts::{LOOKED_UP, fact};
use super::{FileSystem, Lack, Needs, Place, recipe, words::Words};

pub enum Fat {
    /// `fat16`: at most 2 GiB with clusters of 32 KiB.
    Sixteen,
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

    fn facts(&self) -> Origin {
        match self {
            Fat::Sixteen => SIXTEEN,
            Fat::ThirtyTwo => THIRTY_TWO,
        }
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

    fn words(&self) -> Words {
        Words {
            alone: "-a -A -c -I -v --invariant --mbr",
            valued: "-b -D -f -F -g -h -i -M -r -R -s -S --codepage --offset --variant",
            text: "-n",
            outside: "-C -l -m",
        }
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

const SIXTEEN: Origin = Origin {
    home: Home::Elsewhere,
    is_unix_by_design: false,
    article_class: Some(Class::ForeignUnsupported),
    designed: fact(
        "1977 by Marc McDonald and others at Microsoft; 16 bits for DOS 3.0 (1984)",
        "Microsoft, FAT32 File System Specification 1.03, 2000",
    ),
    purpose: fact(
        "floppy disks and small hard disks of one user",
        "Microsoft, FAT32 File System Specification 1.03, 2000",
    ),
    stable_since: fact("2.0 (June 1996) with long names", "Documentation/filesystems/vfat.rst"),
    served_by: fact("the kernel's vfat driver", "Documentation/filesystems/vfat.rst"),
    journal: fact("none", "Microsoft, FAT32 File System Specification 1.03, 2000"),
    devices: fact("one", "Microsoft, FAT32 File System Specification 1.03, 2000"),
    systems: fact(
        "nearly all: Windows, macOS, firmware, cameras",
        "Microsoft, FAT32 File System Specification 1.03, 2000",
    ),
    distributions: fact(
        "RHEL, SUSE, Debian, Ubuntu: their EFI system partition is FAT",
        "UEFI specification 2.10, 13.3",
    ),
    checksums: fact("none", "Microsoft, FAT32 File System Specification 1.03, 2000"),
    compression: fact("none", "Microsoft, FAT32 File System Specification 1.03, 2000"),
    snapshots: fact("none", "Microsoft, FAT32 File System Specification 1.03, 2000"),
    encryption: fact("none", "Microsoft, FAT32 File System Specification 1.03, 2000"),
    casefold: fact(
        "always: names that differ only in case are one",
        "Documentation/filesystems/vfat.rst",
    ),
    limits: fact(
        "file 2 GiB, volume 2 GiB with 32 KiB clusters; 65,536 entries a directory, of which a long name takes several",
        "Microsoft, FAT32 File System Specification 1.03, 2000",
    ),
    looked_up: LOOKED_UP,
};

const THIRTY_TWO: Origin = Origin {
    home: Home::Elsewhere,
    is_unix_by_design: false,
    article_class: Some(Class::ForeignUnsupported),
    designed: fact(
        "1977 by Marc McDonald and others at Microsoft; 32 bits for Windows 95 OSR2 (1996)",
        "Microsoft, FAT32 File System Specification 1.03, 2000",
    ),
    purpose: fact(
        "FAT for hard disks over 2 GiB",
        "Microsoft, FAT32 File System Specification 1.03, 2000",
    ),
    limits: fact(
        "file 4 GiB, volume 2 TiB with sectors of 512 B; 65,536 entries a directory, of which a long name takes several",
        "Microsoft, FAT32 File System Specification 1.03, 2000",
    ),
    ..SIXTEEN
};
