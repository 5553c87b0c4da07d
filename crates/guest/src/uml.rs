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
            let held = PackageCache::open_default().ok()?.held(PACKAGE)?;
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
        let unpacked = cache.get(PACKAGE)?;
        let mut kernel = kernel_of(&unpacked).ok_or_else(|| PackageError::Strange {
            package: format!("{PACKAGE} {}", unpacked.version),
            what: "usr/bin/linux.uml with usr/lib/uml/modules/RELEASE/modules.dep".into(),
        })?;
        let is_it = |wanted: &&str| *wanted == kernel.release || *wanted == unpacked.version;
        if let Some(wanted) = wanted.filter(|wanted| !is_it(wanted)) {
            let (wanted, found) = (wanted.to_owned(), kernel.release);
            return Err(PackageError::OtherKernel { engine: self.name(), wanted, found });
        }
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
