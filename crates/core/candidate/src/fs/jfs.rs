//! JFS, the journalled file system of AIX and OS/2. Source: mkfs.jfs(8).

use pickfs_record::features::{Class, Home, Origin};
use pickfs_record::{CandidateSpec, Step};

use super::facts::{LOOKED_UP, fact};
use super::{FileSystem, Lack, Needs, Place, recipe, words::Words};

pub struct Jfs;

impl FileSystem for Jfs {
    fn name(&self) -> &'static str {
        "jfs"
    }

    fn origin(&self) -> &'static str {
        "From IBM's OS/2 (1999), in Linux since 2.4.20; served by the jfs driver."
    }

    fn facts(&self) -> Origin {
        ORIGIN
    }

    fn needs(&self) -> Needs {
        Needs::block(
            &["jfs"],
            "the kernel module jfs is in Debian's stock kernel; load it with modprobe jfs",
            "mkfs.jfs",
            "jfsutils",
        )
    }

    fn words(&self) -> Words {
        Words { alone: "-c -f -O -q -V", valued: "-J -s", text: "-L", outside: "-j" }
    }

    fn make(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        let mut args = recipe::make_args(&["-q"], &[], spec);
        args.push(place.device.clone());
        args.extend(place.make_units(4096));
        vec![recipe::exec("make", "mkfs.jfs", args)]
    }

    fn lacks(&self) -> &'static [Lack] {
        &[Lack::Fallocate]
    }
}

const ORIGIN: Origin = Origin {
    home: Home::Elsewhere,
    is_unix_by_design: true,
    article_class: Some(Class::ForeignSupported),
    designed: fact(
        "1995 to 1999 at IBM, for OS/2 Warp Server and AIX (there called JFS2)",
        "Best, JFS overview, IBM developerWorks, 2000",
    ),
    purpose: fact(
        "servers that must be up again soon after a crash",
        "Best, JFS overview, IBM developerWorks, 2000",
    ),
    stable_since: fact("2.4.20 (November 2002)", "change log of Linux 2.4.20"),
    served_by: fact("the kernel's jfs driver", "Documentation/admin-guide/jfs.rst"),
    journal: fact("metadata only", "Best, JFS overview, IBM developerWorks, 2000"),
    devices: fact("one; the journal may lie on another", "mkfs.jfs(8), -J"),
    systems: fact(
        "OS/2, eComStation, ArcaOS; AIX's format differs",
        "Best, JFS overview, IBM developerWorks, 2000",
    ),
    distributions: fact(
        "Debian; not in the lists of RHEL 9 and SLES 15; Ubuntu not looked up",
        "RHEL 9, Managing file systems; SLES 15 SP3, Storage Administration Guide, chapter 1; modules of Debian 12's linux-image 6.1",
    ),
    checksums: fact("none", "Best, JFS overview, IBM developerWorks, 2000"),
    compression: fact("none in this driver", "Best, JFS overview, IBM developerWorks, 2000"),
    snapshots: fact("none", "Best, JFS overview, IBM developerWorks, 2000"),
    encryption: fact("none", "Best, JFS overview, IBM developerWorks, 2000"),
    casefold: fact("the whole volume, with mkfs.jfs -O (for OS/2)", "mkfs.jfs(8)"),
    limits: fact(
        "file 4 PiB, volume 32 PiB with 4 KiB blocks",
        "Best, JFS overview, IBM developerWorks, 2000",
    ),
    looked_up: LOOKED_UP,
};
