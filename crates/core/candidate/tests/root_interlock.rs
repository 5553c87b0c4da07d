//! Root ring: each way to destroy the wrong device that can be produced here,
//! tried on zram devices that the test made. Nothing else is ever written to.
#![allow(clippy::unwrap_used)]

mod ring;

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use pickfs_candidate::Scratch;
use pickfs_candidate::interlock::{Interlock, Refusal};
use pickfs_record::{BackingSpec, DeviceState};
use pickfs_sys::loop_device::LoopDevice;
use pickfs_sys::mount::{self, MountRequest, Mounted};
use ring::zram::{SIZE_BYTES, Zram};

const TESTS: &[ring::Test] = &[
    ("a_blank_device_may_be_used", a_blank_device_may_be_used),
    ("a_mounted_device_is_refused", a_mounted_device_is_refused),
    ("a_mount_in_another_namespace_is_seen", a_mount_in_another_namespace_is_seen),
    ("every_member_of_a_mounted_btrfs_is_refused", every_member_of_a_mounted_btrfs_is_refused),
    ("swap_is_refused_active_or_not", swap_is_refused_active_or_not),
    ("precious_contents_are_refused_even_with_erase", precious_contents_are_refused),
    ("an_open_device_is_refused", an_open_device_is_refused),
    ("a_device_under_a_loop_device_is_refused", a_device_under_a_loop_device_is_refused),
    ("a_loop_device_is_asked_for_what_it_stands_on", a_loop_device_is_asked_for_what_it_stands_on),
    ("a_second_loop_device_on_the_same_is_refused", a_second_loop_device_on_the_same_is_refused),
    ("a_file_behind_a_loop_device_is_asked", a_file_behind_a_loop_device_is_asked),
    ("an_exclusively_held_device_is_refused", an_exclusively_held_device_is_refused),
    ("unknown_data_needs_erase", unknown_data_needs_erase),
    ("a_file_system_needs_erase", a_file_system_needs_erase),
    ("two_signatures_are_both_judged", two_signatures_are_both_judged),
    ("what_is_no_block_device_is_refused", what_is_no_block_device_is_refused),
    (
        "a_device_without_a_size_is_told_what_it_lacks",
        a_device_without_a_size_is_told_what_it_lacks,
    ),
    ("a_link_is_resolved_once", a_link_is_resolved_once),
    ("an_exchanged_device_is_refused", an_exchanged_device_is_refused),
    ("a_disk_in_use_by_the_system_is_refused", a_disk_in_use_by_the_system_is_refused),
    ("a_read_only_device_is_refused", a_read_only_device_is_refused),
    ("nothing_is_written_before_the_answer", nothing_is_written_before_the_answer),
    ("a_change_between_check_and_step_is_seen", a_change_between_check_and_step_is_seen),
];

fn main() {
    ring::run(TESTS);
}

fn refusal(device: &Path, erase: bool) -> Refusal {
    Interlock::pin(device, erase).map(drop).unwrap_err()
}

fn run(program: &str, args: &[&str]) {
    let program = pickfs_candidate::availability::find_program(program).unwrap();
    let output = Command::new(&program).args(args).output().unwrap();
    assert!(output.status.success(), "{program:?} {args:?}: {output:?}");
}

fn mkfs_ext4(zram: &Zram) {
    run("mkfs.ext4", &["-q", "-F", &zram.text()]);
}

fn a_blank_device_may_be_used() {
    let Some(zram) = Zram::add() else { return };
    let interlock = Interlock::pin(&zram.path(), false).unwrap();
    assert_eq!(interlock.identity().size_bytes, SIZE_BYTES);
    assert!(interlock.identity().disk_sequence.is_some());
    interlock.check().unwrap();
}

fn a_mounted_device_is_refused() {
    let Some(zram) = Zram::add() else { return };
    let (_folder, at) = ring::folder();
    mkfs_ext4(&zram);
    let mounted = Mounted::mount(&MountRequest::new(zram.path(), &at, "ext4")).unwrap();
    let text = refusal(&zram.path(), true).to_string();
    let start = format!("{}: is mounted on {} (seen by process ", zram.text(), at.display());
    assert!(text.starts_with(&start), "{text}");
    assert!(text.ends_with("unmount it, or name another device"), "{text}");
    mounted.unmount().unwrap();
    Interlock::pin(&zram.path(), true).unwrap();
}

struct Guarded(Child);

