use std::{fs, path::Path, process::Command};

use crate::lab_session::{assert_nothing_is_left, may_run, traces, tree_of};
use crate::pickfs::{PICKFS, Said, command, folder, pickfs, typed};
use pickfs_testkit::{only_if, until};

/// A line as a user types it, in a folder; what it measures counts in no run of this machine.
fn in_shell(out: &Path, line: &str) -> Said {
    let script = format!("pickfs() {{ '{PICKFS}' \"$@\"; }}; {line}");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).env("PICKFS_STATE_DIR", out.join("state")).current_dir(out);
    shell.output().unwrap().into()
}

/// An example of docs/crash.md ends so, and otherwise where its database was told not to sync.
fn assert_database(number: usize, sync: [&str; 2], states: u32) {
    let (_guard, out) = folder();
    let docs = include_str!("../../../../../docs/crash.md");
    let example = docs.split("```sh\n").nth(number).unwrap().split_once("```").unwrap().0;
    assert!(example.contains(sync[0]), "{example}");
    let words = format!("pickfs crash --crash power-loss --states {states}");
    let example = example.replace("./run crash", &words);
    for (sync_in, word, code) in [(sync[0], "KEPT", 0), (sync[1], "LOST", 3)] {
        let said = in_shell(&out, &example.replace(sync[0], sync_in));
        assert_eq!(said.code, Some(code), "{sync_in}: {said:?}");
        assert!(said.out.starts_with(word), "{sync_in}: {}", said.out);
    }
}

#[test]
fn sqlite_keeps_what_it_committed_unless_it_was_told_not_to_sync() {
    only_if!(may_run(&["mkfs.ext4", "/dev/fuse", "sqlite3"]));
    assert_database(1, ["synchronous=full", "synchronous=off"], 120);
}

#[test]
fn postgresql_keeps_what_it_committed_unless_it_was_told_not_to_wait() {
    only_if!(may_run(&["mkfs.ext4", "/dev/fuse", "postgres", "initdb", "psql", "setpriv"]));
    let off = "-c listen_addresses= -c synchronous_commit=off";
    assert_database(2, ["-c listen_addresses=", off], 30);
}

/// The header of its next file and the first record there wait for one sync.
#[test]
fn a_journal_that_rolls_into_a_filled_file_is_opened_after_every_power_loss() {
    only_if!(may_run(&["mkfs.ext4", "/dev/fuse"]));
    let (_guard, out) = folder();
    let words = "--writer journal/pwrite/fdatasync/zero-filled --records 100 --states 500";
    let line = format!("pickfs crash --fs ext4 --crash power-loss --cache any-order {words}");
    let said = in_shell(&out, &line);
    assert!(said.code == Some(0) && said.out.starts_with("KEPT"), "{said:?}");
}

/// The explorer is the disk, and the judge its check, as if the machine had booted in between; the last record was on its way
/// to the witness.
#[test]
fn a_witness_finds_the_disk_that_lies_and_no_other() {
    only_if!(may_run(&["mkfs.ext4", "/dev/fuse"]));
    let (_guard, out) = folder();
    let check = format!(
        "head -n 40 > heard; test $PICKFS_ACKNOWLEDGED -gt 1 || exit 0; mkdir -p new
         for file in heard new/session; do
           sed -i s/$(cat /proc/sys/kernel/random/boot_id)/before/ $file; done
         {PICKFS} crash judge new heard; test $? -ne 3"
    );
    for (flush, word) in [("", "KEPT"), ("--lying", "SEEN")] {
        let line = format!(
            "pickfs crash --fs ext4 --crash power-loss --states 60 {flush} --check '{check}' -- \
             {PICKFS} crash witnessed new --records 40"
        );
        let said = in_shell(&out, &line);
        assert!(said.code == Some(0) && said.out.starts_with(word), "{flush}: {said:?}");
    }
}

