//! Root ring: the log of a file system on a second device, on zram devices that the test made.
#![allow(clippy::unwrap_used)]

mod ring;

use std::fs;
use std::path::Path;
use std::process::Command;

use pickfs_candidate::Scratch;
use pickfs_candidate::availability::find_program;
use pickfs_candidate::interlock::Interlock;
use pickfs_record::{BackingSpec, DeviceState};
use pickfs_sys::mount::{MountRequest, Mounted};
use ring::zram::Zram;

const TESTS: &[ring::Test] = &[
    ("a_log_device_holds_the_log_where_the_candidate_puts_it_there", a_log_device_holds_the_log),
    ("a_log_device_has_the_whole_interlock", a_log_device_has_the_whole_interlock),
];

fn main() {
    ring::run(TESTS);
}

fn run(program: &str, args: &[&str]) -> String {
    let output = Command::new(find_program(program).unwrap()).args(args).output().unwrap();
    assert!(output.status.success(), "{program} {args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn backing(device: &Path, log: &Path, erase: bool, state: DeviceState) -> BackingSpec {
    let (path, log_device) = (device.to_owned(), Some(log.to_owned()));
    BackingSpec::Device { path, erase, state, size_bytes: None, log_device }
}

fn a_log_device_holds_the_log() {
    if !ring::have(&["mkfs.xfs", "mkfs.ext4", "dumpe2fs", "blkid"]) {
        return;
    }
    let (Some(zram), Some(log_zram)) = (Zram::add(), Zram::add()) else { return };
    let (device, log_device) = (zram.text(), log_zram.text());
    let (_folder, run_dir) = ring::folder();
    for state in [DeviceState::Filled, DeviceState::Discarded] {
        let backing = backing(&zram.path(), &log_zram.path(), true, state);
        let mut scratch = Scratch::prepare(&backing, &run_dir, &mut |_| {}).unwrap();
        let facts = scratch.card(0.2).unwrap();
        assert!(facts.get("card.log_flush_p50_ns").is_some());
        assert_eq!(facts.get("log_device.name"), log_device.strip_prefix("/dev/"));
        let mut make = |name: &str| {
            let (candidate, mut log) = (name.parse().unwrap(), Vec::new());
            let mut mounted =
                scratch.make_and_mount(&candidate, &run_dir.join("mnt"), &mut log).unwrap();
            fs::write(mounted.directory.join("bytes"), [7; 9000]).unwrap();
            mounted.mount_again(&mut log).unwrap();
            assert_eq!(fs::read(mounted.directory.join("bytes")).unwrap(), [7; 9000], "{name}");
            let options = mounted.environment.get("mount.options").unwrap().to_owned();
            mounted.unmount(&mut log).unwrap();
            let guard = format!("[check-interlock] {log_device}");
            let guards = log.iter().filter(|record| record.step.action.to_string() == guard);
            (options, guards.count())
        };
        let log_type = || run("blkid", &["-p", "-o", "value", "-s", "TYPE", &log_device]);
        let (options, guards) = make("xfs:noatime");
        assert!(guards >= 4 && options.contains(&format!("logdev={log_device}")), "{options}");
        assert_eq!(log_type(), "xfs_external_log\n");
        for name in ["ext3", "ext4"] {
            assert!(make(name).1 >= 4, "{name}");
            assert!(run("dumpe2fs", &["-h", &device]).contains("Journal device:"), "{name}");
            assert_eq!(log_type(), "jbd\n");
        }
        let bytes = fs::read(&log_device).unwrap();
        for inside in ["xfs;mkfs=-l internal", "ext4;mkfs=-J size=8"] {
            assert_eq!(make(inside).1, 0, "{inside}");
            assert!(
                bytes == fs::read(&log_device).unwrap(),
                "{inside}: the log device was written"
            );
        }
        scratch.remove().unwrap();
    }
}

/// Neither device is written before both have answered.
fn a_log_device_has_the_whole_interlock() {
    if !ring::have(&["mkfs.ext4"]) {
        return;
    }
    let (Some(zram), Some(log)) = (Zram::add(), Zram::add()) else { return };
    let (_folder, run_dir) = ring::folder();
    let said = |node: &Path, erase: bool| {
        let backing = backing(&zram.path(), node, erase, DeviceState::Filled);
        Scratch::prepare(&backing, &run_dir, &mut |_| {}).unwrap_err().to_string()
    };
    let refused = |node: &Path, erase: bool, words: &str| {
        let before = fs::read(log.path()).unwrap();
        let said = said(node, erase);
        assert!(said.starts_with(&format!("{}: {words}", node.display())), "{said}");
        assert!(before == fs::read(log.path()).unwrap(), "the log device was written");
    };
    log.write_at(b"the only copy of a thesis", 70_000);
    refused(&log.path(), false, "holds unknown data ");
    log.write_at(b"LUKS\xba\xbe\x00\x01", 0);
    refused(&log.path(), true, "holds encrypted data");
    log.blank();
    run("mkfs.ext4", &["-q", "-F", "-O", "journal_dev", "-b", "4096", &log.text()]);
    refused(&log.path(), false, "holds a file system (jbd); add --erase");
    let as_device = Interlock::pin(&log.path(), true).unwrap_err().to_string();
    assert!(as_device.contains("the log of a file system on another device"), "{as_device}");
    run("mkfs.ext4", &["-q", "-F", &log.text()]);
    let mounted = Mounted::mount(&MountRequest::new(log.path(), &run_dir, "ext4")).unwrap();
    assert!(said(&log.path(), true).contains(": is mounted on "));
    mounted.unmount().unwrap();
    refused(&zram.path(), true, &format!("is on the same disk as {} (zram", zram.text()));
    assert!(fs::read(zram.path()).unwrap().iter().all(|&byte| byte == 0), "the device was written");
}
