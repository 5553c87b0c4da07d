//! HFS+ and HFSX. The formatter is our own: mkfs.hfsplus is in Debian's section non-free.
//! Linux mounts a volume with a journal read-only; ours has none. Source:
//! `Documentation/filesystems/hfsplus.rst`.

use pickfs_record::features::{Class, Home, Origin};
use pickfs_record::{CandidateSpec, Step};

use super::facts::{LOOKED_UP, fact};
use super::{FileSystem, Lack, Needs, Place, recipe};

pub enum HfsPlus {
    /// Names that differ only in case are one.
    Plus,
    /// Case-sensitive.
    X,
}

impl FileSystem for HfsPlus {
    fn name(&self) -> &'static str {
        match self {
            HfsPlus::Plus => "hfsplus",
            HfsPlus::X => "hfsx",
        }
    }

    fn origin(&self) -> &'static str {
        "From Apple's Mac OS 8.1 (1998) and 10.3 (2003); served by the hfsplus driver."
    }

    fn facts(&self) -> Origin {
        match self {
            HfsPlus::Plus => PLUS,
            HfsPlus::X => X,
        }
    }

    fn needs(&self) -> Needs {
        Needs::block(
            &["hfsplus"],
            "the kernel module hfsplus is in Debian's stock kernel; load nls_utf8 and hfsplus \
             with modprobe",
            "",
            "",
        )
        .own_formatter()
        .whole_device()
    }

    /// The copy of the header lies at the end of the device, so it takes the whole of it.
    fn make(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        let whole = Place { make_bytes: None, ..place.clone() };
        recipe::own_format(self.name(), spec, &whole)
    }

    fn lacks(&self) -> &'static [Lack] {
        match self {
            HfsPlus::Plus => &[Lack::Fallocate, Lack::CaseSensitivity],
            HfsPlus::X => &[Lack::Fallocate],
        }
    }
}

const PLUS: Origin = Origin {
    home: Home::Elsewhere,
    is_unix_by_design: true,
    article_class: Some(Class::ForeignSupported),
    designed: fact(
        "1998 at Apple, for Mac OS 8.1",
        "Apple, Technical Note TN1150, HFS Plus Volume Format",
    ),
    purpose: fact(
        "HFS for large disks, with Unicode names and Unix permissions",
        "Apple, Technical Note TN1150, HFS Plus Volume Format",
    ),
    stable_since: fact("2.6.4 (March 2004)", "change log of Linux 2.6.4"),
    served_by: fact("the kernel's hfsplus driver", "Documentation/filesystems/hfsplus.rst"),
    journal: fact(
        "the format has one; this driver writes none and mounts such a volume read-only",
        "Documentation/filesystems/hfsplus.rst, force",
    ),
    devices: fact("one", "Apple, Technical Note TN1150, HFS Plus Volume Format"),
    systems: fact(
        "macOS reads and writes it",
        "Apple, Technical Note TN1150, HFS Plus Volume Format",
    ),
    distributions: fact(
        "Debian; not in the lists of RHEL 9 and SLES 15; Ubuntu not looked up",
        "RHEL 9, Managing file systems; SLES 15 SP3, Storage Administration Guide, chapter 1; modules of Debian 12's linux-image 6.1",
    ),
    checksums: fact("none", "Apple, Technical Note TN1150, HFS Plus Volume Format"),
    compression: fact("none in this driver", "Documentation/filesystems/hfsplus.rst"),
    snapshots: fact("none", "Apple, Technical Note TN1150, HFS Plus Volume Format"),
    encryption: fact("none", "Apple, Technical Note TN1150, HFS Plus Volume Format"),
    casefold: fact(
        "always: names that differ only in case are one",
        "Apple, Technical Note TN1150, HFS Plus Volume Format",
    ),
    limits: fact("file 8 EiB, names of 255 UTF-16 units", "Documentation/filesystems/hfsplus.rst"),
    looked_up: LOOKED_UP,
};

const X: Origin = Origin {
    home: Home::Elsewhere,
    is_unix_by_design: true,
    article_class: Some(Class::ForeignSupported),
    designed: fact(
        "2003 at Apple, for Mac OS X 10.3",
        "Apple, Technical Note TN1150, HFS Plus Volume Format",
    ),
    purpose: fact(
        "HFS+ that tells case apart",
        "Apple, Technical Note TN1150, HFS Plus Volume Format",
    ),
    casefold: fact(
        "never: HFSX tells case apart",
        "Apple, Technical Note TN1150, HFS Plus Volume Format",
    ),
    ..PLUS
};
