//! ext2, ext3 and ext4 by the FUSE program of e2fsprogs, which opens the
//! device itself. Three rows beside those of the kernel's driver, so that they
//! show what FUSE costs. fuse2fs replays a journal and writes none.
//! Source: fuse2fs(1).

use pickfs_record::features::Origin;
use pickfs_record::{CandidateSpec, Durability, Step};

use super::facts::fact;
use super::{FileSystem, Needs, Place, Program, ext2, ext3, ext4, recipe, words::Words};

const PROGRAM: &str = "fuse2fs";

pub enum Fuse2fs {
    Ext2,
    Ext3,
    Ext4,
}

impl Fuse2fs {
    fn native(&self) -> &'static dyn FileSystem {
        match self {
            Fuse2fs::Ext2 => &ext2::Ext2,
            Fuse2fs::Ext3 => &ext3::Ext3,
            Fuse2fs::Ext4 => &ext4::Ext4,
        }
    }
}

impl FileSystem for Fuse2fs {
    fn name(&self) -> &'static str {
        match self {
            Fuse2fs::Ext2 => "ext2-fuse2fs",
            Fuse2fs::Ext3 => "ext3-fuse2fs",
            Fuse2fs::Ext4 => "ext4-fuse2fs",
        }
    }

    fn origin(&self) -> &'static str {
        match self {
            Fuse2fs::Ext2 => "ext2 served outside the kernel by the program fuse2fs through FUSE.",
            Fuse2fs::Ext3 => {
                "ext3 served outside the kernel by fuse2fs through FUSE, without its journal."
            }
            Fuse2fs::Ext4 => {
                "ext4 served outside the kernel by fuse2fs through FUSE, without its journal."
            }
        }
    }

    fn facts(&self) -> Origin {
        Origin {
            article_class: None,
            stable_since: fact(
                "outside the kernel; in e2fsprogs since 1.43 (May 2016)",
                "e2fsprogs release notes, 1.43",
            ),
            served_by: fact("the program fuse2fs of e2fsprogs, through FUSE", "fuse2fs(1)"),
            journal: match self {
                Fuse2fs::Ext2 => fact("none", "ext4(5)"),
                _ => fact(
                    "replayed at the mount, and not written",
                    "what fuse2fs 1.47.0 says: `Writing to the journal is not supported.`",
                ),
            },
            distributions: fact(
                "Debian, Ubuntu (package fuse2fs); not in the lists of RHEL 9 and SLES 15",
                "packages.debian.org and packages.ubuntu.com, fuse2fs; RHEL 9, Managing file systems",
            ),
            ..self.native().facts()
        }
    }

    fn needs(&self) -> Needs {
        Needs {
            kernel_types: &["fuse"],
            kernel_remedy:
                "the kernel module fuse is in every Debian kernel; load it with modprobe fuse",
            ..self.native().needs()
        }
        .with_helpers(&[Program { name: PROGRAM, package: "fuse2fs" }])
    }

    fn words(&self) -> Words {
        self.native().words()
    }

    fn make(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        self.native().make(spec, place)
    }

    /// `allow_other` and `default_permissions` make it what a kernel mount is: open to all users,
    /// with the kernel checking modes.
    fn mount(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        let mut shared = spec.clone();
        shared.mount_options.splice(0..0, ["allow_other".into(), "default_permissions".into()]);
        let mut device_first = recipe::helper_args(&shared, place);
        device_first.rotate_right(2);
        vec![recipe::exec("mount", PROGRAM, device_first)]
    }

    fn durability(&self, _options: &[String]) -> (Durability, &'static str) {
        (
            Durability::PowerLoss,
            "fsync of a file ends with a flush of the device; no journal is written",
        )
    }

    fn driver(&self, _fs_type: &str, _device: &str) -> String {
        "fuse2fs (FUSE)".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_image_is_made_as_the_kernel_row_makes_it_and_mounted_by_the_program() {
        let place = Place::example();
        let row = Fuse2fs::Ext4;
        let spec = "ext4-fuse2fs:minixdf;mkfs=-b 1024".parse().unwrap();
        assert_eq!(row.make(&spec, &place), ext4::Ext4.make(&spec, &place));
        let mount = row.mount(&spec, &place)[0].action.to_string();
        assert_eq!(mount, "fuse2fs /dev/loopN MOUNT -o allow_other,default_permissions,minixdf");
    }

    #[test]
    fn only_the_program_differs_in_what_is_needed() {
        let needs = Fuse2fs::Ext3.needs();
        assert_eq!(needs.kernel_types, ["fuse"]);
        assert_eq!(needs.formatter, ext3::Ext3.needs().formatter);
        assert_eq!(needs.helpers[0].package, "fuse2fs");
    }
}
