//! UFS1 and UFS2 of the BSDs. Two rows, one driver, which writes only where
//! the kernel was built with CONFIG_UFS_FS_WRITE (Debian's is not).
//! Source: `Documentation/admin-guide/ufs.rst`.

use pickfs_record::features::{Class, Home, Origin};
use pickfs_record::{CandidateSpec, Step};

use super::facts::{LOOKED_UP, fact};
use super::{FileSystem, Lack, Needs, Place, recipe};

pub enum Ufs {
    /// `ufs`: the format of 4.4BSD.
    One,
    /// `ufs2`: 64-bit, from FreeBSD 5.
    Two,
}

impl FileSystem for Ufs {
    fn name(&self) -> &'static str {
        match self {
            Ufs::One => "ufs",
            Ufs::Two => "ufs2",
        }
    }

    fn origin(&self) -> &'static str {
        "From Berkeley (1983) and FreeBSD (2003); served by the ufs driver."
    }

    fn facts(&self) -> Origin {
        match self {
            Ufs::One => ONE,
            Ufs::Two => TWO,
        }
    }

    fn needs(&self) -> Needs {
        Needs::block(
            &["ufs"],
            "the kernel module ufs writes only if built with CONFIG_UFS_FS_WRITE, which Debian's \
             is not",
            "",
            "",
        )
        .own_formatter()
    }

    fn make(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        recipe::own_format(self.name(), spec, place)
    }

    fn mount(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        let mut options = spec.mount_options.clone();
        if recipe::option_value(&options, "ufstype").is_none() {
            let kind = match self {
                Ufs::One => "ufstype=44bsd",
                Ufs::Two => "ufstype=ufs2",
            };
            options.insert(0, kind.into());
        }
        recipe::mount_device("ufs", options, place)
    }

    fn lacks(&self) -> &'static [Lack] {
        &[Lack::Fallocate, Lack::DirectIo, Lack::UserAttributes]
    }
}

const ONE: Origin = Origin {
    home: Home::Elsewhere,
    is_unix_by_design: true,
    article_class: Some(Class::ForeignSupported),
    designed: fact(
        "1983 by McKusick, Joy, Leffler and Fabry at Berkeley, for 4.2BSD",
        "McKusick et al., A Fast File System for UNIX, ACM TOCS 1984",
    ),
    purpose: fact(
        "Unix on disks whose geometry matters",
        "McKusick et al., A Fast File System for UNIX, ACM TOCS 1984",
    ),
    stable_since: fact(
        "reading since 2.0; writing is marked experimental to this day",
        "fs/ufs/Kconfig, UFS_FS_WRITE",
    ),
    served_by: fact("the kernel's ufs driver; it writes only if built so", "fs/ufs/Kconfig"),
    journal: fact("none in this driver", "Documentation/admin-guide/ufs.rst"),
    devices: fact("one", "McKusick et al., A Fast File System for UNIX, ACM TOCS 1984"),
    systems: fact(
        "FreeBSD, NetBSD, OpenBSD read and write it; Solaris has a kind of its own",
        "Documentation/admin-guide/ufs.rst",
    ),
    distributions: fact(
        "Debian, read-only; not in the lists of RHEL 9 and SLES 15; Ubuntu not looked up",
        "RHEL 9, Managing file systems; SLES 15 SP3, Storage Administration Guide, chapter 1; modules of Debian 12's linux-image 6.1",
    ),
    checksums: fact("none in this driver", "Documentation/admin-guide/ufs.rst"),
    compression: fact("none", "McKusick et al., A Fast File System for UNIX, ACM TOCS 1984"),
    snapshots: fact("none in this driver", "Documentation/admin-guide/ufs.rst"),
    encryption: fact("none", "McKusick et al., A Fast File System for UNIX, ACM TOCS 1984"),
    casefold: fact("none", "McKusick et al., A Fast File System for UNIX, ACM TOCS 1984"),
    limits: fact(
        "volume 1 TiB",
        "McKusick, Enhancements to the Fast Filesystem to Support Multi-Terabyte Storage Systems, BSDCon 2003",
    ),
    looked_up: LOOKED_UP,
};

const TWO: Origin = Origin {
    home: Home::Elsewhere,
    is_unix_by_design: true,
    article_class: Some(Class::ForeignSupported),
    designed: fact(
        "2002 by Kirk McKusick, for FreeBSD 5",
        "McKusick, Enhancements to the Fast Filesystem to Support Multi-Terabyte Storage Systems, BSDCon 2003",
    ),
    purpose: fact(
        "UFS with 64-bit block numbers and extended attributes",
        "McKusick, Enhancements to the Fast Filesystem to Support Multi-Terabyte Storage Systems, BSDCon 2003",
    ),
    systems: fact(
        "FreeBSD, NetBSD, OpenBSD read and write it",
        "Documentation/admin-guide/ufs.rst",
    ),
    limits: fact(
        "file and volume 8 ZiB by format",
        "McKusick, Enhancements to the Fast Filesystem to Support Multi-Terabyte Storage Systems, BSDCon 2003",
    ),
    ..ONE
};
