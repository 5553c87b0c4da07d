#![cfg(feature = "guest")]
#![allow(clippy::unwrap_used)]

mod guest_kernel;
mod pickfs;

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use guest_kernel::{kernel, output_within, signal_engine, wait_until_gone};
use pickfs::{command, folder};
use pickfs_guest::{
    Boot, Engine, FirstFiles, Guest, GuestError, GuestPhase, Kernel, Order, PackageCache, Start,
    engine::{CHANNEL_MODULES, DISK_INSIDE},
    kvm, qemu_program,
};
use pickfs_record::Action;
use rustix::process::Signal;

fn boot(
    kernel: &Kernel,
    folder: &Path,
    disk: Option<PathBuf>,
    mount: Action,
    stretched_by: f64,
) -> Result<Guest, GuestError> {
    let first_files = folder.join("first-files");
    let files = FirstFiles {
        worker: pickfs::PICKFS.into(),
        early: kernel.modules.with_needed(CHANNEL_MODULES),
        modules: kernel.modules.with_needed(&["crc32c_generic", "ext4"]),
        ..FirstFiles::default()
    };
    files.write(&first_files)?;
    let order = Order {
        modules: files.modules_inside(),
        disk: disk.as_ref().map(|_| DISK_INSIDE.into()),
        mount: vec![mount],
        unmount: vec![Action::Unmount { at: "/mnt/target".into() }],
        at: "/mnt/target".into(),
        ..Order::default()
    };
    let boot = Boot { first_files, disk, memory_bytes: 256 << 20, processors: 1 };
    let (engine, worker, stop) = (Engine::QemuTcg, Path::new(pickfs::PICKFS), &|| false);
    let mut guest =
        Guest::boot(&Start { engine, kernel, boot: &boot, worker, stretched_by, stop })?;
    guest.mount(order, stop)?;
    Ok(guest)
}

fn mount(source: &str, fs_type: &str) -> Action {
    let (source, fs_type, at) = (source.into(), fs_type.into(), "/mnt/target".into());
    Action::Mount { source, fs_type, options: Vec::new(), at }
}

#[test]
fn a_corrupt_image_is_told_with_the_kernels_words() {
    let Some((_, kernel)) = kernel() else { return };
    let (_kept, folder) = folder();
    let disk = folder.join("disk");
    fs::write(&disk, vec![0xa5; 16 << 20]).unwrap();
    let slowness = Engine::QemuTcg.slowness();
    let error = boot(&kernel, &folder, Some(disk), mount("/dev/vda", "ext4"), slowness);
    let error = error.err().expect("it does not come up");
    let GuestError::Told { phase, reason, console } = &error else { panic!("{error}") };
    assert_eq!(*phase, GuestPhase::Mount);
    assert!(reason.contains("/dev/vda"), "{reason}");
    assert!(console.contains("ext4") || reason.contains("ext4"), "{error}");
    wait_until_gone(&folder);
}

#[test]
fn a_machine_that_hangs_is_ended_at_its_deadline() {
    let Some((_, kernel)) = kernel() else { return };
    let (_kept, folder) = folder();
    let over = folder.clone();
    let stopper = std::thread::spawn(move || signal_engine(&over, Signal::STOP));
    let error = boot(&kernel, &folder, None, mount("tmpfs", "tmpfs"), 0.02).err();
    stopper.join().unwrap();
    let Some(GuestError::Missed { phase, .. }) = error else { panic!("{error:?}") };
    assert_eq!(phase, GuestPhase::Boot);
    wait_until_gone(&folder);
}

#[test]
fn the_tiny_guest_ends_by_itself_where_instructions_are_carried_out() {
    let Some((cache, _)) = kernel() else { return };
    let qemu = qemu_program::held(&PackageCache::at(&cache)).unwrap();
    assert_eq!(kvm::runs(&qemu, "tcg", Duration::from_secs(60)), Ok(()));
}

#[test]
fn kvm_that_runs_no_guest_names_the_engine_that_needs_none() {
    let Some(why) = kvm::obstacle() else { return };
    assert!(why.contains("qemu-tcg"), "{why}");
    let said = output_within(3, &mut command(&["doctor", "--guests", "--engine", "qemu-kvm"]));
    let error = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(!said.status.success() && error.contains("qemu-tcg"), "{error}");
}
