//! exFAT by the kernel's driver. Source: mkfs.exfat(8).

use pickfs_record::features::{Home, Origin};
use pickfs_record::{CandidateSpec, Step};

use super::facts::{LOOKED_UP, fact};
use super::{FileSystem, Needs, Place, recipe, words::Words};

pub struct Exfat;

impl FileSystem for Exfat {
    fn name(&self) -> &'static str {
        "exfat"
    }

    fn origin(&self) -> &'static str {
        "From Microsoft (2006), in Linux since 5.7; served by the exfat driver."
    }

    fn facts(&self) -> Origin {
        ORIGIN
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

    fn words(&self) -> Words {
        Words {
            alone: "-f -q -v -V -h --full-format --pack-bitmap --quiet --verbose",
            valued: "-b -c -i -p -s -U --boundary-align --cluster-size --sector-size --volume-guid",
            text: "-L -n --volume-label",
            ..Words::default()
        }
    }

    fn make(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        let mut args = recipe::make_args(&[], &[], spec);
        args.push(place.device.clone());
        vec![recipe::exec("make", "mkfs.exfat", args)]
    }
}

pub(super) const ORIGIN: Origin = Origin {
    home: Home::Elsewhere,
    is_unix_by_design: false,
    article_class: None,
    designed: fact(
        "2006 at Microsoft, for Windows CE 6.0 and flash cards",
        "Microsoft, exFAT file system specification, 2019",
    ),
    purpose: fact(
        "cards and sticks with files over 4 GiB",
        "Microsoft, exFAT file system specification, 2019",
    ),
    stable_since: fact("5.7 (May 2020)", "kernelnewbies.org, Linux_5.7"),
    served_by: fact("the kernel's exfat driver, from Samsung", "fs/exfat/Kconfig"),
    journal: fact("none", "Microsoft, exFAT file system specification, 2019"),
    devices: fact("one", "Microsoft, exFAT file system specification, 2019"),
    systems: fact(
        "Windows and macOS read and write it; cameras, phones",
        "Microsoft, exFAT file system specification, 2019",
    ),
    distributions: fact(
        "RHEL (since 9), Debian, Ubuntu; SUSE not looked up",
        "RHEL 9, Considerations in adopting, chapter 12.1; modules of Debian 12's linux-image 6.1; wiki.ubuntuusers.de, exFAT",
    ),
    checksums: fact(
        "of the boot region and of each entry set; none of data",
        "Microsoft, exFAT file system specification, 2019",
    ),
    compression: fact("none", "Microsoft, exFAT file system specification, 2019"),
    snapshots: fact("none", "Microsoft, exFAT file system specification, 2019"),
    encryption: fact("none", "Microsoft, exFAT file system specification, 2019"),
    casefold: fact(
        "always: names that differ only in case are one",
        "Microsoft, exFAT file system specification, 2019",
    ),
    limits: fact(
        "file 16 EiB by format; some 2.8 million names a directory",
        "Microsoft, exFAT file system specification, 2019",
    ),
    looked_up: LOOKED_UP,
};
