#![cfg(feature = "guest")]
#![allow(clippy::unwrap_used)]

mod guest_kernel;
mod pickfs;

use std::os::unix::process::CommandExt;

use guest_kernel::{engines_over, kernel, output_within};
use pickfs::{command, folder, is_root, nobody_reaches_us};
use pickfs_guest::{PackageCache, trials::kernels::Tools};

fn checked(words: &[&str], minutes: u64) -> Option<String> {
    let (cache, _) = kernel()?;
    let (_kept, out) = folder();
    let mut doctor = command(&["doctor", "--guests", "--engine", "qemu-tcg"]);
    doctor
        .args(words)
        .env("PICKFS_CACHE_DIR", &cache)
        .env("HOME", "/nonexistent")
        .current_dir(&out);
    if is_root() && nobody_reaches_us() && !words.contains(&"--build-modules") {
        // Nobody cannot write to root's cache: what is wanted of it must be there.
        assert!(warmed(&cache, words), "programs of file systems are fetched");
        doctor.uid(pickfs::NOBODY).gid(pickfs::NOBODY);
    }
    let said = output_within(minutes, &mut doctor);
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    assert_eq!(said.status.code(), Some(0), "{text}{}", String::from_utf8_lossy(&said.stderr));
    assert!(engines_over(&out).is_empty());
    assert_eq!(std::fs::read_dir(&out).unwrap().count(), 0, "the image is gone");
    Some(text)
}

fn warmed(cache: &std::path::Path, words: &[&str]) -> bool {
    let names = words.last().copied().unwrap_or_default();
    let rows = pickfs_candidate::fs::FILE_SYSTEMS.iter();
    let rows = rows.filter(|row| names.is_empty() || names.split(',').any(|name| name == row.name));
    let (cache, mut tools) = (PackageCache::at(cache), Tools::default());
    rows.into_iter().all(|row| tools.want(&cache, row).is_ok())
}

fn assert_kept(text: &str, names: &[&str]) {
    for name in names {
        let is_row = |line: &&str| line.split_whitespace().nth(1) == Some(name);
        let row = text.lines().rfind(is_row).unwrap_or_else(|| panic!("no {name}: {text}"));
        assert!(row.trim_start().starts_with("ok ") && row.contains("500 files"), "{row}");
    }
}

#[test]
fn every_file_system_of_the_stock_kernel_keeps_what_it_is_given() {
    let names = "ext4 ext3 ext2 xfs btrfs tmpfs ramfs ntfs-3g f2fs jfs reiserfs-3.6 fat16 fat32 \
                 hfs hfsplus hfsx affs hpfs nilfs2 exfat";
    let names: Vec<&str> = names.split(' ').collect();
    checked(&[], 20).iter().for_each(|text| assert_kept(text, &names));
}

#[test]
#[ignore = "ten minutes and 240 MB: ./test --ring heavy, or pickfs doctor --guests --build-modules"]
fn modules_are_built_for_the_very_kernel_that_mounts_by_them() {
    const NAMES: &[&str] = &["ufs", "ufs2", "reiserfs-3.5", "zfs"];
    let text = checked(&["--build-modules", "--fs", &NAMES.join(",")], 60);
    text.iter().for_each(|text| assert_kept(text, NAMES));
}
