//! States of a crash under another kernel. Root too: the recorded disk is made here.
#![cfg(feature = "crash")]
#![allow(clippy::unwrap_used)]

mod guest_kernel;
mod lab_session;
mod pickfs;

use std::path::Path;

use guest_kernel::{engines_over, kernel, output_within, signal_engine};
use lab_session::{assert_nothing_is_left, may_run, tree_of};
use pickfs::{Said, command, folder, typed};
use pickfs_testkit::{only_if, until};
use rustix::process::Signal;

const WORDS: &str = "crash --engine qemu-tcg --fs ext4 --writer journal/append/fdatasync --keep \
                     --crash power-loss --cache any-order --fsck-each 0 --at-once 1";

fn said(words: &str, out: &Path, cache: &Path) -> Said {
    let mut crash = command(&typed(words));
    crash.env("PICKFS_CACHE_DIR", cache).env("PICKFS_STATE_DIR", out.join("state"));
    let said = output_within(10, crash.current_dir(out)).into();
    assert!(engines_over(out).is_empty(), "{said:?}");
    said
}

#[test]
fn a_guest_loses_records_on_a_disk_that_lies_and_on_no_other() {
    only_if!(may_run(&["mkfs.ext4", "/dev/fuse"]));
    let Some((cache, kernel)) = kernel() else { return };
    let (_guard, out) = folder();
    let kept = said(&format!("{WORDS} --states 60"), &out, &cache);
    assert!(kept.code == Some(0) && kept.out.starts_with("KEPT"), "{kept:?}");
    let shown = typed(&kept.out).join(" ");
    assert!(shown.contains(&format!("Kernel {} in qemu-tcg", kernel.release)), "{shown}");
    let lost = said(&format!("{WORDS} --states 30 --lying"), &out, &cache);
    assert!(lost.code == Some(0) && lost.out.starts_with("SEEN"), "{lost:?}");
    let again = lost.err.split("see it again: ").nth(1).unwrap().lines().next().unwrap();
    let again = again.split_once(" crash ").unwrap().1;
    assert!(again.contains(" --engine qemu-tcg --kernel "), "{again}");
    let lost = said(&format!("crash {again}"), &out, &cache);
    assert!(lost.code == Some(3) && lost.out.contains("are not there"), "{lost:?}");
}

/// The checker runs in guests, too; what lives on no disk is skipped.
#[test]
fn a_guest_that_dies_ends_its_own_recording_alone() {
    only_if!(may_run(&["mkfs.ext4", "e2fsck", "/dev/fuse"]));
    let Some((cache, _)) = kernel() else { return };
    let (_guard, out) = folder();
    let words = "crash --engine qemu-tcg --fs ext4 --fs tmpfs --writer save/file,save/both --states 20 \
                 --crash power-loss --cache any-order --fsck-each 2 --at-once 1";
    let said = std::thread::scope(|scope| {
        scope.spawn(|| signal_engine(&out, Signal::KILL));
        said(words, &out, &cache)
    });
    assert_eq!(said.code, Some(3), "{said:?}");
    for part in ["save/file on ext4 failed: guest ended", "save/both on tmpfs skipped: tmpfs"] {
        assert!(said.err.contains(part), "{part}: {said:?}");
    }
    let shown = typed(&said.out).join(" ");
    let left_out = "of 4 recordings 1 failed, 2 skipped";
    assert!(shown.starts_with("KEPT") && shown.contains(left_out), "{said:?}");
    assert!(!shown.contains(" 0 looks went to the checker"), "{shown}");
}

#[test]
fn nothing_is_left_of_a_guest_whose_exploration_is_killed() {
    only_if!(may_run(&["mkfs.ext4", "/dev/fuse"]));
    let Some((cache, _)) = kernel() else { return };
    let (_guard, out) = folder();
    let mut command = command(&typed(&format!("{WORDS} --states 100000")));
    command.env("PICKFS_CACHE_DIR", cache).current_dir(&out);
    let mut child = command.env("PICKFS_STATE_DIR", out.join("state")).spawn().unwrap();
    until("its guest", || (!engines_over(&out).is_empty()).then_some(()));
    let tree: Vec<i32> = tree_of(child.id() as i32).into_keys().collect();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_nothing_is_left(&out, &tree);
    until("the end of its guest", || engines_over(&out).is_empty().then_some(()));
}
