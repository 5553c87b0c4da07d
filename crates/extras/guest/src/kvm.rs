//! Whether KVM truly runs a guest here. That its device opens says little: a cloud may offer it through a software
//! hypervisor in which a guest never prints a line. So a guest of two instructions is run, and must end
//! by itself within five seconds; the answer is kept for as long as this kernel runs.
//!
//! ```text
//! boot sector    mov dx, 0xf4   mov al, 0x10   out dx, al     QEMU ends with code 0x10 * 2 + 1
//! ```
//!
//! Sources: `hw/misc/debugexit.c` of QEMU (isa-debug-exit); `Documentation/virt/kvm/api.rst`.

use std::{
    ffi::OsString,
    fs::{self, File},
    os::unix::process::CommandExt,
    process::{Command, Stdio},
    sync::OnceLock,
    time::{Duration, Instant},
};

use pickfs_candidate::packages::Family;
use pickfs_sys::ended::ended_within;

use crate::{packages::PackageCache, qemu_program};

const LIMIT: Duration = Duration::from_secs(5);
const RAN: i32 = 0x21;
/// `mov dx, 0xf4; mov al, 0x10; out dx, al; hlt; jmp` back to the halt.
const CODE: &[u8] = &[0xba, 0xf4, 0x00, 0xb0, 0x10, 0xee, 0xf4, 0xeb, 0xfd];
const INSTEAD: &str = "use --engine qemu-tcg, which needs no KVM";

/// As far as it can be told without QEMU.
pub fn obstacle() -> Option<String> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let told = told(&read("/proc/cpuinfo"), &read("/proc/modules"));
    told.or_else(|| {
        let opened = File::options().read(true).write(true).open("/dev/kvm");
        opened.err().map(|error| format!("/dev/kvm does not open ({error}); {INSTEAD}"))
    })
}

fn told(cpuinfo: &str, modules: &str) -> Option<String> {
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    if !flags.split_whitespace().any(|flag| flag == "vmx" || flag == "svm") {
        return Some(format!(
            "the processor shows neither vmx nor svm, so KVM has no hardware; {INSTEAD}"
        ));
    }
    let is_soft = modules.lines().any(|line| line.starts_with("kvm_pvm "));
    is_soft.then(|| format!("KVM is offered by software (kvm_pvm), which runs no guest; {INSTEAD}"))
}

/// The same, and the tiny guest has run too. Without QEMU nothing could be tried, and that is an obstacle.
pub fn obstacle_tried() -> Option<String> {
    static FOUND: OnceLock<String> = OnceLock::new();
    let here = || {
        let cache = PackageCache::open_default().ok()?;
        Some((qemu_program::held(&cache)?, cache))
    };
    obstacle().or_else(|| {
        let Some((qemu, cache)) = here() else {
            let install = Family::here().install_of(qemu_program::PACKAGE);
            return Some(format!(
                "KVM was not tried, as QEMU is not here; {install}, or {INSTEAD}"
            ));
        };
        let verdict = FOUND.get_or_init(|| verdict(&cache, &qemu));
        (!verdict.is_empty()).then(|| verdict.clone())
    })
}

/// Of this boot of the machine: empty where the guest ran.
pub fn verdict(cache: &PackageCache, qemu: &[OsString]) -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let kept = cache.cache().join(format!("kvm-{}", boot.trim()));
    if let Ok(verdict) = fs::read_to_string(&kept) {
        return verdict;
    }
    let verdict = match runs(qemu, "kvm", LIMIT) {
        Ok(()) => String::new(),
        Err(why) => format!("a tiny guest did not run under KVM: {why}; {INSTEAD}"),
    };
    let _ = fs::write(kept, &verdict);
    verdict
}

pub fn runs(qemu: &[OsString], accelerator: &str, limit: Duration) -> Result<(), String> {
    let name = format!("pickfs-kvm-{}-{:?}", std::process::id(), std::thread::current().id());
    let disk = std::env::temp_dir().join(name.replace(['(', ')'], ""));
    fs::write(&disk, boot_sector()).map_err(|error| format!("{}: {error}", disk.display()))?;
    let drive = format!("file={},format=raw,if=floppy,readonly=on", disk.display());
    let mut command = Command::new(&qemu[0]);
    command.args(&qemu[1..]).args(["-accel", accelerator, "-nodefaults", "-no-user-config"]);
    command.args(["-display", "none", "-m", "16M", "-no-reboot", "-drive", &drive]);
    command.args(["-device", "isa-debug-exit,iobase=0xf4,iosize=0x04"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let started = command.spawn().map_err(|error| error.to_string());
    let ended = started.and_then(|mut guest| {
        let began = Instant::now();
        while began.elapsed() < limit {
            match guest.try_wait() {
                Ok(Some(status)) if status.code() == Some(RAN) => return Ok(()),
                Ok(Some(status)) => return Err(format!("QEMU ended with {:?}", status.code())),
                _ => std::thread::sleep(Duration::from_millis(10)),
            }
        }
        let _ = guest.kill();
        ended_within(&guest, LIMIT);
        let _ = guest.try_wait();
        Err(format!("nothing came of it in {:.0} s", limit.as_secs_f64()))
    });
    let _ = fs::remove_file(&disk);
    ended
}

fn boot_sector() -> Vec<u8> {
    // A floppy of 1.44 MB, as the firmware knows it by its size.
    let mut disk = vec![0; 1440 << 10];
    disk[..CODE.len()].copy_from_slice(CODE);
    disk[510..512].copy_from_slice(&[0x55, 0xaa]);
    disk
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hardware_is_asked_for_before_anything_is_tried() {
        let with = "processor : 0\nflags\t\t: fpu vmx sse\n";
        assert_eq!(told(with, "kvm_intel 1 0 - Live\n"), None);
        let soft = told(with, "kvm_pvm 49152 0 - Live 0x0\n").unwrap();
        assert!(soft.contains("kvm_pvm") && soft.contains("qemu-tcg"), "{soft}");
        let none = told("flags\t\t: fpu sse vmxx\n", "").unwrap();
        assert!(none.contains("neither vmx nor svm") && none.contains("qemu-tcg"), "{none}");
    }

    #[test]
    fn a_machine_that_does_not_come_up_is_given_up() {
        let hangs = ["/bin/sh".into(), "-c".into(), "exec sleep 60".into()];
        let why = runs(&hangs, "kvm", Duration::from_millis(100)).unwrap_err();
        assert!(why.starts_with("nothing came of it"), "{why}");
        let ends = ["/bin/sh".into(), "-c".into(), "exit 1".into()];
        assert_eq!(runs(&ends, "kvm", LIMIT).unwrap_err(), "QEMU ended with Some(1)");
        let right = ["/bin/sh".into(), "-c".into(), "exit 33".into()];
        assert_eq!(runs(&right, "kvm", LIMIT), Ok(()));
    }

    #[test]
    fn the_verdict_is_kept_for_this_boot() {
        let folder = tempfile::tempdir().unwrap();
        let cache = PackageCache::at(folder.path());
        let right = ["/bin/sh".into(), "-c".into(), "exit 33".into()];
        let wrong = ["/bin/sh".into(), "-c".into(), "exit 1".into()];
        assert_eq!(verdict(&cache, &right), "");
        assert_eq!(verdict(&cache, &wrong), "", "the first one counts");
    }
}
