//! HFS, the classic Macintosh file system. Source: hformat(1).

use pickfs_record::features::{Class, Home, Origin};
use pickfs_record::{CandidateSpec, Step};

use super::facts::{LOOKED_UP, fact};
use super::{FileSystem, Lack, Needs, Place, recipe, words::Words};

pub struct Hfs;

impl FileSystem for Hfs {
    fn name(&self) -> &'static str {
        "hfs"
    }

    fn origin(&self) -> &'static str {
        "From Apple's Macintosh (1985); served by the hfs driver."
    }

    fn facts(&self) -> Origin {
        ORIGIN
    }

    fn needs(&self) -> Needs {
        Needs::block(
            &["hfs"],
            "the kernel module hfs is in Debian's stock kernel; load it with modprobe hfs",
            "hformat",
            "hfsutils",
        )
        .whole_device()
    }

    fn words(&self) -> Words {
        Words { alone: "-f", text: "-l", ..Words::default() }
    }

    fn make(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        let mut args = recipe::make_args(&["-f", "-l", "pickfs"], &[], spec);
        args.push(place.device.clone());
        vec![recipe::exec("make", "hformat", args)]
    }

    fn lacks(&self) -> &'static [Lack] {
        &[
            Lack::Fallocate,
            Lack::HardLinks,
            Lack::SymbolicLinks,
            Lack::Permissions,
            Lack::UserAttributes,
            Lack::FolderSync,
            Lack::CaseSensitivity,
        ]
    }

    /// Longer names are cut in silence.
    fn name_bytes_max(&self) -> Option<u16> {
        Some(31)
    }
}

const ORIGIN: Origin = Origin {
    home: Home::Elsewhere,
    is_unix_by_design: false,
    article_class: Some(Class::ForeignUnsupported),
    designed: fact(
        "1985 by Patrick Dirks and Bill Bruffey at Apple, for the Macintosh",
        "Apple, Inside Macintosh: Files, 1992",
    ),
    purpose: fact(
        "hard disks with folders and resource forks",
        "Apple, Inside Macintosh: Files, 1992",
    ),
    stable_since: fact(
        "2.2 (January 1999); written anew for 2.6",
        "Documentation/filesystems/hfs.rst",
    ),
    served_by: fact("the kernel's hfs driver", "Documentation/filesystems/hfs.rst"),
    journal: fact("none", "Apple, Inside Macintosh: Files, 1992"),
    devices: fact("one", "Apple, Inside Macintosh: Files, 1992"),
    systems: fact(
        "Mac OS up to 10.5 writes it, up to 10.14 reads it",
        "Wikipedia, Hierarchical File System (Apple)",
    ),
    distributions: fact(
        "Debian; not in the lists of RHEL 9 and SLES 15; Ubuntu not looked up",
        "RHEL 9, Managing file systems; SLES 15 SP3, Storage Administration Guide, chapter 1; modules of Debian 12's linux-image 6.1",
    ),
    checksums: fact("none", "Apple, Inside Macintosh: Files, 1992"),
    compression: fact("none", "Apple, Inside Macintosh: Files, 1992"),
    snapshots: fact("none", "Apple, Inside Macintosh: Files, 1992"),
    encryption: fact("none", "Apple, Inside Macintosh: Files, 1992"),
    casefold: fact(
        "always: names that differ only in case are one",
        "Apple, Inside Macintosh: Files, 1992",
    ),
    limits: fact(
        "file 2 GiB, 65,535 blocks a volume, names of 31 bytes",
        "Apple, Inside Macintosh: Files, 1992",
    ),
    looked_up: LOOKED_UP,
};
