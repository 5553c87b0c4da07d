use pickfs_record::features::{Class, Home, Origin};
use pickfs_record::{CandidateSpec, Durability, Step};

use super::facts::{LOOKED_UP, fact};
use super::{FileSystem, Needs, Period, Place, e2fsprogs, words::Words};

pub struct Ext4;

impl FileSystem for Ext4 {
    fn name(&self) -> &'static str {
        "ext4"
    }

    fn origin(&self) -> &'static str {
        "The fourth extended file system: extents, delayed allocation, a journal (jbd2)."
    }

    fn facts(&self) -> Origin {
        ORIGIN
    }

    fn needs(&self) -> Needs {
        e2fsprogs::needs(&["ext4"], "mkfs.ext4")
    }

    fn words(&self) -> Words {
        e2fsprogs::words()
    }

    fn make(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        e2fsprogs::make("mkfs.ext4", spec, place)
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
        "2006 to 2008 by Mingming Cao, Andreas Dilger, Theodore Ts'o and others, for Linux",
        "Mathur et al., The new ext4 filesystem, Linux Symposium 2007",
    ),
    purpose: fact(
        "ext3 without its limits: extents, larger files and volumes, delayed allocation",
        "Mathur et al., The new ext4 filesystem, Linux Symposium 2007",
    ),
    stable_since: fact("2.6.28 (December 2008)", "kernelnewbies.org, Linux_2_6_28"),
    served_by: fact("the kernel's ext4 driver", "fs/ext4/Kconfig"),
    journal: fact(
        "metadata, with data written before it (data=ordered); data too with data=journal",
        "ext4(5)",
    ),
    devices: fact("one; the journal may lie on another", "ext4(5), journal_dev"),
    systems: fact(
        "FreeBSD reads and writes it without its journal; Windows and macOS need added programs",
        "FreeBSD ext2fs(5)",
    ),
    distributions: fact(
        "RHEL, SUSE, Debian (default), Ubuntu (default)",
        "RHEL 9, Managing file systems, chapter on ext4; SLES 15 SP3, Storage Administration Guide, chapter 1; installers of Debian and Ubuntu",
    ),
    checksums: fact("of metadata (metadata_csum); none of data", "ext4(5)"),
    compression: fact("none", "ext4(5)"),
    snapshots: fact("none; LVM can make them below", "ext4(5)"),
    encryption: fact("per directory (fscrypt), with the feature encrypt", "ext4(5)"),
    casefold: fact("per directory, with the feature casefold", "ext4(5)"),
    limits: fact(
        "file 16 TiB with 4 KiB blocks; a directory's tree has one level more with large_dir",
        "Documentation/filesystems/ext4/blocks.rst; ext4(5)",
    ),
    looked_up: LOOKED_UP,
};
