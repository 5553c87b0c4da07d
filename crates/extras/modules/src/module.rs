use crate::change::{Change, Occurs};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Module {
    /// `ufs` with `CONFIG_UFS_FS_WRITE`: Debian's reads only. No code is changed.
    UfsWrite,
    /// `reiserfs35`: the reiserfs driver with one check corrected, under a type name of its own, so that it loads
    /// beside the stock one.
    ///
    /// The check of a leaf multiplies the number of directory entries by the size of an item's head
    /// (24 bytes) where that of an entry's head (16) is meant. The root directory of a new volume of
    /// format 3.5 holds two names in 35 bytes, less than 48, and is refused; format 3.6 pads its names.
    Reiserfs35,
}

const REISERFS35: &[Change] = &[
    Change {
        file: "stree.c",
        before: "ih_entry_count(ih) * IH_SIZE",
        after: "ih_entry_count(ih) * DEH_SIZE",
        occurs: Occurs::Once,
    },
    Change {
        file: "super.c",
        before: ".name = \"reiserfs\",",
        after: ".name = \"reiserfs35\",",
        occurs: Occurs::Once,
    },
    Change {
        file: "super.c",
        before: "MODULE_ALIAS_FS(\"reiserfs\")",
        after: "MODULE_ALIAS_FS(\"reiserfs35\")",
        occurs: Occurs::Once,
    },
    Change {
        file: "Makefile",
        before: "+= reiserfs.o",
        after: "+= reiserfs35.o",
        occurs: Occurs::Once,
    },
    Change {
        file: "Makefile",
        before: "reiserfs-objs",
        after: "reiserfs35-objs",
        occurs: Occurs::AtLeastOnce,
    },
];

impl Module {
    pub const ALL: [Module; 2] = [Module::UfsWrite, Module::Reiserfs35];

    /// The type that mount(2) takes, too.
    pub const fn name(self) -> &'static str {
        match self {
            Module::UfsWrite => "ufs",
            Module::Reiserfs35 => "reiserfs35",
        }
    }

    /// What a page says of results that were had with it.
    pub const fn remark(self) -> &'static str {
        match self {
            Module::UfsWrite => "UFS here means the kernel's driver built with write support",
            Module::Reiserfs35 => {
                "Reiser 3.5 here means the kernel's reiserfs driver with one check corrected"
            }
        }
    }

    /// Within the kernel's source.
    pub(crate) const fn folder(self) -> &'static str {
        match self {
            Module::UfsWrite => "fs/ufs",
            Module::Reiserfs35 => "fs/reiserfs",
        }
    }

    /// What the compiler is told besides, where the kernel's own configuration says otherwise.
    pub(crate) const fn flags(self) -> Option<&'static str> {
        match self {
            Module::UfsWrite => Some("KCFLAGS=-DCONFIG_UFS_FS_WRITE=1"),
            Module::Reiserfs35 => None,
        }
    }

    pub(crate) const fn changes(self) -> &'static [Change] {
        match self {
            Module::UfsWrite => &[],
            Module::Reiserfs35 => REISERFS35,
        }
    }

    /// Words for make(1): what is built in becomes a module.
    pub(crate) const fn make_words(self) -> &'static [&'static str] {
        match self {
            Module::UfsWrite => &["CONFIG_UFS_FS=m"],
            Module::Reiserfs35 => &["CONFIG_REISERFS_FS=m"],
        }
    }
}
