use pickfs_record::features::{Class, Home, Origin};
use pickfs_record::{CandidateSpec, Durability, Step};

use super::facts::{LOOKED_UP, fact};
use super::{FileSystem, Lack, Needs, Period, Place, e2fsprogs, words::Words};

pub struct Ext3;

impl FileSystem for Ext3 {
    fn name(&self) -> &'static str {
        "ext3"
    }

    fn origin(&self) -> &'static str {
        "ext2 with a journal; since Linux 4.3 there is no ext3 driver, ext4 serves it."
    }

    fn facts(&self) -> Origin {
        ORIGIN
    }

    fn needs(&self) -> Needs {
        e2fsprogs::needs(&["ext3"], "mkfs.ext3")
    }

    fn words(&self) -> Words {
        e2fsprogs::words()
    }

    fn make(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        e2fsprogs::make("mkfs.ext3", spec, place)
    }

    fn lacks(&self) -> &'static [Lack] {
        &[Lack::Fallocate]
    }

    fn log_apart(&self, spec: &CandidateSpec) -> Option<bool> {
        Some(e2fsprogs::journal_apart(spec))
    }

    fn holds_metadata(&self) -> bool {
        true
    }

    fn periods(&self, options: &[String]) -> Vec<Period> {
        e2fsprogs::commit(options)
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
        "1998 to 2001 by Stephen Tweedie, for Linux",
        "Tweedie, Journaling the Linux ext2fs Filesystem, LinuxExpo 1998",
    ),
    purpose: fact(
        "ext2 with a journal, so that a crash needs no long check",
        "Tweedie, Journaling the Linux ext2fs Filesystem, LinuxExpo 1998",
    ),
    stable_since: fact("2.4.15 (November 2001)", "change log of Linux 2.4.15"),
    served_by: fact(
        "the kernel's ext4 driver; its own left in 4.3",
        "fs/ext4/Kconfig; kernelnewbies.org, Linux_4.3",
    ),
    journal: fact(
        "metadata, with data written before it (data=ordered); data too with data=journal",
        "ext3(5)",
    ),
    devices: fact("one; the journal may lie on another", "ext4(5), journal_dev"),
    systems: fact(
        "FreeBSD reads and writes it without its journal; Windows and macOS need added programs",
        "FreeBSD ext2fs(5)",
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
