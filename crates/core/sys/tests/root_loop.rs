#![allow(clippy::unwrap_used)]

use pickfs_sys::extents;
use pickfs_sys::loop_device::LoopDevice;
use pickfs_sys::mount::{self, MountRequest, Mounted};
use pickfs_sys::proc_root::ProcRoot;
use pickfs_testkit::{may_run, only_if};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const IMAGE_BYTES: u64 = 64 << 20;

fn unlinked_image() -> File {
    let file = tempfile::tempfile_in("/var/tmp").unwrap();
    let mode = rustix::fs::FallocateFlags::empty();
    rustix::fs::fallocate(&file, mode, 0, IMAGE_BYTES).unwrap();
    file
}

fn make(program: &str, device: &Path) {
    let made = Command::new(program).args(["-q", "-F"]).arg(device).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

fn sysfs(device: &LoopDevice) -> PathBuf {
    Path::new("/sys/block").join(device.path().file_name().unwrap())
}

fn told(file: PathBuf) -> Option<String> {
    Some(std::fs::read_to_string(file).ok()?.trim().to_owned())
}

/// The number may be another program's already.
fn is_gone(sysfs: &Path, sequence: &Option<String>) -> bool {
    !sysfs.join("loop").exists() || told(sysfs.join("diskseq")) != *sequence
}

#[test]
fn an_unlinked_file_is_attached_with_direct_io_and_autoclear() {
    only_if!(may_run(&["/dev/loop-control"]));
    let device = LoopDevice::attach(&unlinked_image()).unwrap();
    assert!(device.status().unwrap().direct_io);
    let sysfs = sysfs(&device);
    assert_eq!(told(sysfs.join("loop/autoclear")).as_deref(), Some("1"));
    assert_eq!(told(sysfs.join("size")), Some((IMAGE_BYTES / 512).to_string()));
    assert!(device.is_attached());
    let sequence = told(sysfs.join("diskseq"));
    device.detach().unwrap();
    assert!(is_gone(&sysfs, &sequence));
}

#[test]
fn dropping_the_guard_detaches() {
    only_if!(may_run(&["/dev/loop-control"]));
    let device = LoopDevice::attach(&unlinked_image()).unwrap();
    let sysfs = sysfs(&device);
    let sequence = told(sysfs.join("diskseq"));
    drop(device);
    let gone = || is_gone(&sysfs, &sequence).then_some(());
    pickfs_testkit::until("the end of the device", gone);
}

#[test]
fn fallocated_extents_are_unwritten_until_they_are_rewritten() {
    only_if!(may_run(&["/dev/loop-control"]));
    let image = unlinked_image();
    image.write_all_at(b"kept", 8192).unwrap();
    let before = extents::summary(&image).unwrap();
    assert!(before.unwritten_bytes > IMAGE_BYTES / 2, "{before:?}");
    let rewritten = extents::rewrite_unwritten(&image).unwrap();
    assert_eq!(rewritten.unwritten_bytes, before.unwritten_bytes);
    assert_eq!(rewritten.direct_bytes, rewritten.total_bytes(), "direct I/O was possible");
    let after = extents::summary(&image).unwrap();
    assert_eq!(after.holes_bytes(), 0, "{after:?}");
    let mut kept = [0; 4];
    image.read_exact_at(&mut kept, 8192).unwrap();
    assert_eq!(&kept, b"kept");
}

#[test]
fn mkfs_unwrites_an_image_and_rewriting_mends_it() {
    only_if!(may_run(&["/dev/loop-control", "mkfs.ext4"]));
    let image = unlinked_image();
    extents::rewrite_unwritten(&image).unwrap();
    let device = LoopDevice::attach(&image).unwrap();
    make("mkfs.ext4", device.path());
    device.file().sync_all().unwrap();
    let made = extents::summary(&image).unwrap();
    assert!(made.holes_bytes() > 0, "mkfs was expected to discard: {made:?}");
    extents::rewrite_unwritten(&image).unwrap();
    assert_eq!(extents::summary(&image).unwrap().holes_bytes(), 0);
    let folder = tempfile::tempdir().unwrap();
    Mounted::mount(&MountRequest::new(device.path(), folder.path(), "ext4"))
        .unwrap()
        .unmount()
        .unwrap();
}

#[test]
fn holes_of_a_tmpfs_file_are_found_and_mended() {
    only_if!(may_run(&["/dev/loop-control"]));
    let folder = tempfile::tempdir().unwrap();
    let request = MountRequest::new("tmpfs", folder.path(), "tmpfs").options("size=16m");
    let mounted = Mounted::mount(&request).unwrap();
    let file = tempfile::tempfile_in(folder.path()).unwrap();
    file.set_len(1 << 20).unwrap();
    file.write_all_at(&[1; 4096], 65536).unwrap();
    let data = extents::seek_ranges(&file).unwrap();
    assert_eq!((data.len(), data[0].start_bytes, data[0].end_bytes), (1, 65536, 69632));
    let before = extents::summary(&file).unwrap();
    assert_eq!(before.missing_bytes, (1 << 20) - 4096);
    extents::rewrite_unwritten(&file).unwrap();
    assert_eq!(extents::summary(&file).unwrap().holes_bytes(), 0);
    drop(file);
    mounted.unmount().unwrap();
}

#[test]
fn an_ext4_image_is_mounted_with_options_that_the_kernel_reports() {
    only_if!(may_run(&["/dev/loop-control", "mkfs.ext4"]));
    let device = LoopDevice::attach(&unlinked_image()).unwrap();
    make("mkfs.ext4", device.path());
    let folder = tempfile::Builder::new().prefix("with space ").tempdir().unwrap();
    let request =
        MountRequest::new(device.path(), folder.path(), "ext4").options("noatime,barrier=0,nosuid");
    let mounted = Mounted::mount(&request).unwrap();
    let entry = mount::mount_of(folder.path()).unwrap();
    assert_eq!((entry.fs_type.as_str(), entry.source.as_path()), ("ext4", device.path()));
    assert!(entry.options.contains("noatime") && entry.options.contains("nosuid"), "{entry:?}");
    assert!(entry.super_options.contains("nobarrier"), "{entry:?}");
    let everywhere = mount::mounts_of_device(device.path(), &ProcRoot::host()).unwrap();
    assert!(!everywhere.mounts.is_empty());
    assert!(everywhere.mounts.iter().any(|m| m.entry.mount_point == folder.path()));

    let held = File::create(folder.path().join("held")).unwrap();
    let busy = mount::unmount(folder.path()).unwrap_err();
    assert!(busy.is(rustix::io::Errno::BUSY), "{busy}");
    drop(held);
    mounted.unmount().unwrap();
    // A process that took a namespace meanwhile holds a copy until it ends.
    pickfs_testkit::until("the end of the mount in every namespace", || {
        let after = mount::mounts_of_device(device.path(), &ProcRoot::own()).unwrap();
        after.mounts.is_empty().then_some(())
    });
    device.detach().unwrap();
}

#[test]
fn a_device_under_a_mount_says_that_it_is_still_in_use_only_when_it_is() {
    only_if!(may_run(&["/dev/loop-control", "mkfs.ext4"]));
    let device = LoopDevice::attach(&unlinked_image()).unwrap();
    make("mkfs.ext4", device.path());
    let folder = tempfile::tempdir().unwrap();
    let request = MountRequest::new(device.path(), folder.path(), "ext4");
    let mounted = Mounted::mount(&request).unwrap();
    let backing = sysfs(&device).join("loop/backing_file");
    let error = device.detach().unwrap_err();
    assert!(error.to_string().contains(" is still in use by "), "{error}");
    mounted.unmount().unwrap();
    let gone = || !backing.exists();
    pickfs_testkit::until("its end with its last user", || gone().then_some(()));
}

#[test]
fn a_wrong_option_and_a_wrong_image_are_explained() {
    only_if!(may_run(&["/dev/loop-control", "mkfs.ext4"]));
    let device = LoopDevice::attach(&unlinked_image()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let request = MountRequest::new(device.path(), folder.path(), "ext4");
    let text = mount::mount(&request.clone().options("nonsense=3")).unwrap_err().to_string();
    assert!(text.starts_with("ext4 refuses the mount option `nonsense=3`"), "{text}");
    let text = mount::mount(&request).unwrap_err().to_string();
    assert!(text.starts_with("cannot mount /dev/loop"), "{text}");
}
