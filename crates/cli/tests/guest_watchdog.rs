//! Guests that hang, starve or find nonsense on their disk: each ends with its reason, and nothing of
//! it is left.
#![allow(clippy::unwrap_used)]

mod guest_kernel;
mod pickfs;

use std::{
    fs,
    path::{Path, PathBuf},
};

use guest_kernel::{kernel, signal_engine, wait_until_gone};
use pickfs_guest::{
    Boot, Deadlines, FirstFiles, Guest, GuestError, GuestPhase, Kernel, Order, Start, uml::Uml,
};
use pickfs_model::Action;
use rustix::process::Signal;

struct Setting {
    kernel: Kernel,
    _kept: tempfile::TempDir,
    folder: PathBuf,
    memory_bytes: u64,
    deadlines: Deadlines,
}

fn setting() -> Option<Setting> {
    let (_, kernel) = kernel(pickfs::worker())?;
    let (_kept, folder) = pickfs::folder();
    let deadlines = Deadlines::default();
    Some(Setting { kernel, _kept, folder, memory_bytes: 256 << 20, deadlines })
}

impl Setting {
    fn boot(&self, disk: Option<PathBuf>, mount: Action) -> Result<Guest, GuestError> {
        let first_files = self.folder.join("first-files");
        let files = FirstFiles { worker: pickfs::worker().into(), ..FirstFiles::default() };
        files.write(&first_files)?;
        let order = Order {
            disk: disk.as_ref().map(|_| "/dev/ubda".into()),
            mount: vec![mount],
            unmount: vec![Action::Unmount { at: "/mnt/target".into() }],
            at: "/mnt/target".into(),
            ..Order::default()
        };
        let (memory_bytes, folder) = (self.memory_bytes, self.folder.clone());
        let boot = Boot { first_files, disk, memory_bytes, folder };
        let start = Start {
            engine: &Uml,
            kernel: &self.kernel,
            boot: &boot,
            worker: pickfs::worker(),
            deadlines: self.deadlines,
            stop: &|| false,
        };
        Guest::boot(&start, order)
    }

    fn refused(&self, disk: Option<PathBuf>, mount: Action) -> GuestError {
        let error = self.boot(disk, mount).err().expect("it does not come up");
        wait_until_gone(&self.folder);
        error
    }
}

fn mount(source: &str, fs_type: &str) -> Action {
    let (source, fs_type, at) = (source.into(), fs_type.into(), "/mnt/target".into());
    Action::Mount { source, fs_type, options: Vec::new(), at }
}

fn disk_of(folder: &Path, byte: u8) -> Option<PathBuf> {
    let path = folder.join("disk");
    fs::write(&path, vec![byte; 16 << 20]).unwrap();
    Some(path)
}

#[test]
fn what_is_written_in_a_guest_comes_back_from_a_second_mount() {
    let Some(setting) = setting() else { return };
    let disk = setting.folder.join("disk");
    fs::File::create(&disk).unwrap().set_len(64 << 20).unwrap();
    let made = std::process::Command::new("/sbin/mkfs.ext2").arg("-q").arg(&disk).status();
    if !made.is_ok_and(|status| status.success()) {
        println!("SKIPPED(guests): no mkfs.ext2; install e2fsprogs");
        return;
    }
    let guest = setting.boot(Some(disk), mount("/dev/ubda", "ext2")).unwrap();
    let (files, bytes) = guest.check(true, &|| false).unwrap();
    assert_eq!((files, bytes), (500, (16 << 20) + 500 * 1024));
    guest.end(&|| false).unwrap();
    wait_until_gone(&setting.folder);
}

#[test]
fn a_corrupt_image_is_told_with_the_kernels_words() {
    let Some(setting) = setting() else { return };
    let error = setting.refused(disk_of(&setting.folder, 0xa5), mount("/dev/ubda", "ext4"));
    let GuestError::Told { phase, reason, console } = &error else { panic!("{error}") };
    assert_eq!(*phase, GuestPhase::Mount);
    assert!(reason.contains("/dev/ubda"), "{reason}");
    assert!(console.contains("ext4") || reason.contains("ext4"), "{error}");
}

#[test]
fn a_guest_that_hangs_is_ended_at_its_deadline() {
    let Some(mut setting) = setting() else { return };
    setting.deadlines = Deadlines { factor: 0.05 };
    let folder = setting.folder.clone();
    let stopper = std::thread::spawn(move || signal_engine(&folder, Signal::STOP));
    let error = setting.refused(None, mount("tmpfs", "tmpfs"));
    stopper.join().unwrap();
    assert!(matches!(error, GuestError::Missed { .. }), "{error}");
}

#[test]
fn a_guest_without_memory_fails_and_shows_its_console() {
    let Some(mut setting) = setting() else { return };
    setting.memory_bytes = 24 << 20;
    setting.deadlines = Deadlines { factor: 0.3 };
    let error = setting.refused(None, mount("tmpfs", "tmpfs"));
    let (GuestError::Died { console, .. } | GuestError::Missed { console, .. }) = &error else {
        panic!("{error}")
    };
    assert!(!console.is_empty(), "{error}");
}
