//! User-mode Linux: the guest kernel is an ordinary program. No root, no KVM, one processor, a tick
//! of 100 Hz; a system call costs a round trip through ptrace, some thirty microseconds on a nested host.
//!
//! ```text
//! pickfs ── keeper ── linux.uml          stdin, stdout   ttyS0 inside: frames
//!                        ├ ubd thread    stderr          the console
//!                        └ guest tasks   ubd0            the scratch image
//! ```
//!
//! Source: `Documentation/virt/uml/user_mode_linux_howto_v2.rst`; Debian's package user-mode-linux.

use std::ffi::OsString;

use crate::{
    engine::{Boot, Engine, Kernel, text},
    foreign_libc::{Runnable, runnable},
    modules::ModuleTree,
    packages::{PackageCache, PackageError, Unpacked},
    rebuilt,
};

/// The engine.
pub struct Uml;

/// What Debian's build mounts writable: built in, or as modules of the same package.
const TYPES: &[&str] = &[
    "affs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "fuse", "fuseblk", "hfs", "hfsplus", "hpfs",
    "jfs", "nilfs2", "ramfs", "reiserfs", "tmpfs", "vfat", "xfs",
];

/// The package.
pub const PACKAGE: &str = "user-mode-linux";

impl Engine for Uml {
    fn name(&self) -> &'static str {
        "uml"
    }

    fn about(&self) -> &'static str {
        "user-mode Linux, a kernel that runs as a program: no root, no KVM, one processor"
    }

    fn disk_inside(&self) -> &'static str {
        "/dev/ubda"
    }

    fn channel_inside(&self) -> &'static str {
        "/dev/ttyS0"
    }

    fn shares_tsc(&self) -> bool {
        true
    }

    fn knows(&self, fs_type: &str) -> bool {
        let rebuilt = || {
            let held = usual_held(&PackageCache::open_default().ok()?)?;
            Some(rebuilt::is_there(fs_type, &release_of(&held)?))
        };
        TYPES.contains(&fs_type) || rebuilt().unwrap_or(false)
    }

    fn can_be_rebuilt(&self) -> &'static [&'static str] {
        &["ufs", "reiserfs35"]
    }

    fn obstacle(&self) -> Option<String> {
        let fits = cfg!(target_arch = "x86_64");
        (!fits).then(|| "user-mode Linux is for x86-64 only".into())
    }

    fn packages(&self) -> &'static [&'static str] {
        &[PACKAGE]
    }

    fn kernel(&self, cache: &PackageCache, wanted: Option<&str>) -> Result<Kernel, PackageError> {
        let unpacked = match wanted {
            Some(level) => of_level(cache, level)?,
            None => usual(cache)?,
        };
        let strange = || PackageError::Strange {
            package: format!("{PACKAGE} {}", unpacked.version),
            what: "usr/bin/linux.uml with usr/lib/uml/modules/RELEASE/modules.dep".into(),
        };
        let mut kernel = kernel_of(&unpacked).ok_or_else(strange)?;
        let Runnable { program, runner } = runnable(cache, &unpacked, &kernel.image)?;
        (kernel.image, kernel.runner) = (program, runner);
        for (name, file) in rebuilt::modules(cache.cache(), &kernel.release) {
            kernel.modules.put(&name, &file);
        }
        Ok(kernel)
    }

    fn command(&self, kernel: &Kernel, boot: &Boot) -> Vec<OsString> {
        let mut words: Vec<String> = vec![
            text(&kernel.image),
            format!("mem={}M", boot.memory_bytes >> 20),
            format!("initrd={}", text(&boot.first_files)),
            "con=null".into(),
            "con0=null,fd:2".into(),
            "ssl=null".into(),
            "ssl0=fd:0,fd:1".into(),
            format!("uml_dir={}/", text(&boot.folder)),
            "quiet".into(),
            "panic=-1".into(),
            format!("pickfs.channel={}", self.channel_inside()),
        ];
        words.extend(boot.disk.iter().map(|disk| format!("ubd0={}", text(disk))));
        words.into_iter().map(OsString::from).collect()
    }
}

/// The series that is taken where none is asked for: it has every driver of the table (reiserfs left with 6.13), and
/// modules are rebuilt for it.
pub const USUAL_SERIES: &str = "6.1";

fn usual_held(cache: &PackageCache) -> Option<Unpacked> {
    cache.held_level(PACKAGE, USUAL_SERIES).or_else(|| cache.held(PACKAGE))
}

/// The usual series; where nobody has it any more, what is there or this machine's release offers.
pub fn usual(cache: &PackageCache) -> Result<Unpacked, PackageError> {
    match cache.get_level(PACKAGE, USUAL_SERIES) {
        Err(refused @ PackageError::Refused { .. }) => Err(refused),
        Err(error) => cache.get(PACKAGE).map_err(|_| error),
        unpacked => unpacked,
    }
}

/// A level may also be a release: `6.1.176`.
fn of_level(cache: &PackageCache, level: &str) -> Result<Unpacked, PackageError> {
    let is_release = |held: &Unpacked| release_of(held).as_deref() == Some(level);
    match cache.all_held(PACKAGE).into_iter().rfind(is_release) {
        Some(held) => Ok(held),
        None => cache.get_level(PACKAGE, level),
    }
}

const MODULES: &str = "usr/lib/uml/modules";

fn release_of(unpacked: &Unpacked) -> Option<String> {
    let tree = std::fs::read_dir(unpacked.folder.join(MODULES)).ok()?.flatten().next()?;
    Some(tree.file_name().to_string_lossy().into_owned())
}

fn kernel_of(unpacked: &Unpacked) -> Option<Kernel> {
    let image = unpacked.folder.join("usr/bin/linux.uml");
    let release = release_of(unpacked)?;
    let tree = unpacked.folder.join(MODULES).join(&release);
    let modules = ModuleTree::read(&tree).ok().filter(|_| image.is_file())?;
    let package = format!("{PACKAGE} {}", unpacked.version);
    Some(Kernel { release, package, image, runner: Vec::new(), modules })
}
