//! F2FS, made for flash. It discards by itself unless told `nodiscard`.
//! Source: mkfs.f2fs(8), `-t 0`; `Documentation/filesystems/f2fs.rst`.

use pickfs_record::features::{Home, Origin};
use pickfs_record::{CandidateSpec, Step};

use super::facts::{LOOKED_UP, fact};
use super::{FileSystem, Needs, Period, Place, recipe, words::Words};

pub struct F2fs;

impl FileSystem for F2fs {
    fn name(&self) -> &'static str {
        "f2fs"
    }

    fn origin(&self) -> &'static str {
        "From Samsung (2012), a log-structured file system for flash; served by the f2fs driver."
    }

    fn facts(&self) -> Origin {
        ORIGIN
    }

    fn needs(&self) -> Needs {
        Needs::block(
            &["f2fs"],
            "the kernel module f2fs is in Debian's stock kernel; load it with modprobe f2fs",
            "mkfs.f2fs",
            "f2fs-tools",
        )
        .at_least(64 << 20)
    }

    fn words(&self) -> Words {
        Words {
            alone: "-f -h -i -m -q -r -V",
            valued: "-a -b -C -d -e -E -g -H -o -O -R -s -S -t -T -U -w -z -Z",
            text: "-l",
            outside: "-c",
        }
    }

    fn make(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        let mut args = recipe::make_args(&["-q", "-f"], &["-t", "0"], spec);
        args.push(place.device.clone());
        args.extend(place.make_units(place.sector_bytes.into()));
        vec![recipe::exec("make", "mkfs.f2fs", args)]
    }

    fn mount(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        recipe::mount_device("f2fs", recipe::options_without_discard(spec), place)
    }

    /// A checkpoint is taken once a minute at the latest; f2fs.rst, `cp_interval`.
    fn periods(&self, _options: &[String]) -> Vec<Period> {
        vec![Period::new("f2fs checkpoint", 60.0)]
    }
}

const ORIGIN: Origin = Origin {
    home: Home::Linux,
    is_unix_by_design: true,
    article_class: None,
    designed: fact(
        "2012 by Jaegeuk Kim and others at Samsung, for Linux",
        "Lee et al., F2FS: A New File System for Flash Storage, FAST 2015",
    ),
    purpose: fact(
        "flash behind a controller: phones, cards, SSDs",
        "Lee et al., F2FS: A New File System for Flash Storage, FAST 2015",
    ),
    stable_since: fact("3.8 (February 2013)", "kernelnewbies.org, Linux_3.8"),
    served_by: fact("the kernel's f2fs driver", "fs/f2fs/Kconfig"),
    journal: fact(
        "none: a log with checkpoints, and roll-forward after fsync",
        "Lee et al., F2FS: A New File System for Flash Storage, FAST 2015",
    ),
    devices: fact("several, by mkfs.f2fs -c", "mkfs.f2fs(8)"),
    systems: fact("Android; none that is not Linux", "Documentation/filesystems/f2fs.rst"),
    distributions: fact(
        "Debian; not in the lists of RHEL 9 and SLES 15; Ubuntu not looked up",
        "RHEL 9, Managing file systems; SLES 15 SP3, Storage Administration Guide, chapter 1; modules of Debian 12's linux-image 6.1",
    ),
    checksums: fact(
        "of checkpoints, of inodes with -O inode_checksum; none of data",
        "mkfs.f2fs(8)",
    ),
    compression: fact("lzo, lz4, zstd, with -O compression", "Documentation/filesystems/f2fs.rst"),
    snapshots: fact("none", "Documentation/filesystems/f2fs.rst"),
    encryption: fact("per directory (fscrypt), with -O encrypt", "mkfs.f2fs(8)"),
    casefold: fact("per directory, with -O casefold", "mkfs.f2fs(8)"),
    limits: fact("volume 16 TiB, file 3.94 TiB", "Documentation/filesystems/f2fs.rst"),
    looked_up: LOOKED_UP,
};
