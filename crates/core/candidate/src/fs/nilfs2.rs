//! NILFS2, a log that keeps its past. Source: mkfs.nilfs2(8), `-K`.

use pickfs_record::features::{Home, Origin};
use pickfs_record::{CandidateSpec, Step};

use super::facts::{LOOKED_UP, fact};
use super::{FileSystem, Lack, Needs, Period, Place, recipe, words::Words};

pub struct Nilfs2;

impl FileSystem for Nilfs2 {
    fn name(&self) -> &'static str {
        "nilfs2"
    }

    fn origin(&self) -> &'static str {
        "From NTT (2005), a log-structured file system with snapshots; served by the nilfs2 driver."
    }

    fn facts(&self) -> Origin {
        ORIGIN
    }

    fn needs(&self) -> Needs {
        Needs::block(
            &["nilfs2"],
            "the kernel module nilfs2 is in Debian's stock kernel; load it with modprobe nilfs2",
            "mkfs.nilfs2",
            "nilfs-tools",
        )
        .at_least(128 << 20)
        .whole_device()
    }

    fn words(&self) -> Words {
        Words {
            alone: "-c -f -h -K -n -q -v -V",
            valued: "-b -B -m -O -P",
            text: "-L",
            ..Words::default()
        }
    }

    fn make(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        let mut args = recipe::make_args(&["-q", "-f"], &["-K"], spec);
        args.push(place.device.clone());
        vec![recipe::exec("make", "mkfs.nilfs2", args)]
    }

    fn lacks(&self) -> &'static [Lack] {
        &[Lack::Fallocate, Lack::UserAttributes]
    }

    /// A segment is closed after five seconds at the latest.
    fn periods(&self, _options: &[String]) -> Vec<Period> {
        vec![Period::new("nilfs2 segment", 5.0)]
    }
}

const ORIGIN: Origin = Origin {
    home: Home::Linux,
    is_unix_by_design: true,
    article_class: None,
    designed: fact(
        "2005 by Ryusuke Konishi and others at NTT, for Linux",
        "Konishi et al., The Linux Implementation of a Log-structured File System, ACM OSR 2006",
    ),
    purpose: fact(
        "a log that keeps its past: files as they were seconds ago",
        "Konishi et al., The Linux Implementation of a Log-structured File System, ACM OSR 2006",
    ),
    stable_since: fact("2.6.30 (June 2009)", "kernelnewbies.org, Linux_2_6_30"),
    served_by: fact(
        "the kernel's nilfs2 driver, with a cleaner daemon",
        "Documentation/filesystems/nilfs2.rst",
    ),
    journal: fact("none: a log with checkpoints", "Documentation/filesystems/nilfs2.rst"),
    devices: fact("one", "Documentation/filesystems/nilfs2.rst"),
    systems: fact("NetBSD reads it", "NetBSD mount_nilfs(8)"),
    distributions: fact(
        "Debian; not in the lists of RHEL 9 and SLES 15; Ubuntu not looked up",
        "RHEL 9, Managing file systems; SLES 15 SP3, Storage Administration Guide, chapter 1; modules of Debian 12's linux-image 6.1",
    ),
    checksums: fact(
        "of log segments, used for recovery",
        "Konishi et al., The Linux Implementation of a Log-structured File System, ACM OSR 2006",
    ),
    compression: fact("none", "Documentation/filesystems/nilfs2.rst"),
    snapshots: fact("yes, of any checkpoint, read-only", "Documentation/filesystems/nilfs2.rst"),
    encryption: fact("none", "Documentation/filesystems/nilfs2.rst"),
    casefold: fact("none", "Documentation/filesystems/nilfs2.rst"),
    limits: fact(
        "file 8 EiB",
        "Konishi et al., The Linux Implementation of a Log-structured File System, ACM OSR 2006",
    ),
    looked_up: LOOKED_UP,
};
