//! What runs a guest kernel: QEMU, a whole machine with Debian's stock kernel in it. Under KVM where that truly runs a
//! guest, else emulated (TCG), where calls and copies take some ten times as long as on the machine itself.
//!
//! ```text
//! pickfs ── qemu-system-x86_64   stdin, stdout   a port of a virtio console: messages
//!                                stderr          the first serial line: the console
//!                                vda             the scratch image
//! ```
//!
//! The kernel is entered past its loader (PVH, see [`crate::boot_image`]). Its self-tests and security
//! modules are left out: they double the time to the first program. ACPI stays, or the power would not go off.

use std::{
    ffi::OsString,
    fmt,
    fs::OpenOptions,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use pickfs_candidate::fs::{FileSystem, Support};
use pickfs_record::Environment;

use crate::{
    debian_kernel, kvm,
    modules::ModuleTree,
    packages::{PackageCache, PackageError},
    qemu_program, rebuilt,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Engine {
    /// The processor itself carries the guest's instructions out.
    QemuKvm,
    /// QEMU does, by translation.
    QemuTcg,
}

/// The preferred one first.
pub const ENGINES: [Engine; 2] = [Engine::QemuKvm, Engine::QemuTcg];

#[derive(Debug, Clone)]
pub struct Kernel {
    /// As `uname -r` says it inside: `6.1.0-56-amd64`.
    pub release: String,
    pub package: String,
    pub image: PathBuf,
    pub qemu: Vec<OsString>,
    pub modules: ModuleTree,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boot {
    pub first_files: PathBuf,
    pub disk: Option<PathBuf>,
    pub memory_bytes: u64,
    pub processors: usize,
}

pub const DISK_INSIDE: &str = "/dev/vda";
/// Where it finds the line to the lab. The console's device has the first number among those of virtio, as it
/// stands before the disk.
const CHANNEL_INSIDE: &str = "/dev/vport0p1";
/// Modules of the disk and of the line; each is built into some kernels.
pub const CHANNEL_MODULES: &[&str] = &["virtio_pci", "virtio_console", "virtio_blk"];
/// More processors than a trial has lanes and helpers are of no use, and each is a busy thread.
const PROCESSORS_MAX: usize = 2;
/// Of the kernel: no random places, no self-tests, nothing that watches every call. It counts timer interrupts over a
/// moment when it starts and panics where none came, which a busy host may bring about: not that either.
const KERNEL_WORDS: &str = "console=ttyS0 quiet panic=-1 nokaslr cryptomgr.notests no_timer_check \
                            selinux=0 apparmor=0 audit=0 mitigations=off";

impl Engine {
    pub fn find(name: &str) -> Option<Engine> {
        ENGINES.into_iter().find(|engine| engine.name() == name)
    }

    pub fn name(self) -> &'static str {
        match self {
            Engine::QemuKvm => "qemu-kvm",
            Engine::QemuTcg => "qemu-tcg",
        }
    }

    pub fn about(self) -> &'static str {
        match self {
            Engine::QemuKvm => "QEMU with KVM, a machine of its own with Debian's stock kernel",
            Engine::QemuTcg => "QEMU without KVM, an emulated machine with Debian's stock kernel",
        }
    }

    /// Longer than on the machine itself; deadlines are stretched by it.
    pub fn slowness(self) -> f64 {
        match self {
            Engine::QemuKvm => 1.0,
            Engine::QemuTcg => 3.0,
        }
    }

    pub fn obstacle(self) -> Option<String> {
        if !cfg!(target_arch = "x86_64") {
            return Some("QEMU is asked for x86-64 machines only".into());
        }
        match self {
            Engine::QemuKvm => kvm::obstacle_tried(),
            Engine::QemuTcg => None,
        }
    }

    /// From packages that are fetched when they are not there. `wanted` is the kernel's release,
    /// its series or the version of its package.
    pub fn kernel(
        self,
        cache: &PackageCache,
        wanted: Option<&str>,
    ) -> Result<Kernel, PackageError> {
        let qemu = qemu_program::get(cache)?;
        if self == Engine::QemuKvm {
            let verdict = kvm::obstacle().unwrap_or_else(|| kvm::verdict(cache, &qemu));
            if !verdict.is_empty() {
                return Err(PackageError::NoKvm { why: verdict });
            }
        }
        Ok(Kernel { qemu, ..debian_kernel::kernel(cache, wanted)? })
    }

    /// Its standard input and output are the line to the guest, its standard error the console.
    pub fn command(self, kernel: &Kernel, boot: &Boot) -> Vec<OsString> {
        let accelerator = match self {
            Engine::QemuKvm => ["-accel", "kvm", "-cpu", "host"],
            Engine::QemuTcg => ["-accel", "tcg", "-cpu", "Nehalem"],
        };
        let mut words = kernel.qemu.clone();
        words.extend(accelerator.into_iter().map(OsString::from));
        let mut add = |name: &str, value: OsString| words.extend([OsString::from(name), value]);
        add("-machine", "pc".into());
        add("-m", format!("{}M", boot.memory_bytes >> 20).into());
        add("-smp", boot.processors.to_string().into());
        add("-kernel", kernel.image.clone().into());
        add("-initrd", boot.first_files.clone().into());
        add("-append", format!("{KERNEL_WORDS} pickfs.channel={CHANNEL_INSIDE}").into());
        add("-chardev", "file,id=console,path=/dev/stderr".into());
        add("-serial", "chardev:console".into());
        add("-chardev", "stdio,id=lab,signal=off".into());
        add("-device", "virtio-serial-pci,addr=0x4".into());
        add("-device", "virtserialport,chardev=lab,nr=1,name=pickfs".into());
        if let Some(disk) = &boot.disk {
            add("-drive", drive(disk).into());
            add("-device", "virtio-blk-pci,drive=scratch,addr=0x5".into());
        }
        add("-display", "none".into());
        words.extend(["-nodefaults", "-no-user-config", "-no-reboot"].map(OsString::from));
        words
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Writable, by the kernel that is taken where none is asked for.
pub fn knows(row: &FileSystem) -> bool {
    match row.guest.support {
        Support::None => false,
        Support::Stock | Support::HostProgram => true,
        Support::Rebuilt => PackageCache::open_default().is_ok_and(|cache| {
            let release = debian_kernel::held_release(&cache, None);
            release.is_some_and(|release| rebuilt::is_there(row.type_in_a_guest(), &release))
        }),
    }
}

pub fn missing_packages(cache: &PackageCache) -> Vec<&'static str> {
    let kernel = debian_kernel::held_release(cache, None).is_none();
    let qemu = qemu_program::held(cache).is_none();
    let both = [(kernel, debian_kernel::NEWEST), (qemu, qemu_program::PACKAGE)];
    both.into_iter().filter_map(|(missing, package)| missing.then_some(package)).collect()
}

/// `guest.*`: what a reader of results must know.
pub fn facts(boot: &Boot) -> Environment {
    let mut facts = Environment::default();
    facts.put("guest.memory_bytes", boot.memory_bytes);
    if let Some(disk) = &boot.disk {
        facts.put("guest.disk_cache", cache_of(disk));
    }
    facts
}

pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(PROCESSORS_MAX)
}

/// Past the host's page cache where its file system allows that, so that cold is cold; a flush inside reaches the
/// image in both ways. Formatters lock the file, and QEMU may still have it open. A comma in a name is doubled.
fn drive(disk: &Path) -> String {
    let cache = cache_of(disk);
    let file = disk.to_string_lossy().replace(',', ",,");
    format!(
        "file={file},if=none,id=scratch,format=raw,cache={cache},discard=ignore,detect-zeroes=off,\
         file.locking=off"
    )
}

fn cache_of(disk: &Path) -> &'static str {
    let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
    let opened = OpenOptions::new().read(true).custom_flags(direct).open(disk);
    if opened.is_ok() { "none" } else { "writeback" }
}

