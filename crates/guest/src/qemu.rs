//! QEMU: a whole machine, with Debian's stock kernel in it. Under KVM where that truly runs a guest, else emulated
//! (TCG), where calls and copies take some ten times as long as on the machine itself.
//!
//! ```text
//! pickfs ── keeper ── qemu-system-x86_64   stdin, stdout   a port of a virtio console: frames
//!                                          stderr          the first serial line: the console
//!                                          vda             the scratch image
//! ```
//!
//! The kernel is entered past its loader (PVH, see [`crate::boot_image`]). Its self-tests and security
//! modules are left out: they double the time to the first program. ACPI stays, or the power would not go off.
//!
//! Source: qemu-system-x86_64(1); `Documentation/admin-guide/kernel-parameters.txt`.

use std::{ffi::OsString, fs::OpenOptions, os::unix::fs::OpenOptionsExt, path::Path};

use pickfs_model::Environment;

use crate::{
    debian_kernel,
    engine::{Boot, Engine, Kernel},
    kvm,
    packages::{PackageCache, PackageError},
    qemu_program, rebuilt,
};

/// The engine with one of its accelerators.
pub struct Qemu {
    accelerator: Accelerator,
}

/// What carries the guest's instructions out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Accelerator {
    /// The processor itself.
    Kvm,
    /// QEMU, by translation.
    Tcg,
}

/// Under KVM.
pub static KVM: Qemu = Qemu { accelerator: Accelerator::Kvm };
/// Emulated.
pub static TCG: Qemu = Qemu { accelerator: Accelerator::Tcg };

/// What Debian's stock kernel mounts writable, by modules of its package or built in.
const TYPES: &[&str] = &[
    "affs", "btrfs", "exfat", "ext2", "ext3", "ext4", "f2fs", "fuse", "fuseblk", "hfs", "hfsplus",
    "hpfs", "jfs", "nilfs2", "ramfs", "reiserfs", "tmpfs", "vfat", "xfs",
];
/// Modules of the disk and of the line; each is built into some kernels.
const CHANNEL: &[&str] = &["virtio_pci", "virtio_console", "virtio_blk"];
/// More processors than a trial has lanes and helpers are of no use, and each is a busy thread.
const PROCESSORS_MAX: usize = 2;
/// Of the kernel: no random places, no self-tests, nothing that watches every call. It counts timer interrupts over a
/// moment when it starts and panics where none came, which a busy host may bring about: not that either.
const KERNEL_WORDS: &str = "console=ttyS0 quiet panic=-1 nokaslr cryptomgr.notests no_timer_check \
                            selinux=0 apparmor=0 audit=0 mitigations=off";