impl Drop for Guarded {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn a_mount_in_another_namespace_is_seen() {
    let Some(zram) = Zram::add() else { return };
    if !ring::have(&["unshare", "mount", "sh", "sleep"]) {
        return;
    }
    let (_folder, at) = ring::folder();
    mkfs_ext4(&zram);
    let script =
        format!("mount -t ext4 {} {} && echo up && exec sleep 60", zram.text(), at.display());
    let child = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sh", "-c", &script])
        .stdout(Stdio::piped())
        .spawn();
    let mut child = Guarded(child.unwrap());
    let mut line = String::new();
    BufReader::new(child.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "up\n");
    assert!(!mount::mounts().unwrap().iter().any(|entry| entry.mount_point == at));
    let found = refusal(&zram.path(), true);
    assert!(matches!(&found, Refusal::Mounted { at: there, .. } if *there == at), "{found}");
}

fn every_member_of_a_mounted_btrfs_is_refused() {
    let (Some(first), Some(second)) = (Zram::add(), Zram::add()) else { return };
    if !ring::have(&["mkfs.btrfs"]) {
        return;
    }
    let (_folder, at) = ring::folder();
    run("mkfs.btrfs", &["-q", "-f", &first.text(), &second.text()]);
    let options = format!("device={}", second.text());
    let request = MountRequest::new(first.path(), &at, "btrfs").options(options);
    let mounted = Mounted::mount(&request).unwrap();
    let refusals = [refusal(&first.path(), true), refusal(&second.path(), true)];
    let in_use =
        |one: &Refusal| matches!(one, Refusal::Mounted { .. } | Refusal::BtrfsMember { .. });
    assert!(refusals.iter().all(in_use), "{refusals:?}");
    mounted.unmount().unwrap();
}

fn swap_is_refused_active_or_not() {
    let Some(zram) = Zram::add() else { return };
    if !ring::have(&["mkswap", "swapon", "swapoff"]) {
        return;
    }
    run("mkswap", &[&zram.text()]);
    let inactive = refusal(&zram.path(), true);
    assert!(matches!(inactive, Refusal::Precious { what: "swap space", .. }), "{inactive}");
    run("swapon", &[&zram.text()]);
    let active = std::panic::catch_unwind(|| refusal(&zram.path(), true));
    run("swapoff", &[&zram.text()]);
    assert!(matches!(active, Ok(Refusal::ActiveSwap { .. })), "{active:?}");
}

type Pieces = Vec<(u64, Vec<u8>)>;

fn precious() -> Vec<(&'static str, Pieces)> {
    let raid_end = (SIZE_BYTES & !0xffff) - 0x1_0000;
    let zfs = (0..8).map(|n| (131_072 + n * 1024, words(&[0x00ba_b10c, 28]))).collect();
    vec![
        ("a partition table", vec![(0, partition_table())]),
        ("a member of a RAID", vec![(raid_end, halves(&[0xa92b_4efc, 0, 90, 0]))]),
        ("a member of a RAID", vec![(4096, raid_1_2())]),
        ("a physical volume of LVM", vec![(512, lvm_label())]),
        ("encrypted data", vec![(0, b"LUKS\xba\xbe\x00\x01".to_vec())]),
        ("a member of a ZFS pool", zfs),
        ("a bcache device", vec![(4096, bcache())]),
    ]
}

fn words(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn halves(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn partition_table() -> Vec<u8> {
    let mut sector = vec![0; 512];
    sector[450] = 0x83;
    sector[454..458].copy_from_slice(&2048u32.to_le_bytes());
    sector[458..462].copy_from_slice(&20480u32.to_le_bytes());
    sector[510..].copy_from_slice(&[0x55, 0xaa]);
    sector
}

fn raid_1_2() -> Vec<u8> {
    let mut superblock = vec![0; 256];
    superblock[..8].copy_from_slice(&halves(&[0xa92b_4efc, 1]));
    superblock[144..152].copy_from_slice(&words(&[8]));
    superblock
}

fn lvm_label() -> Vec<u8> {
    let mut label = vec![0; 512];
    label[..8].copy_from_slice(b"LABELONE");
    label[8..16].copy_from_slice(&words(&[1]));
    label[20..24].copy_from_slice(&halves(&[32]));
    label[24..32].copy_from_slice(b"LVM2 001");
    label[32..64].fill(b'a');
    let sum = lvm_checksum(&label[20..]);
    label[16..20].copy_from_slice(&halves(&[sum]));
    label
}

/// CRC-32 with LVM's own start value and without the last inversion.
fn lvm_checksum(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
    bytes.iter().fold(0xf597_a6cf, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), step))
}

fn bcache() -> Vec<u8> {
    let magic = *b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81";
    let mut superblock = words(&[0, 8, 1]);
    superblock.extend(magic);
    superblock.resize(256, 0);
    superblock
}

fn precious_contents_are_refused() {
    let Some(zram) = Zram::add() else { return };
    for (expected, pieces) in precious() {
        zram.blank();
        pieces.iter().for_each(|(offset_bytes, bytes)| zram.write_at(bytes, *offset_bytes));
        for erase in [false, true] {
            let found = refusal(&zram.path(), erase);
            let precious = matches!(&found, Refusal::Precious { what, .. } if *what == expected);
            assert!(precious, "{expected}: {found}");
            assert!(found.to_string().contains("--erase does not cover that"), "{found}");
        }
    }
}

fn an_open_device_is_refused() {
    let Some(zram) = Zram::add() else { return };
    let file = File::open(zram.path()).unwrap();
    let found = refusal(&zram.path(), true);
    assert!(matches!(found, Refusal::Open { .. }), "{found}");
    drop(file);
    let sleeper = Command::new("sleep").arg("60").stdin(File::open(zram.path()).unwrap()).spawn();
    let sleeper = Guarded(sleeper.unwrap());
    let found = refusal(&zram.path(), true);
    assert!(matches!(&found, Refusal::Open { program, .. } if program == "sleep"), "{found}");
    drop(sleeper);
    Interlock::pin(&zram.path(), false).unwrap();
}

fn a_device_under_a_loop_device_is_refused() {
    let Some(zram) = Zram::add() else { return };
    let file = File::options().read(true).write(true).open(zram.path()).unwrap();
    let over = LoopDevice::attach(&file).unwrap();
    drop(file);
    let found = refusal(&zram.path(), true);
    assert!(
        matches!(&found, Refusal::Held { holders, .. } if holders.starts_with("loop")),
        "{found}"
    );
    over.detach().unwrap();
    Interlock::pin(&zram.path(), false).unwrap();
}

/// A loop device that no program has open, as losetup(8) leaves it.
struct Looped(String);

impl Looped {
    fn over(what: &str, options: &[&str]) -> Self {
        let losetup = pickfs_candidate::availability::find_program("losetup").unwrap();
        let words = [&["--show", "-f"], options, &[what]].concat();
        let output = Command::new(losetup).args(words).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        Self(String::from_utf8(output.stdout).unwrap().trim().to_owned())
    }
}

impl Drop for Looped {
    fn drop(&mut self) {
        run("losetup", &["-d", &self.0]);
    }
}

fn blank_file(folder: &Path, name: &str) -> String {
    let path = folder.join(name);
    File::create(&path).unwrap().set_len(64 << 20).unwrap();
    path.to_str().unwrap().to_owned()
}

fn a_loop_device_is_asked_for_what_it_stands_on() {
    if !ring::have(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let ((folder, _), (_kept, at)) = (ring::folder(), ring::folder());
    let lower = Looped::over(&blank_file(folder.path(), "image"), &[]);
    let upper = Looped::over(&lower.0, &[]);
    Interlock::pin(upper.0.as_ref(), false).unwrap();
    run("mkfs.ext4", &["-q", "-F", &lower.0]);
    Interlock::pin(upper.0.as_ref(), true).unwrap();
    let mounted = Mounted::mount(&MountRequest::new(&lower.0, &at, "ext4")).unwrap();
    let said = refusal(upper.0.as_ref(), true).to_string();
    let start = format!("{} stands on {}: is mounted on {}", upper.0, lower.0, at.display());
    assert!(said.starts_with(&start), "{said}");
    mounted.unmount().unwrap();
}

fn a_second_loop_device_on_the_same_is_refused() {
    if !ring::have(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let ((folder, _), (_kept, at)) = (ring::folder(), ring::folder());
    let file = blank_file(folder.path(), "image");
    let first = Looped::over(&file, &[]);
    run("mkfs.ext4", &["-q", "-F", &first.0]);
    let mounted = Mounted::mount(&MountRequest::new(&first.0, &at, "ext4")).unwrap();
    for options in [&[][..], &["-o", "33554432"]] {
        let second = Looped::over(&file, options);
        let said = refusal(second.0.as_ref(), true).to_string();
        let other = first.0.trim_start_matches("/dev/");
        let expected = format!("{}: {other} stands on the same {file}; ", second.0);
        assert!(said.starts_with(&expected), "{said}");
    }
    mounted.unmount().unwrap();
}

fn a_file_behind_a_loop_device_is_asked() {
    if !ring::have(&["losetup", "mkfs.ext4", "sleep"]) {
        return;
    }
    let (folder, _at) = ring::folder();
    let file = blank_file(folder.path(), "image");
    run("mkfs.ext4", &["-q", "-F", &file]);
    let behind_the_head = Looped::over(&file, &["-o", "33554432"]);
    let device = Path::new(&behind_the_head.0);
    let said = refusal(device, false).to_string();
    assert!(said.contains(&format!("stands on {file}: holds a file system (ext4)")), "{said}");
    Interlock::pin(device, true).unwrap();
    let held = Command::new("sleep").arg("60").stdin(File::open(&file).unwrap()).spawn();
    let held = Guarded(held.unwrap());
    let said = refusal(device, true).to_string();
    assert!(said.contains(&format!("stands on {file}: is open in sleep (pid ")), "{said}");
    drop(held);
    let sleeps = |stdin: File| {
        let sleeper = Command::new("sleep").arg("0.3").stdin(stdin).spawn();
        Guarded(sleeper.unwrap())
    };
    let writer = sleeps(File::options().write(true).open(&file).unwrap());
    let said = refusal(device, true).to_string();
    assert!(said.contains("is open in sleep (pid "), "{said}");
    drop(writer);
    let _glance = sleeps(File::open(&file).unwrap());
    Interlock::pin(device, true).unwrap();
}

fn an_exclusively_held_device_is_refused() {
    let Some(zram) = Zram::add() else { return };
    let _held = open_exclusively(&zram.path());
    let found = refusal(&zram.path(), true);
    assert!(matches!(found, Refusal::Open { .. } | Refusal::Busy { .. }), "{found}");
}

fn open_exclusively(path: &Path) -> File {
    use std::os::unix::fs::OpenOptionsExt;
    let exclusive = rustix::fs::OFlags::EXCL.bits() as i32;
    File::options().read(true).custom_flags(exclusive).open(path).unwrap()
}

fn unknown_data_needs_erase() {
    let Some(zram) = Zram::add() else { return };
    for offset_bytes in [70_000, SIZE_BYTES - 9000, SIZE_BYTES / 2] {
        zram.blank();
        zram.write_at(b"the only copy of a thesis", offset_bytes);
        let found = refusal(&zram.path(), false);
        assert_eq!(found, Refusal::UnknownData { device: zram.path(), at_bytes: offset_bytes });
        let found = found.to_string();
        assert!(found.ends_with("from its start; add --erase if it may be lost"), "{found}");
        Interlock::pin(&zram.path(), true).unwrap();
    }
}

fn a_file_system_needs_erase() {
    let Some(zram) = Zram::add() else { return };
    mkfs_ext4(&zram);
    let found = refusal(&zram.path(), false).to_string();
    let wanted =
        format!("{}: holds a file system (ext4); add --erase if it may be lost", zram.text());
    assert_eq!(found, wanted);
    Interlock::pin(&zram.path(), true).unwrap().check().unwrap();
}

/// blkid alone gives up where signatures exclude each other, and would see nothing.
fn two_signatures_are_both_judged() {
    let Some(zram) = Zram::add() else { return };
    mkfs_ext4(&zram);
    let raid_end = (SIZE_BYTES & !0xffff) - 0x1_0000;
    zram.write_at(&halves(&[0xa92b_4efc, 0, 90, 0]), raid_end);
    let found = refusal(&zram.path(), true);
    assert!(matches!(found, Refusal::Precious { what: "a member of a RAID", .. }), "{found}");
}

fn what_is_no_block_device_is_refused() {
    let (_folder, folder) = ring::folder();
    let file = folder.join("file");
    fs::write(&file, b"x").unwrap();
    let link = folder.join("link");
    symlink(&file, &link).unwrap();
    for path in [file.as_path(), &link, &folder, Path::new("/dev/null")] {
        let found = refusal(path, true);
        assert!(matches!(found, Refusal::NotABlockDevice { .. }), "{found}");
    }
    let found = refusal(&folder.join("nowhere"), true);
    assert!(matches!(found, Refusal::NotThere { .. }), "{found}");
    assert_eq!(fs::read(&file).unwrap(), b"x");
}

fn a_device_without_a_size_is_told_what_it_lacks() {
    let Some(zram) = Zram::add() else { return };
    zram.reset();
    let found = refusal(&zram.path(), true).to_string();
    assert!(found.contains("it has no size yet (`zramctl --size 1G /dev/zram"), "{found}");
}

fn a_link_is_resolved_once() {
    let (Some(first), Some(second)) = (Zram::add(), Zram::add()) else { return };
    let (_folder, folder) = ring::folder();
    let link = folder.join("disk");
    symlink(first.path(), &link).unwrap();
    let interlock = Interlock::pin(&link, false).unwrap();
    fs::remove_file(&link).unwrap();
    symlink(second.path(), &link).unwrap();
    interlock.check().unwrap();
    assert_eq!(interlock.identity().path, first.path());
}

fn an_exchanged_device_is_refused() {
    for _ in 0..10 {
        let Some(zram) = Zram::add() else { return };
        let interlock = Interlock::pin(&zram.path(), true).unwrap();
        let Some(_other) = zram.exchange() else { continue };
        let found = interlock.check().unwrap_err();
        let changed = matches!(found, Refusal::Changed { what: "disk sequence number", .. });
        assert!(changed, "{found}");
        assert!(found.to_string().ends_with("; name it again"));
        return;
    }
    panic!("the number was never given again");
}

/// Only asks: pin writes nothing.
fn a_disk_in_use_by_the_system_is_refused() {
    let root = mount::mount_of(Path::new("/")).unwrap();
    let name = fs::read_link(format!("/sys/dev/block/{}:{}", root.major, root.minor));
    let Ok(name) = name else {
        ring::skip("the root file system stands on no block device");
        return;
    };
    let disk = Path::new("/dev").join(name.file_name().unwrap());
    let found = refusal(&disk, true);
    assert!(matches!(found, Refusal::Mounted { .. }), "{found}");
}

fn a_read_only_device_is_refused() {
    let (_folder, folder) = ring::folder();
    let image = folder.join("image");
    File::create_new(&image).unwrap().set_len(8 << 20).unwrap();
    // A loop over a file opened only for reading is read-only.
    let device = LoopDevice::attach(&File::open(&image).unwrap()).unwrap();
    let found = refusal(device.path(), true);
    assert!(matches!(found, Refusal::ReadOnly { .. }), "{found}");
}

fn backing(zram: &Zram, state: DeviceState) -> BackingSpec {
    let (path, erase, size_bytes, log_device) = (zram.path(), false, None, None);
    BackingSpec::Device { path, erase, state, size_bytes, log_device }
}

fn nothing_is_written_before_the_answer() {
    let Some(zram) = Zram::add() else { return };
    zram.write_at(b"keep me", 4096);
    for state in [DeviceState::Filled, DeviceState::Discarded] {
        let backing = backing(&zram, state);
        let (_folder, run_dir) = ring::folder();
        let error = Scratch::prepare(&backing, &run_dir, &mut |_| {}).unwrap_err();
        assert!(error.to_string().contains("unknown data"), "{error}");
    }
    let bytes = fs::read(zram.path()).unwrap();
    assert_eq!(&bytes[4096..4103], b"keep me");
    assert_eq!(bytes.iter().filter(|&&byte| byte != 0).count(), 7);
}

fn a_change_between_check_and_step_is_seen() {
    let Some(zram) = Zram::add() else { return };
    let (_folder, run_dir) = ring::folder();
    let backing = backing(&zram, DeviceState::Discarded);
    let mut scratch = Scratch::prepare(&backing, &run_dir, &mut |_| {}).unwrap();
    let opened = File::open(zram.path()).unwrap();
    let mut log = Vec::new();
    let at = run_dir.join("mnt");
    let error = scratch.make_and_mount(&"ext4".parse().unwrap(), &at, &mut log).unwrap_err();
    assert!(error.to_string().contains(": is open in "), "{error}");
    assert_eq!(log.len(), 1);
    assert!(scratch.raw_probe(0.01).is_err());
    drop(opened);
    let bytes = fs::read(zram.path()).unwrap();
    assert!(bytes.iter().all(|&byte| byte == 0));
}
