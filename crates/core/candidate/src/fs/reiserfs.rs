//! ReiserFS in its two formats; the driver left the kernel in Linux 6.13. Source: mkreiserfs(8).
//! The driver of late kernels refuses a freshly made 3.5 volume: its leaf check counts directory
//! entries too large. Such a trial fails at the mount step, with the kernel's words.

use pickfs_record::features::{Class, Home, Origin};
use pickfs_record::{CandidateSpec, Durability, Step};

use super::facts::{LOOKED_UP, fact};
use super::{FileSystem, Lack, Needs, Period, Place, recipe, words::Words};

pub enum Reiserfs {
    /// Files up to 2 GiB.
    V35,
    V36,
}

impl FileSystem for Reiserfs {
    fn name(&self) -> &'static str {
        match self {
            Reiserfs::V35 => "reiserfs-3.5",
            Reiserfs::V36 => "reiserfs-3.6",
        }
    }

    fn origin(&self) -> &'static str {
        "From Namesys (2001), in Linux from 2.4.1 to 6.12; served by the reiserfs driver."
    }

    fn facts(&self) -> Origin {
        match self {
            Reiserfs::V35 => V35,
            Reiserfs::V36 => V36,
        }
    }

    fn needs(&self) -> Needs {
        Needs::block(
            &["reiserfs"],
            "no kernel module reiserfs; it left the kernel in Linux 6.13, Debian 12's stock \
             kernel has it",
            "mkreiserfs",
            "reiserfsprogs",
        )
        .at_least(64 << 20)
    }

    fn words(&self) -> Words {
        Words {
            alone: "-d -f -q -V",
            valued: "-b -h -o -s -t -u --block-size --format --hash --journal-offset --journal-size --transaction-max-size --uuid",
            text: "-l --label",
            outside: "-B -j --badblocks --journal-device",
        }
    }

    fn make(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        let format = match self {
            Reiserfs::V35 => "3.5",
            Reiserfs::V36 => "3.6",
        };
        let mut args = recipe::make_args(&["-q", "-f", "-f", "--format", format], &[], spec);
        args.push(place.device.clone());
        args.extend(place.make_units(4096));
        vec![recipe::exec("make", "mkreiserfs", args)]
    }

    /// Linux 6.1 refuses a new volume of format 3.5: a check of its root folder takes the wrong size. The
    /// driver with that one word corrected registers beside the stock one, under a name of its own.
    fn type_in_a_guest(&self) -> Option<&'static str> {
        match self {
            Reiserfs::V35 => Some("reiserfs35"),
            Reiserfs::V36 => None,
        }
    }

    fn lacks(&self) -> &'static [Lack] {
        &[Lack::Fallocate]
    }

    fn periods(&self, options: &[String]) -> Vec<Period> {
        vec![Period::from_option("journal commit", options, "commit", 30.0)]
    }

    fn durability(&self, options: &[String]) -> (Durability, &'static str) {
        if recipe::option_value(options, "barrier") == Some("none") {
            (Durability::KernelCrash, "barriers are off: fsync does not flush the device's cache")
        } else {
            (Durability::PowerLoss, "fsync ends with a flush of the device")
        }
    }
}

const V36: Origin = Origin {
    home: Home::Linux,
    is_unix_by_design: true,
    article_class: Some(Class::Native),
    designed: fact(
        "1996 to 2001 by Hans Reiser and Namesys, for Linux",
        "reiserfs FAQ, Namesys, 2004",
    ),
    purpose: fact(
        "many small files and large directories, in one balanced tree",
        "fs/reiserfs/Kconfig",
    ),
    stable_since: fact(
        "2.4.1 (January 2001); removed in 6.13 (January 2025)",
        "change log of Linux 2.4.1; kernelnewbies.org, Linux_6.13",
    ),
    served_by: fact("the kernel's reiserfs driver, up to 6.12", "fs/reiserfs/Kconfig"),
    journal: fact("metadata, with data written before it", "reiserfs FAQ, Namesys, 2004"),
    devices: fact("one; the journal may lie on another", "mkreiserfs(8), -j"),
    systems: fact("none", "reiserfs FAQ, Namesys, 2004"),
    distributions: fact(
        "Debian 12; SUSE up to SLES 12; not in the lists of RHEL 9 and SLES 15; Ubuntu not looked up",
        "RHEL 9, Managing file systems; SLES 15 SP3, Storage Administration Guide, chapter 1; modules of Debian 12's linux-image 6.1; SLES 12 SP4, Storage Administration Guide",
    ),
    checksums: fact("none", "reiserfs FAQ, Namesys, 2004"),
    compression: fact("none", "reiserfs FAQ, Namesys, 2004"),
    snapshots: fact("none", "reiserfs FAQ, Namesys, 2004"),
    encryption: fact("none", "reiserfs FAQ, Namesys, 2004"),
    casefold: fact("none", "reiserfs FAQ, Namesys, 2004"),
    limits: fact("file 8 TiB, volume 16 TiB", "reiserfs FAQ, Namesys, 2004"),
    looked_up: LOOKED_UP,
};

const V35: Origin = Origin {
    home: Home::Linux,
    is_unix_by_design: true,
    article_class: Some(Class::Native),
    limits: fact("file 2 GiB, volume 16 TiB", "reiserfs FAQ, Namesys, 2004"),
    ..V36
};
