//! AFFS, the Amiga's fast file system. Source: `Documentation/filesystems/affs.rst`.

use pickfs_record::features::{Class, Home, Origin};
use pickfs_record::{CandidateSpec, Step};

use super::facts::{LOOKED_UP, fact};
use super::{FileSystem, Lack, Needs, Place, recipe};

pub struct Affs;

impl FileSystem for Affs {
    fn name(&self) -> &'static str {
        "affs"
    }

    fn origin(&self) -> &'static str {
        "From Commodore's Amiga (1985 and 1988); served by the affs driver."
    }

    fn facts(&self) -> Origin {
        ORIGIN
    }

    fn needs(&self) -> Needs {
        Needs::block(
            &["affs"],
            "the kernel module affs is in Debian's stock kernel; load it with modprobe affs",
            "",
            "",
        )
        .own_formatter()
        .whole_device()
    }

    /// The driver looks for the root block in the middle of the device, so it takes the whole of it.
    fn make(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        let whole = Place { make_bytes: None, ..place.clone() };
        recipe::own_format(self.name(), spec, &whole)
    }

    fn lacks(&self) -> &'static [Lack] {
        &[Lack::Fallocate, Lack::UserAttributes, Lack::CaseSensitivity]
    }

    /// Longer names are cut in silence.
    fn name_bytes_max(&self) -> Option<u16> {
        Some(30)
    }
}

const ORIGIN: Origin = Origin {
    home: Home::Elsewhere,
    is_unix_by_design: false,
    article_class: Some(Class::ForeignUnsupported),
    designed: fact(
        "1985 (old) and 1988 (fast) at Commodore-Amiga, for AmigaOS",
        "Commodore-Amiga, AmigaDOS Manual, 3rd edition, 1991",
    ),
    purpose: fact("hard disks of the Amiga", "Commodore-Amiga, AmigaDOS Manual, 3rd edition, 1991"),
    stable_since: fact(
        "2.0 (June 1996); not all kinds are written",
        "Documentation/filesystems/affs.rst",
    ),
    served_by: fact("the kernel's affs driver", "Documentation/filesystems/affs.rst"),
    journal: fact("none", "Documentation/filesystems/affs.rst"),
    devices: fact("one", "Documentation/filesystems/affs.rst"),
    systems: fact("AmigaOS, AROS, MorphOS", "the article of 2011"),
    distributions: fact(
        "Debian; not in the lists of RHEL 9 and SLES 15; Ubuntu not looked up",
        "RHEL 9, Managing file systems; SLES 15 SP3, Storage Administration Guide, chapter 1; modules of Debian 12's linux-image 6.1",
    ),
    checksums: fact(
        "of metadata blocks; of data in the old format only",
        "Commodore-Amiga, AmigaDOS Manual, 3rd edition, 1991",
    ),
    compression: fact("none", "Documentation/filesystems/affs.rst"),
    snapshots: fact("none", "Documentation/filesystems/affs.rst"),
    encryption: fact("none", "Documentation/filesystems/affs.rst"),
    casefold: fact(
        "always: names that differ only in case are one",
        "Documentation/filesystems/affs.rst",
    ),
    limits: fact(
        "names of 30 characters, silently cut unless mounted nofilenametruncate",
        "Documentation/filesystems/affs.rst",
    ),
    looked_up: LOOKED_UP,
};
