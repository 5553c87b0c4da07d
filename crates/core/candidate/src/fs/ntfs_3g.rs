//! NTFS by the FUSE program ntfs-3g, which opens the device itself. Source: ntfs-3g(8), mkntfs(8).

use pickfs_record::features::{Class, Home, Origin};
use pickfs_record::{CandidateSpec, Step};

use super::facts::{LOOKED_UP, fact};
use super::{FileSystem, Lack, Needs, Place, Program, recipe, words::Words};

pub struct Ntfs3g;

impl FileSystem for Ntfs3g {
    fn name(&self) -> &'static str {
        "ntfs-3g"
    }

    fn origin(&self) -> &'static str {
        "Microsoft's NTFS, served outside the kernel by the program ntfs-3g through FUSE."
    }

    fn facts(&self) -> Origin {
        ORIGIN
    }

    fn needs(&self) -> Needs {
        Needs::block(
            &["fuseblk"],
            "the kernel module fuse is in every Debian kernel; load it with modprobe fuse",
            "mkfs.ntfs",
            "ntfs-3g",
        )
        .with_helpers(&[Program { name: "ntfs-3g", package: "ntfs-3g" }])
    }

    fn words(&self) -> Words {
        super::ntfs3::Ntfs3.words()
    }

    fn make(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        let mut args = recipe::make_args(&["-q", "-F", "-Q"], &[], spec);
        args.push(place.device.clone());
        args.extend(place.make_units(place.sector_bytes.into()));
        vec![recipe::exec("make", "mkfs.ntfs", args)]
    }

    fn mount(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        vec![recipe::exec("mount", "ntfs-3g", recipe::helper_args(spec, place))]
    }

    fn lacks(&self) -> &'static [Lack] {
        &[Lack::Fallocate, Lack::Permissions]
    }

    fn driver(&self, _fs_type: &str, _device: &str) -> String {
        "ntfs-3g (FUSE)".into()
    }
}

const ORIGIN: Origin = Origin {
    home: Home::Elsewhere,
    is_unix_by_design: true,
    article_class: Some(Class::ForeignSupported),
    designed: fact(
        "1990 to 1993 by Tom Miller, Gary Kimura and others at Microsoft, for Windows NT",
        "Custer, Inside the Windows NT File System, Microsoft Press 1994",
    ),
    purpose: fact(
        "a server's file system: recovery after a crash, access control, large volumes",
        "Custer, Inside the Windows NT File System, Microsoft Press 1994",
    ),
    stable_since: fact(
        "outside the kernel; NTFS-3G 1.0 (February 2007)",
        "release history of NTFS-3G, tuxera.com",
    ),
    served_by: fact("the program ntfs-3g, through FUSE", "ntfs-3g(8)"),
    journal: fact(
        "none of its own; after a crash of Windows it clears Windows' log (recover)",
        "ntfs-3g(8)",
    ),
    devices: fact("one", "ntfs-3g(8)"),
    systems: fact("Windows; macOS reads it", "Microsoft, NTFS overview"),
    distributions: fact(
        "Debian, Ubuntu (package ntfs-3g); not in the lists of RHEL 9 and SLES 15",
        "RHEL 9, Managing file systems; SLES 15 SP3, Storage Administration Guide, chapter 1; packages.debian.org and packages.ubuntu.com",
    ),
    checksums: fact(
        "none of data; fix-ups against torn sectors of metadata",
        "Custer, Inside the Windows NT File System, Microsoft Press 1994",
    ),
    compression: fact("in directories marked for it (compression)", "ntfs-3g(8)"),
    snapshots: fact("none in this driver", "ntfs-3g(8)"),
    encryption: fact(
        "Windows' encrypted files are not decrypted (efs_raw copies them)",
        "ntfs-3g(8)",
    ),
    casefold: fact("names differ by case; lowntfs-3g can ignore it", "ntfs-3g(8)"),
    limits: fact("file 16 EiB by format", "Microsoft, NTFS overview"),
    looked_up: LOOKED_UP,
};
