//! HPFS of OS/2. Source: `Documentation/filesystems/hpfs.rst`.

use pickfs_record::features::{Class, Home, Origin};
use pickfs_record::{CandidateSpec, Step};

use super::facts::{LOOKED_UP, fact};
use super::{FileSystem, Lack, Needs, Place, recipe};

pub struct Hpfs;

impl FileSystem for Hpfs {
    fn name(&self) -> &'static str {
        "hpfs"
    }

    fn origin(&self) -> &'static str {
        "From Microsoft and IBM's OS/2 (1989); served by the hpfs driver."
    }

    fn facts(&self) -> Origin {
        ORIGIN
    }

    fn needs(&self) -> Needs {
        Needs::block(
            &["hpfs"],
            "the kernel module hpfs is in Debian's stock kernel; load it with modprobe hpfs",
            "",
            "",
        )
        .own_formatter()
    }

    fn make(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        recipe::own_format(self.name(), spec, place)
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

const ORIGIN: Origin = Origin {
    home: Home::Elsewhere,
    is_unix_by_design: false,
    article_class: Some(Class::ForeignUnsupported),
    designed: fact(
        "1988 by Gordon Letwin at Microsoft, for OS/2 1.2",
        "Duncan, Design Goals and Implementation of the New High Performance File System, Microsoft Systems Journal 1989",
    ),
    purpose: fact(
        "hard disks beyond the limits of FAT, with long names",
        "Duncan, Design Goals and Implementation of the New High Performance File System, Microsoft Systems Journal 1989",
    ),
    stable_since: fact(
        "2.4 (January 2001), with writing",
        "Configure.help of Linux 2.4, CONFIG_HPFS_FS",
    ),
    served_by: fact("the kernel's hpfs driver", "Documentation/filesystems/hpfs.rst"),
    journal: fact("none", "Documentation/filesystems/hpfs.rst"),
    devices: fact("one", "Documentation/filesystems/hpfs.rst"),
    systems: fact("OS/2, eComStation, ArcaOS", "Documentation/filesystems/hpfs.rst"),
    distributions: fact(
        "Debian; not in the lists of RHEL 9 and SLES 15; Ubuntu not looked up",
        "RHEL 9, Managing file systems; SLES 15 SP3, Storage Administration Guide, chapter 1; modules of Debian 12's linux-image 6.1",
    ),
    checksums: fact(
        "none",
        "Duncan, Design Goals and Implementation of the New High Performance File System, Microsoft Systems Journal 1989",
    ),
    compression: fact(
        "none",
        "Duncan, Design Goals and Implementation of the New High Performance File System, Microsoft Systems Journal 1989",
    ),
    snapshots: fact(
        "none",
        "Duncan, Design Goals and Implementation of the New High Performance File System, Microsoft Systems Journal 1989",
    ),
    encryption: fact(
        "none",
        "Duncan, Design Goals and Implementation of the New High Performance File System, Microsoft Systems Journal 1989",
    ),
    casefold: fact(
        "always: names that differ only in case are one",
        "Documentation/filesystems/hpfs.rst",
    ),
    limits: fact("file 2 GiB, names of 254 bytes", "Documentation/filesystems/hpfs.rst"),
    looked_up: LOOKED_UP,
};
