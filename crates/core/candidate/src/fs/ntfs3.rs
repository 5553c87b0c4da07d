//! NTFS by the kernel's own driver ntfs3 (Linux 5.15), made by ntfs-3g's mkfs.
//! Source: `Documentation/filesystems/ntfs3.rst`.

use pickfs_record::features::{Home, Origin};
use pickfs_record::{CandidateSpec, Step};

use super::facts::{LOOKED_UP, fact};
use super::{FileSystem, Needs, Place, recipe, words::Words};

pub struct Ntfs3;

impl FileSystem for Ntfs3 {
    fn name(&self) -> &'static str {
        "ntfs3"
    }

    fn origin(&self) -> &'static str {
        "Microsoft's NTFS, served by Paragon's driver in Linux since 5.15."
    }

    fn facts(&self) -> Origin {
        ORIGIN
    }

    fn needs(&self) -> Needs {
        Needs::block(
            &["ntfs3"],
            "the kernel module ntfs3 is not built in Debian 12; a kernel with CONFIG_NTFS3_FS \
             has it, and ntfs-3g serves the same format",
            "mkfs.ntfs",
            "ntfs-3g",
        )
    }

    fn words(&self) -> Words {
        Words {
            alone: "-C -f -F -h -I -l -n -q -Q -T -U -v -V --fast --quick --force --enable-compression --no-indexing \
                    --zero-time --with-uuid --quiet --verbose --debug",
            valued: "-c -H -p -s -S -z --cluster-size --heads --partition-start --sector-size --sectors-per-track \
                     --mft-zone-multiplier",
            text: "-L --label",
            ..Words::default()
        }
    }

    fn make(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        let mut args = recipe::make_args(&["-q", "-F", "-Q"], &[], spec);
        args.push(place.device.clone());
        args.extend(place.make_units(place.sector_bytes.into()));
        vec![recipe::exec("make", "mkfs.ntfs", args)]
    }
}

const ORIGIN: Origin = Origin {
    home: Home::Elsewhere,
    is_unix_by_design: true,
    article_class: None,
    designed: fact(
        "1990 to 1993 by Tom Miller, Gary Kimura and others at Microsoft, for Windows NT",
        "Custer, Inside the Windows NT File System, Microsoft Press 1994",
    ),
    purpose: fact(
        "a server's file system: recovery after a crash, access control, large volumes",
        "Custer, Inside the Windows NT File System, Microsoft Press 1994",
    ),
    stable_since: fact("5.15 (October 2021)", "kernelnewbies.org, Linux_5.15"),
    served_by: fact(
        "the kernel's ntfs3 driver, from Paragon Software",
        "Documentation/filesystems/ntfs3.rst",
    ),
    journal: fact("replays Windows' log; writes none yet", "Documentation/filesystems/ntfs3.rst"),
    devices: fact("one", "Documentation/filesystems/ntfs3.rst"),
    systems: fact("Windows; macOS reads it", "Microsoft, NTFS overview"),
    distributions: fact(
        "not built in Debian 12; not in the lists of RHEL 9 and SLES 15; Ubuntu not looked up",
        "RHEL 9, Managing file systems; SLES 15 SP3, Storage Administration Guide, chapter 1; modules of Debian 12's linux-image 6.1",
    ),
    checksums: fact(
        "none of data; fix-ups against torn sectors of metadata",
        "Custer, Inside the Windows NT File System, Microsoft Press 1994",
    ),
    compression: fact("reads and writes compressed files", "Documentation/filesystems/ntfs3.rst"),
    snapshots: fact("none in this driver", "Documentation/filesystems/ntfs3.rst"),
    encryption: fact("none", "Documentation/filesystems/ntfs3.rst"),
    casefold: fact("by the mount option nocase where the kernel has it", "fs/ntfs3/super.c"),
    limits: fact("file 16 EiB by format", "Microsoft, NTFS overview"),
    looked_up: LOOKED_UP,
};
