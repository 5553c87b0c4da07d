use pickfs_record::features::{Class, Home, Origin};
use pickfs_record::{CandidateSpec, Durability, Step};

use super::facts::{LOOKED_UP, fact};
use super::{FileSystem, Lack, Needs, Place, e2fsprogs, words::Words};

pub struct Ext2;

impl FileSystem for Ext2 {
    fn name(&self) -> &'static str {
        "ext2"
    }

    fn origin(&self) -> &'static str {
        "The second extended file system, without a journal; mainline kernels serve it by the ext4 driver, only a kernel with CONFIG_EXT2_FS has its own."
    }

    fn facts(&self) -> Origin {
        ORIGIN
    }

    fn needs(&self) -> Needs {
        e2fsprogs::needs(&["ext2"], "mkfs.ext2")
    }

    fn words(&self) -> Words {
        e2fsprogs::words()
    }

    fn make(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        e2fsprogs::make("mkfs.ext2", spec, place)
    }

    fn lacks(&self) -> &'static [Lack] {
        &[Lack::Fallocate]
    }

    fn durability(&self, options: &[String]) -> (Durability, &'static str) {
        e2fsprogs::durability(options)
    }

    fn driver(&self, fs_type: &str, device: &str) -> String {
        e2fsprogs::driver(fs_type, device)
    }
}

const ORIGIN: Origin = Origin {
    home: Home::Linux,
    is_unix_by_design: true,
    article_class: Some(Class::Native),
    designed: fact(
        "1993 by Remy Card, Theodore Ts'o and Stephen Tweedie, for Linux",
        "Card, Ts'o, Tweedie, Design and Implementation of the Second Extended Filesystem, 1994",
    ),
    purpose: fact(
        "a full Unix file system in place of minix and ext",
        "Card, Ts'o, Tweedie, Design and Implementation of the Second Extended Filesystem, 1994",
    ),
    stable_since: fact(
        "1.0 (March 1994)",
        "Card, Ts'o, Tweedie, Design and Implementation of the Second Extended Filesystem, 1994",
    ),
    served_by: fact(
        "the kernel's ext4 driver where it is built for ext2, else the ext2 driver",
        "fs/ext4/Kconfig, EXT4_USE_FOR_EXT2",
    ),
    journal: fact("none", "ext4(5)"),
    devices: fact("one", "ext4(5)"),
    systems: fact(
        "FreeBSD and NetBSD read and write it; Windows and macOS need added programs",
        "FreeBSD ext2fs(5); NetBSD mount_ext2fs(8)",
    ),
    distributions: fact(
        "SUSE, Debian, Ubuntu; RHEL 9 lists ext4 and XFS",
        "SLES 15 SP3, Storage Administration Guide, chapter 1; RHEL 9, Managing file systems; installers of Debian and Ubuntu",
    ),
    checksums: fact("none", "ext4(5), metadata_csum is for ext4"),
    compression: fact("none", "ext4(5)"),
    snapshots: fact("none; LVM can make them below", "ext4(5)"),
    encryption: fact("none", "ext4(5), encrypt is for ext4"),
    casefold: fact("none", "ext4(5), casefold is for ext4"),
    limits: fact(
        "file 2 TiB with 4 KiB blocks; 32,000 links a file, so 31,998 folders in a folder",
        "Documentation/filesystems/ext2.rst",
    ),
    looked_up: LOOKED_UP,
};
