//! Every disk file system that a guest of this machine can have: made without root, five hundred files and
//! sixteen mebibytes written, mounted again, compared.
#![allow(clippy::unwrap_used)]

mod guest_kernel;
mod pickfs;

use std::os::unix::process::CommandExt;

use guest_kernel::{engines_over, kernel};
use pickfs::{command, folder, is_root, nobody_reaches_us};

/// What the check printed of these file systems, all of them where none is named.
fn checked(names: &[&str]) -> Option<String> {
    let (cache, _) = kernel(pickfs::worker())?;
    let (_kept, out) = folder();
    let mut doctor = command(&["doctor", "--guests"]);
    if !names.is_empty() {
        doctor.args(["--fs", &names.join(",")]);
    }
    doctor.env("PICKFS_CACHE_DIR", &cache).current_dir(&out);
    if is_root() && nobody_reaches_us() {
        doctor.uid(pickfs::NOBODY).gid(pickfs::NOBODY);
    }
    let said = doctor.output().unwrap();
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    assert_eq!(said.status.code(), Some(0), "{text}{}", String::from_utf8_lossy(&said.stderr));
    assert!(engines_over(&out).is_empty());
    assert_eq!(std::fs::read_dir(&out).unwrap().count(), 0, "the image is gone");
    Some(text)
}

fn assert_kept(text: &str, names: &[&str]) {
    for name in names {
        let is_row = |line: &&str| line.split_whitespace().nth(1) == Some(name);
        let row = text.lines().find(is_row).unwrap_or_else(|| panic!("no {name}: {text}"));
        assert!(row.trim_start().starts_with("ok ") && row.contains("500 files"), "{row}");
    }
}

#[test]
fn file_systems_that_need_no_foreign_formatter_keep_what_they_are_given() {
    const NAMES: &[&str] = &["tmpfs", "affs", "hpfs", "hfsplus", "hfsx"];
    checked(NAMES).iter().for_each(|text| assert_kept(text, NAMES));
}

/// The whole table takes a minute or two.
#[test]
#[ignore = "two minutes: ./test --ring heavy, or pickfs doctor --guests"]
fn every_file_system_of_a_guest_keeps_what_it_is_given() {
    let Some(text) = checked(&[]) else { return };
    assert_kept(&text, &["tmpfs", "ramfs", "affs", "hpfs", "hfsplus", "hfsx"]);
    // What needs a program that is not installed is skipped and names it.
    for line in text.lines().filter(|line| line.trim_start().starts_with("skip ")) {
        assert!(line.contains("; "), "{line}");
    }
}