#[test]
fn a_witness_writes_down_what_it_hears_and_judges_after_a_boot_alone() {
    let (_guard, out) = folder();
    let line = "pickfs crash witnessed new --records 50 | pickfs crash witness heard";
    let said = in_shell(&out, line);
    assert!(said.code == Some(0) && said.err.contains("50 records were heard of"), "{said:?}");
    assert_eq!(fs::read_to_string(out.join("heard")).unwrap().lines().count(), 51);
    let said = in_shell(&out, "pickfs crash judge new heard");
    assert!(said.code == Some(1) && said.err.contains("has not booted since"), "{said:?}");
}

/// Without its sync it does not, and the command that is told makes such a state again.
#[test]
fn the_example_of_the_help_keeps_its_promises() {
    only_if!(may_run(&["mkfs.ext4", "/dev/fuse"]));
    let (_guard, out) = folder();
    let help = pickfs(&["crash", "--help"]).out;
    let example = help.split_once("pickfs crash --fs ext4 --check").unwrap().1.lines();
    let example = example.take(2).collect::<Vec<_>>().join("\n");
    let line = format!("pickfs crash --states 60 --fs ext4 --check{example}");
    let said = in_shell(&out, &line);
    assert!(said.code == Some(0) && said.out.starts_with("KEPT"), "{said:?}");
    let said = in_shell(&out, &line.replace("sync log", "true"));
    assert!(said.code == Some(3) && said.out.starts_with("LOST"), "{said:?}");
    let again = said.err.split("see it again: ").nth(1).unwrap().lines().next().unwrap();
    let said = in_shell(&out, &format!("{again} --save image"));
    assert!(said.code == Some(3) && said.out.contains("recovery refused"), "{said:?}");
    assert_eq!(fs::metadata(out.join("image")).unwrap().len(), 64 << 20);
}

#[test]
fn a_command_that_falls_silent_and_does_not_end_is_named_and_ended() {
    only_if!(may_run(&["mkfs.ext4", "/dev/fuse"]));
    let (_guard, out) = folder();
    let command = "sh -c 'echo 1; exec tail -f /dev/null'";
    let line = format!("pickfs crash --fs ext4 --silence 1s --check true -- {command}");
    let said = in_shell(&out, &line);
    let words = "on ext4 failed: `sh` said no whole line for 1 s and did not end";
    assert!(said.code == Some(1) && said.err.contains(words), "{said:?}");
}

#[test]
fn nothing_is_left_of_one_that_is_killed() {
    only_if!(may_run(&["mkfs.ext4", "/dev/fuse"]));
    let (_guard, out) = folder();
    // While disks are made, while it records, and while states are mounted.
    for disks in [1, 2, 2] {
        let words = "crash --fs ext4 --states 100000 --at-once 2 --writer save/both,save/file";
        let mut command = command(&typed(words));
        command.arg("--out").arg(&out);
        let mut child = command.env("PICKFS_STATE_DIR", out.join("state")).spawn().unwrap();
        until("its disks", || (traces(&out).1.len() >= disks).then_some(()));
        let tree: Vec<i32> = tree_of(child.id() as i32).into_keys().collect();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_nothing_is_left(&out, &tree);
    }
}

#[test]
fn what_cannot_be_explored_is_refused_before_anything_is_made() {
    let (_guard, out) = folder();
    for (words, part) in [
        ("--writer journal/pwrite/msync", "msync"),
        ("--writer journal/nowhere/fsync", "write path"),
        ("--cache some", "--cache"),
        ("--crash flood", "--crash flood"),
        ("--unit 100", "--unit"),
        ("--of . --state kernel-crash@1+all", "say --risk-this-kernel"),
        ("--log disk.log --check true", "say --risk-this-kernel"),
        ("--silence long --check true -- true", "--silence"),
        ("--fs 'ext4;size=1'", "ext4"),
    ] {
        let said = in_shell(&out, &format!("pickfs crash {words}"));
        assert_eq!(said.code, Some(1), "{words}: {said:?}");
        assert!(said.err.contains(part), "{words}: {}", said.err);
    }
    assert!(fs::read_dir(&out).unwrap().next().is_none());
    let said = pickfs(&["crash", "--", "true"]);
    assert_eq!(said.code, Some(2), "a command without a check: {said:?}");
}
