use crate::change::{Change, Occurs};

#[derive(Debug, Clone, Copy)]
pub struct Module {
    /// The type that mount(2) takes, too.
    pub name: &'static str,
    /// What a page says of results that were had with it.
    pub remark: &'static str,
    /// Within the kernel's source.
    pub(crate) folder: &'static str,
    pub(crate) changes: &'static [Change],
    /// Words for make(1): what is built in becomes a module, and what the compiler is told besides, where the
    /// kernel's own configuration says otherwise.
    pub(crate) make_words: &'static [&'static str],
}

pub const MODULES: [Module; 2] = [UFS_WRITE, REISERFS35];

/// With `CONFIG_UFS_FS_WRITE`: Debian's reads only. No code is changed.
pub(crate) const UFS_WRITE: Module = Module {
    name: "ufs",
    remark: "UFS here means the kernel's driver built with write support",
    folder: "fs/ufs",
    changes: &[],
    make_words: &["CONFIG_UFS_FS=m", "KCFLAGS=-DCONFIG_UFS_FS_WRITE=1"],
};

/// The reiserfs driver with one check corrected, under a type name of its own, so that it loads beside the stock
/// one.
///
/// The check of a leaf multiplies the number of directory entries by the size of an item's head
/// (24 bytes) where that of an entry's head (16) is meant. The root directory of a new volume of
/// format 3.5 holds two names in 35 bytes, less than 48, and is refused; format 3.6 pads its names.
const REISERFS35: Module = Module {
    name: "reiserfs35",
    remark: "Reiser 3.5 here means the kernel's reiserfs driver with one check corrected",
    folder: "fs/reiserfs",
    changes: &[
        once("stree.c", "ih_entry_count(ih) * IH_SIZE", "ih_entry_count(ih) * DEH_SIZE"),
        once("super.c", ".name = \"reiserfs\",", ".name = \"reiserfs35\","),
        once("super.c", "MODULE_ALIAS_FS(\"reiserfs\")", "MODULE_ALIAS_FS(\"reiserfs35\")"),
        once("Makefile", "+= reiserfs.o", "+= reiserfs35.o"),
        Change {
            occurs: Occurs::AtLeastOnce,
            ..once("Makefile", "reiserfs-objs", "reiserfs35-objs")
        },
    ],
    make_words: &["CONFIG_REISERFS_FS=m"],
};

const fn once(file: &'static str, before: &'static str, after: &'static str) -> Change {
    Change { file, before, after, occurs: Occurs::Once }
}