impl Engine for Qemu {
    fn name(&self) -> &'static str {
        match self.accelerator {
            Accelerator::Kvm => "qemu-kvm",
            Accelerator::Tcg => "qemu-tcg",
        }
    }

    fn about(&self) -> &'static str {
        match self.accelerator {
            Accelerator::Kvm => "QEMU with KVM, a machine of its own with Debian's stock kernel",
            Accelerator::Tcg => "QEMU without KVM, an emulated machine with Debian's stock kernel",
        }
    }

    fn disk_inside(&self) -> &'static str {
        "/dev/vda"
    }

    /// The console's device has the first number among those of virtio, as it stands before the disk.
    fn channel_inside(&self) -> &'static str {
        "/dev/vport0p1"
    }

    fn channel_modules(&self) -> &'static [&'static str] {
        CHANNEL
    }

    /// An emulated one is a call, and the kernel's own clock is a quick one.
    fn shares_tsc(&self) -> bool {
        false
    }

    fn slowness(&self) -> f64 {
        match self.accelerator {
            Accelerator::Kvm => 1.0,
            Accelerator::Tcg => 3.0,
        }
    }

    fn knows(&self, fs_type: &str) -> bool {
        let rebuilt = || {
            let cache = PackageCache::open_default().ok()?;
            let release = debian_kernel::held_release(&cache, None)?;
            Some(rebuilt::is_there(fs_type, &release))
        };
        TYPES.contains(&fs_type) || rebuilt().unwrap_or(false)
    }

    fn can_be_rebuilt(&self) -> &'static [&'static str] {
        &["ufs", "reiserfs35", "zfs"]
    }

    fn obstacle(&self) -> Option<String> {
        if !cfg!(target_arch = "x86_64") {
            return Some("QEMU is asked for x86-64 machines only".into());
        }
        match self.accelerator {
            Accelerator::Kvm => kvm::obstacle_tried(),
            Accelerator::Tcg => None,
        }
    }

    fn facts(&self, boot: &Boot) -> Environment {
        let mut facts = Environment::default();
        if let Some(disk) = &boot.disk {
            facts.put("guest.disk_cache", cache_of(disk));
        }
        facts
    }

    fn packages(&self) -> &'static [&'static str] {
        &[debian_kernel::NEWEST, qemu_program::PACKAGE]
    }

    fn missing(&self, cache: &PackageCache) -> Vec<&'static str> {
        let kernel = debian_kernel::held_release(cache, None).is_none();
        let qemu = qemu_program::held(cache).is_none();
        let [kernel_package, qemu_package] = [debian_kernel::NEWEST, qemu_program::PACKAGE];
        [(kernel, kernel_package), (qemu, qemu_package)]
            .into_iter()
            .filter_map(|(is_missing, package)| is_missing.then_some(package))
            .collect()
    }

    fn kernel(&self, cache: &PackageCache, wanted: Option<&str>) -> Result<Kernel, PackageError> {
        let runner = qemu_program::get(cache)?;
        if self.accelerator == Accelerator::Kvm {
            let verdict = kvm::obstacle().unwrap_or_else(|| kvm::verdict(cache, &runner));
            if !verdict.is_empty() {
                return Err(PackageError::NoKvm { why: verdict });
            }
        }
        Ok(Kernel { runner, ..debian_kernel::kernel(cache, wanted)? })
    }

    fn command(&self, kernel: &Kernel, boot: &Boot) -> Vec<OsString> {
        let accelerator = match self.accelerator {
            Accelerator::Kvm => ["-accel", "kvm", "-cpu", "host"],
            Accelerator::Tcg => ["-accel", "tcg", "-cpu", "Nehalem"],
        };
        let mut words: Vec<OsString> = accelerator.into_iter().map(OsString::from).collect();
        let mut add = |name: &str, value: OsString| words.extend([OsString::from(name), value]);
        add("-machine", "pc".into());
        add("-m", format!("{}M", boot.memory_bytes >> 20).into());
        add("-smp", processors().to_string().into());
        add("-kernel", kernel.image.clone().into());
        add("-initrd", boot.first_files.clone().into());
        add("-append", format!("{KERNEL_WORDS} pickfs.channel={}", self.channel_inside()).into());
        add("-chardev", "file,id=console,path=/dev/stderr".into());
        add("-serial", "chardev:console".into());
        add("-chardev", "stdio,id=lab,signal=off".into());
        add("-device", "virtio-serial-pci,addr=0x4".into());
        add("-device", "virtserialport,chardev=lab,nr=1,name=pickfs".into());
        if let Some(disk) = &boot.disk {
            add("-drive", drive(disk).into());
            add("-device", "virtio-blk-pci,drive=scratch,addr=0x5".into());
        }
        words.extend(
            ["-nodefaults", "-no-user-config", "-no-reboot"].into_iter().map(OsString::from),
        );
        words.extend(["-display", "none"].into_iter().map(OsString::from));
        words
    }
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(PROCESSORS_MAX)
}

/// Past the host's page cache where its file system allows that, so that cold is cold; a flush inside reaches the
/// image in both ways. A comma in a name is doubled.
fn drive(disk: &Path) -> String {
    let cache = cache_of(disk);
    let file = disk.to_string_lossy().replace(',', ",,");
    format!(
        "file={file},if=none,id=scratch,format=raw,cache={cache},discard=ignore,detect-zeroes=off"
    )
}

fn cache_of(disk: &Path) -> &'static str {
    if opens_directly(disk) { "none" } else { "writeback" }
}

fn opens_directly(disk: &Path) -> bool {
    let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
    OpenOptions::new().read(true).custom_flags(direct).open(disk).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{engine, modules::ModuleTree};

    fn words(engine: &Qemu, disk: Option<&str>) -> String {
        let kernel = Kernel {
            release: "6.1.0-56-amd64".into(),
            package: "linux-image-6.1.0-56-amd64 6.1.192-2".into(),
            image: "/c/vmlinux".into(),
            runner: Vec::new(),
            modules: ModuleTree::none(),
        };
        let boot = Boot {
            first_files: "/f/first-files.cpio".into(),
            disk: disk.map(Into::into),
            memory_bytes: 512 << 20,
            folder: "/f".into(),
        };
        let words = engine.command(&kernel, &boot);
        words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_machine_has_a_line_a_console_and_a_disk_that_is_never_unsafe() {
        let said = words(&TCG, Some("/no,where/disk.img"));
        for part in [
            "-accel tcg -cpu Nehalem",
            "-m 512M",
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
        assert!(!said.contains("unsafe") && !words(&TCG, None).contains("-drive"));
        assert!(words(&KVM, None).starts_with("-accel kvm -cpu host"));
    }

    #[test]
    fn the_line_stands_before_the_disk_as_its_number_says() {
        let said = words(&TCG, Some("/disk.img"));
        let place = |device: &str| said.find(device).unwrap();
        assert!(
            place("virtio-serial-pci,addr=0x4") < place("virtio-blk-pci,drive=scratch,addr=0x5")
        );
    }

    #[test]
    fn engines_are_found_by_name_and_stand_in_the_order_of_preference() {
        let names: Vec<_> = engine::ENGINES.iter().map(|engine| engine.name()).collect();
        assert_eq!(names, ["uml", "qemu-kvm", "qemu-tcg"]);
        assert!(engine::find("qemu-tcg").is_some_and(|engine| engine.obstacle().is_none()));
        assert!(TCG.knows("exfat") && !TCG.knows("bcachefs"));
    }
}
