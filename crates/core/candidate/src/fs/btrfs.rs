//! btrfs: copy on write, checksums, subvolumes.
//!
//! It discards by itself unless told `nodiscard` (`discard=async` is the
//! default since Linux 6.2), so that word is added where the candidate says
//! nothing of discard. Source: btrfs(5); mkfs.btrfs(8) `-K` and `-b`.

use pickfs_record::features::{Class, Home, Origin};
use pickfs_record::{CandidateSpec, Durability, Step};

use super::facts::{LOOKED_UP, fact};
use super::{FileSystem, Needs, Period, Place, recipe, words::Words};

pub struct Btrfs;

impl FileSystem for Btrfs {
    fn name(&self) -> &'static str {
        "btrfs"
    }

    fn origin(&self) -> &'static str {
        "Begun at Oracle (2007), in Linux since 2.6.29; served by the btrfs driver."
    }

    fn facts(&self) -> Origin {
        ORIGIN
    }

    fn needs(&self) -> Needs {
        Needs::block(
            &["btrfs"],
            "the kernel module btrfs is in every Debian kernel; load it with modprobe btrfs",
            "mkfs.btrfs",
            "btrfs-progs",
        )
        .at_least(128 << 20)
    }

    fn words(&self) -> Words {
        Words {
            alone: "-f -K -M -q -v -V --force --nodiscard --mixed --quiet --verbose",
            valued: "-A -b -d -l -m -n -O -R -s -U --alloc-start --byte-count --data --leafsize --metadata \
                     --nodesize --features --runtime-features --sectorsize --csum --checksum --uuid --device-uuid",
            text: "-L --label",
            outside: "-r -u --rootdir --subvol --inode-flags --compress --reflink --shrink",
        }
    }

    fn make(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        let mut args = recipe::make_args(&["-q", "-f"], &["-K"], spec);
        if let Some(bytes) = place.make_bytes {
            args.extend(["-b".into(), bytes.to_string()]);
        }
        args.push(place.device.clone());
        vec![recipe::exec("make", "mkfs.btrfs", args)]
    }

    fn mount(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        recipe::mount_device("btrfs", recipe::options_without_discard(spec), place)
    }

    fn periods(&self, options: &[String]) -> Vec<Period> {
        vec![Period::from_option("btrfs commit", options, "commit", 30.0)]
    }

    fn durability(&self, options: &[String]) -> (Durability, &'static str) {
        if recipe::has_option(options, "nobarrier") {
            (Durability::KernelCrash, "barriers are off: fsync does not flush the device's cache")
        } else {
            (Durability::PowerLoss, "fsync ends with a flush of the device")
        }
    }
}

const ORIGIN: Origin = Origin {
    home: Home::Linux,
    is_unix_by_design: true,
    article_class: Some(Class::Native),
    designed: fact(
        "2007 by Chris Mason at Oracle, for Linux",
        "Rodeh, Bacik, Mason, BTRFS: The Linux B-tree Filesystem, ACM TOS 2013",
    ),
    purpose: fact(
        "checksums, snapshots and several devices in one file system",
        "Rodeh, Bacik, Mason, BTRFS: The Linux B-tree Filesystem, ACM TOS 2013",
    ),
    stable_since: fact(
        "2.6.29 (March 2009); its format is called stable since 2013",
        "kernelnewbies.org, Linux_2_6_29; fs/btrfs/Kconfig",
    ),
    served_by: fact("the kernel's btrfs driver", "fs/btrfs/Kconfig"),
    journal: fact("none: copy on write, with a log tree for fsync", "btrfs(5), treelog"),
    devices: fact(
        "several, with RAID 0, 1 and 10; RAID 5 and 6 are not recommended",
        "mkfs.btrfs(8), -d; btrfs(5)",
    ),
    systems: fact("Windows by the added driver WinBtrfs", "github.com/maharmstone/btrfs"),
    distributions: fact(
        "SUSE (default for the system), Debian, Ubuntu; not in RHEL since 8",
        "SLES 15 SP3, Storage Administration Guide, chapter 1; linuxpromagazine.com on RHEL 7.4; installers of Debian and Ubuntu",
    ),
    checksums: fact(
        "of data and metadata: crc32c, xxhash, sha256, blake2",
        "btrfs(5), checksum algorithms",
    ),
    compression: fact("zlib, lzo, zstd, by mount option or property", "btrfs(5), compress"),
    snapshots: fact("yes, writable ones too", "btrfs-subvolume(8)"),
    encryption: fact("none", "btrfs(5)"),
    casefold: fact("none", "btrfs(5)"),
    limits: fact("file 16 EiB by format, 8 EiB by Linux", "btrfs(5), filesystem limits"),
    looked_up: LOOKED_UP,
};
