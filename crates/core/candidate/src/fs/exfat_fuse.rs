//! exFAT by the FUSE program of the project exfat, which opens the device itself. Source:
//! mount.exfat-fuse(8), mkfs.exfat(8).

use pickfs_record::features::Origin;
use pickfs_record::{CandidateSpec, Step};

use super::facts::fact;
use super::{FileSystem, Lack, Needs, Place, Program, exfat, recipe, words::Words};

const PROGRAM: &str = "mount.exfat-fuse";

pub struct ExfatFuse;

impl FileSystem for ExfatFuse {
    fn name(&self) -> &'static str {
        "exfat-fuse"
    }

    fn origin(&self) -> &'static str {
        "Microsoft's exFAT, served outside the kernel by the program mount.exfat-fuse through FUSE."
    }

    fn facts(&self) -> Origin {
        ORIGIN
    }

    fn needs(&self) -> Needs {
        Needs::block(
            &["fuseblk"],
            "the kernel module fuse is in every Debian kernel; load it with modprobe fuse",
            "mkfs.exfat",
            "exfatprogs",
        )
        .with_helpers(&[Program { name: PROGRAM, package: "exfat-fuse" }])
        .whole_device()
    }

    fn words(&self) -> Words {
        exfat::Exfat.words()
    }

    fn make(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        exfat::Exfat.make(spec, place)
    }

    fn mount(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        vec![recipe::exec("mount", PROGRAM, recipe::helper_args(spec, place))]
    }

    fn lacks(&self) -> &'static [Lack] {
        &[
            Lack::Fallocate,
            Lack::HardLinks,
            Lack::SymbolicLinks,
            Lack::Permissions,
            Lack::UserAttributes,
            Lack::CaseSensitivity,
        ]
    }

    fn driver(&self, _fs_type: &str, _device: &str) -> String {
        "exfat-fuse (FUSE)".into()
    }
}

const ORIGIN: Origin = Origin {
    stable_since: fact(
        "outside the kernel; 1.0 (January 2013)",
        "github.com/relan/exfat, ChangeLog",
    ),
    served_by: fact("the program mount.exfat-fuse, through FUSE", "mount.exfat-fuse(8)"),
    distributions: fact(
        "Debian, Ubuntu (package exfat-fuse); not in the lists of RHEL 9 and SLES 15",
        "packages.debian.org, exfat-fuse; wiki.ubuntuusers.de, exFAT; RHEL 9, Managing file systems",
    ),
    ..exfat::ORIGIN
};
