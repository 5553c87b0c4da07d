//! XFS. `-K` keeps mkfs from discarding; mounts do not discard by themselves. Source: mkfs.xfs(8).

use pickfs_record::features::{Class, Home, Origin};
use pickfs_record::{CandidateSpec, Step};

use super::facts::{LOOKED_UP, fact};
use super::{FileSystem, Needs, Period, Place, recipe, words::Words};

pub struct Xfs;

impl FileSystem for Xfs {
    fn name(&self) -> &'static str {
        "xfs"
    }

    fn origin(&self) -> &'static str {
        "From Silicon Graphics' IRIX (1994), in Linux since 2.4.25; served by the xfs driver."
    }

    fn facts(&self) -> Origin {
        ORIGIN
    }

    fn needs(&self) -> Needs {
        Needs::block(
            &["xfs"],
            "the kernel module xfs is in every Debian kernel; load it with modprobe xfs",
            "mkfs.xfs",
            "xfsprogs",
        )
        .at_least(300 << 20)
    }

    fn words(&self) -> Words {
        Words {
            alone: "-C -f -K -N -q -V",
            valued: "-b -d -i -l -m -n -r -s",
            text: "-L",
            outside: "-c -p --protofile",
        }
    }

    fn make(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        let mut args = recipe::make_args(&["-q", "-f"], &["-K"], spec);
        if let Some(bytes) = place.make_bytes {
            args.extend(["-d".into(), format!("size={bytes}")]);
        }
        if let Some(log) = &place.log {
            let said = recipe::make_values(spec, "-l");
            let mut words = vec![format!("logdev={}", log.device)];
            // mkfs.xfs takes 512 for the sectors of a log device, whatever it says.
            for (key, value) in [("size=", log.bytes), ("sectsize=", log.sector_bytes.into())] {
                if value != 512 && !said.iter().any(|word| word.starts_with(key)) {
                    words.push(format!("{key}{value}"));
                }
            }
            args.extend(["-l".into(), words.join(",")]);
        }
        args.push(place.device.clone());
        vec![recipe::exec("make", "mkfs.xfs", args)]
    }

    fn mount(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        let log = place.log.as_ref().map(|log| format!("logdev={}", log.device));
        let options = spec.mount_options.iter().cloned().chain(log).collect();
        recipe::mount_device("xfs", options, place)
    }

    fn log_apart(&self, spec: &CandidateSpec) -> Option<bool> {
        let inside = |value: &String| {
            matches!(value.as_str(), "internal" | "internal=1") || value.starts_with("agnum=")
        };
        Some(!recipe::make_values(spec, "-l").iter().any(inside))
    }

    fn periods(&self, _options: &[String]) -> Vec<Period> {
        let path = "/proc/sys/fs/xfs/xfssyncd_centisecs";
        vec![Period::from_kernel("xfs log work", path, 0.01, 30.0)]
    }
}

const ORIGIN: Origin = Origin {
    home: Home::Elsewhere,
    is_unix_by_design: true,
    article_class: Some(Class::ForeignSupported),
    designed: fact(
        "1993 by Adam Sweeney, Doug Doucette and others at Silicon Graphics, for IRIX",
        "Sweeney et al., Scalability in the XFS File System, USENIX 1996",
    ),
    purpose: fact(
        "very large files and volumes, and many disks at once",
        "Sweeney et al., Scalability in the XFS File System, USENIX 1996",
    ),
    stable_since: fact(
        "2.4.25 (February 2004), and 2.6 from its beginning",
        "change log of Linux 2.4.25",
    ),
    served_by: fact("the kernel's xfs driver", "fs/xfs/Kconfig"),
    journal: fact("metadata only", "xfs(5), logdev and logbufs"),
    devices: fact(
        "one for data; the journal and a real-time part may lie on others",
        "mkfs.xfs(8), -l and -r",
    ),
    systems: fact(
        "IRIX, which is no longer made",
        "Sweeney et al., Scalability in the XFS File System, USENIX 1996",
    ),
    distributions: fact(
        "RHEL (default), SUSE (default for data), Debian, Ubuntu",
        "RHEL 7, Migration Planning Guide, 2.5.1; SLES 15 SP3, Storage Administration Guide, chapter 1; installers of Debian and Ubuntu",
    ),
    checksums: fact("of metadata (crc=1, the default); none of data", "mkfs.xfs(8), -m crc"),
    compression: fact("none", "mkfs.xfs(8)"),
    snapshots: fact("none; single files by reflink", "mkfs.xfs(8), -m reflink"),
    encryption: fact("none", "mkfs.xfs(8)"),
    casefold: fact("the whole volume, ASCII only, with -n version=ci", "mkfs.xfs(8)"),
    limits: fact("file and volume 8 EiB", "XFS Algorithms and Data Structures, kernel.org"),
    looked_up: LOOKED_UP,
};
