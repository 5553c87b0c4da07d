#![allow(clippy::unwrap_used)]

use pickfs_sys::block::{BlockDevice, ExclusiveProbe};
use pickfs_sys::device_users::users_of;
use pickfs_sys::loop_device::LoopDevice;
use pickfs_sys::mount::{MountRequest, Mounted};
use pickfs_sys::proc_root::ProcRoot;
use pickfs_testkit::{may_run, only_if};
use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::process::Command;

const IMAGE_BYTES: u64 = 32 << 20;

fn loop_on_unlinked() -> LoopDevice {
    let image = tempfile::tempfile_in("/var/tmp").unwrap();
    image.set_len(IMAGE_BYTES).unwrap();
    LoopDevice::attach(&image).unwrap()
}

#[test]
fn a_device_tells_the_same_by_ioctl_and_by_sysfs() {
    only_if!(may_run(&["/dev/loop-control"]));
    let made = loop_on_unlinked();
    let device = BlockDevice::at(made.path()).unwrap();
    let facts = device.facts();
    assert_eq!(Path::new("/dev").join(facts.name), made.path());
    assert_eq!(device.size_bytes().unwrap(), IMAGE_BYTES);
    assert_eq!(facts.size_bytes, Some(IMAGE_BYTES));
    assert!(facts.loop_backing_file.unwrap().to_str().unwrap().ends_with("(deleted)"));
    assert_eq!(device.device_number().0, 7);
    assert!(facts.logical_sector_bytes.is_some() && facts.write_cache.is_some());
}

#[test]
fn written_bytes_and_flushes_are_counted() {
    only_if!(may_run(&["/dev/loop-control"]));
    let made = loop_on_unlinked();
    let device = BlockDevice::at(made.path()).unwrap();
    let before = device.statistics().unwrap();
    let file = File::options().write(true).open(made.path()).unwrap();
    file.write_all_at(&[1; 65536], 0).unwrap();
    file.sync_all().unwrap();
    device.flush_buffers().unwrap();
    let after = device.statistics().unwrap();
    assert_eq!(after.written_bytes - before.written_bytes, 65536);
    assert!(after.flush_count > before.flush_count);
}

#[test]
fn exclusive_open_tells_a_holder_and_a_mount_but_not_a_plain_open() {
    only_if!(may_run(&["/dev/loop-control", "mkfs.ext4"]));
    let made = loop_on_unlinked();
    let device = BlockDevice::at(made.path()).unwrap();
    let plain = File::options().read(true).write(true).open(made.path()).unwrap();
    assert_eq!(device.probe_exclusive().unwrap(), ExclusiveProbe::Free);
    drop(plain);
    let exclusive = File::options().read(true).custom_flags(libc_o_excl()).open(made.path());
    assert_eq!(device.probe_exclusive().unwrap(), ExclusiveProbe::Held);
    drop(exclusive.unwrap());

    let mkfs = Command::new("mkfs.ext4").args(["-q", "-F"]).arg(made.path()).status().unwrap();
    assert!(mkfs.success());
    let folder = tempfile::tempdir().unwrap();
    let mounted = Mounted::mount(&MountRequest::new(made.path(), folder.path(), "ext4")).unwrap();
    assert_eq!(device.probe_exclusive().unwrap(), ExclusiveProbe::Held);
    mounted.unmount().unwrap();
    assert_eq!(device.probe_exclusive().unwrap(), ExclusiveProbe::Free);
}

fn libc_o_excl() -> i32 {
    rustix::fs::OFlags::EXCL.bits() as i32
}

#[test]
fn a_program_that_has_the_device_open_is_found() {
    only_if!(may_run(&["/dev/loop-control"]));
    let made = loop_on_unlinked();
    let device = BlockDevice::at(made.path()).unwrap();
    let users = users_of(device.device_number(), &ProcRoot::host()).unwrap().users;
    assert!(
        users.iter().any(|user| user.process_id == std::process::id()),
        "the loop device's own handle"
    );
    let other = users_of((0, 0), &ProcRoot::host()).unwrap().users;
    assert!(other.is_empty(), "{other:?}");
}
