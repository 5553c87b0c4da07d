//! What runs a guest kernel. One row an engine; everything else about a guest is the same for all.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use pickfs_model::Environment;

use crate::{
    modules::ModuleTree,
    packages::{PackageCache, PackageError},
    qemu,
    uml::Uml,
};

/// A guest kernel, unpacked.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// Its release, as `uname -r` says it inside: `6.1.176`.
    pub release: String,
    /// The package it came from, with its version.
    pub package: String,
    /// The program or image.
    pub image: PathBuf,
    /// Words before all others: what runs an image that is no program itself.
    pub runner: Vec<OsString>,
    /// Its modules.
    pub modules: ModuleTree,
}

/// One start of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boot {
    /// The first file system.
    pub first_files: PathBuf,
    /// The scratch image; none for what lives in memory.
    pub disk: Option<PathBuf>,
    /// Memory of the guest in bytes.
    pub memory_bytes: u64,
    /// A folder for what the engine needs on the host.
    pub folder: PathBuf,
}

/// Something that runs guest kernels.
pub trait Engine: Sync {
    /// Its name in plans and results: `uml`.
    fn name(&self) -> &'static str;

    /// What it is, in a sentence.
    fn about(&self) -> &'static str;

    /// Where the guest finds the scratch disk.
    fn disk_inside(&self) -> &'static str;

    /// Where the guest finds the line to the lab.
    fn channel_inside(&self) -> &'static str;

    /// Modules that this line needs.
    fn channel_modules(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether the guest reads the very TSC of the host.
    fn shares_tsc(&self) -> bool;

    /// How much longer things take than in a guest of the machine's own speed; deadlines are stretched by it.
    fn slowness(&self) -> f64 {
        1.0
    }

    /// Whether its kernel mounts this type, writable.
    fn knows(&self, fs_type: &str) -> bool;

    /// Types that it would know with a module that can be built: see [`crate::rebuilt`].
    fn can_be_rebuilt(&self) -> &'static [&'static str];

    /// Why it cannot run on this machine, whatever packages there are.
    fn obstacle(&self) -> Option<String>;

    /// The kernel, from packages that are fetched when they are not there. `wanted` is its release or
    /// the version of its package; where nothing is wanted, the engine takes what it holds, or its archive's newest.
    ///
    /// # Errors
    /// When they cannot be had.
    fn kernel(&self, cache: &PackageCache, wanted: Option<&str>) -> Result<Kernel, PackageError>;

    /// What it does that a reader of results must know: `guest.*`.
    fn facts(&self, _boot: &Boot) -> Environment {
        Environment::default()
    }

    /// The Debian packages it needs.
    fn packages(&self) -> &'static [&'static str];

    /// Those of them that are not here yet, and would be fetched.
    fn missing(&self, cache: &PackageCache) -> Vec<&'static str> {
        let is_missing = |name: &&'static str| cache.held(name).is_none();
        self.packages().iter().copied().filter(is_missing).collect()
    }

    /// The program and its words, behind the kernel's runner. Its standard input and output are the line to the guest, its standard
    /// error the console.
    fn command(&self, kernel: &Kernel, boot: &Boot) -> Vec<OsString>;
}

/// Every engine, the preferred ones first.
pub static ENGINES: &[&dyn Engine] = &[&Uml, &qemu::KVM, &qemu::TCG];

/// The engine of a name.
pub fn find(name: &str) -> Option<&'static dyn Engine> {
    ENGINES.iter().copied().find(|engine| engine.name() == name)
}

/// What a kernel must load to mount a file system of these types, beside what modules.dep says.
pub fn modules_for(types: &[&str]) -> Vec<&'static str> {
    let extra = |fs_type: &str| -> &'static [&'static str] {
        match fs_type {
            "vfat" => &["vfat", "nls_cp437", "nls_ascii", "nls_iso8859-1"],
            "hfsplus" => &["nls_utf8", "hfsplus"],
            "hfs" => &["hfs"],
            "hpfs" => &["hpfs"],
            "affs" => &["affs"],
            "ufs" => &["ufs"],
            "nilfs2" => &["nilfs2"],
            "f2fs" => &["crc32_generic", "f2fs"],
            "jfs" => &["jfs", "nls_utf8"],
            "reiserfs" => &["reiserfs"],
            "reiserfs35" => &["reiserfs35"],
            // A driver of its own where there is one, else that of ext4, which knows the name too.
            "ext2" => &["ext2", "crc32c_generic", "ext4"],
            "ext3" | "ext4" => &["crc32c_generic", "ext4"],
            "xfs" => &["crc32c_generic", "xfs"],
            "btrfs" => &["crc32c_generic", "btrfs"],
            "exfat" => &["nls_utf8", "nls_iso8859-1", "exfat"],
            "zfs" => &["zfs"],
            "ntfs3" => &["ntfs3"],
            "fuse" | "fuseblk" => &["fuse"],
            _ => &[],
        }
    };
    types.iter().flat_map(|fs_type| extra(fs_type).iter().copied()).collect()
}

/// `path` without the ending slash troubles: text for a command line.
pub(crate) fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