#[cfg(test)]
mod tests {
    use pickfs_candidate::fs::find;

    use super::*;

    fn words(engine: Engine, disk: Option<&str>) -> String {
        let kernel = Kernel {
            release: "6.1.0-56-amd64".into(),
            package: "linux-image-6.1.0-56-amd64 6.1.192-2".into(),
            image: "/c/vmlinux".into(),
            qemu: vec!["/usr/bin/qemu-system-x86_64".into()],
            modules: ModuleTree::default(),
        };
        let boot = Boot {
            first_files: "/f/first-files.cpio".into(),
            disk: disk.map(Into::into),
            memory_bytes: 512 << 20,
            processors: 1,
        };
        let words = engine.command(&kernel, &boot);
        words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_machine_has_a_line_a_console_and_a_disk_that_is_never_unsafe() {
        let said = words(Engine::QemuTcg, Some("/no,where/disk.img"));
        for part in [
            "qemu-system-x86_64 -accel tcg -cpu Nehalem",
            "-m 512M -smp 1",
            "-kernel /c/vmlinux -initrd /f/first-files.cpio",
            "no_timer_check selinux=0",
            "pickfs.channel=/dev/vport0p1",
            "-chardev stdio,id=lab,signal=off",
            "file=/no,,where/disk.img,if=none",
            "cache=writeback,discard=ignore",
            "-device virtio-blk-pci,drive=scratch",
            "-no-reboot",
        ] {
            assert!(said.contains(part), "no `{part}` in {said}");
        }
        assert!(!said.contains("unsafe") && !words(Engine::QemuTcg, None).contains("-drive"));
        assert!(words(Engine::QemuKvm, None).contains("-accel kvm -cpu host"));
    }

    #[test]
    fn the_line_stands_before_the_disk_as_its_number_says() {
        let said = words(Engine::QemuTcg, Some("/disk.img"));
        let place = |device: &str| said.find(device).unwrap();
        assert!(
            place("virtio-serial-pci,addr=0x4") < place("virtio-blk-pci,drive=scratch,addr=0x5")
        );
    }

    #[test]
    fn engines_are_found_by_name_and_kvm_is_preferred() {
        assert_eq!(ENGINES.map(Engine::name), ["qemu-kvm", "qemu-tcg"]);
        assert!(Engine::find("qemu-tcg").is_some_and(|engine| engine.obstacle().is_none()));
        assert!(Engine::find("uml").is_none());
        let knows = |name: &str| knows(find(name).unwrap());
        assert!(knows("exfat") && !knows("bcachefs"));
    }
}
