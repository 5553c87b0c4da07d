//! What runs every test program: one that hangs is ended and named, and what is left behind is told.
#![allow(clippy::unwrap_used)]

use std::{fs, path::Path, process::Command};

use pickfs_testkit::{only_if, skipped};

fn watched(script: &str) -> (Option<i32>, String) {
    let mut watch = Command::new(env!("CARGO_BIN_EXE_test-watch"));
    watch.args(["sh", "-c", script]).env("PICKFS_TEST_SILENCE_S", "3");
    let output = watch.output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

fn runs(words: &str) -> bool {
    let lines = fs::read_dir("/proc").unwrap().flatten();
    let mut lines = lines.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.any(|line| String::from_utf8_lossy(&line).replace('\0', " ").trim_end() == words)
}

#[test]
fn output_exit_code_and_a_folder_that_goes_are_passed_through() {
    let (code, said) = watched("touch \"$TMPDIR/file\"; echo \"$TMPDIR\"; exit 7");
    assert_eq!(code, Some(7));
    let place = Path::new(said.trim());
    assert!(place.is_absolute() && !place.exists(), "{said}");
}

#[test]
fn a_test_that_hangs_is_named_and_what_it_started_is_ended_before_it() {
    let (code, said) = watched("printf 'test it_waits ... '; sleep 71234; echo FAILED; exit 101");
    assert_eq!(code, Some(101), "it ended by itself when its child was killed: {said}");
    for words in ["no test began or ended for 3 s", "test it_waits has not ended", "sleep 71234"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(!said.contains("is killed") && !runs("sleep 71234"), "{said}");
}

#[test]
fn a_test_that_is_slow_beside_others_is_named_and_one_that_waits_for_nobody_is_killed() {
    let slow = "test a::slow has been running for over 60 seconds";
    let (code, said) =
        watched(&format!("echo 'test a::b ... ok'; echo '{slow}'; while :; do :; done"));
    assert_eq!(code, Some(1), "{said}");
    for words in ["test a::slow has not ended", "it does not end without them", "signal: 9"] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn a_process_that_outlives_the_tests_is_a_failure_and_is_ended() {
    let (code, said) = watched("setsid sleep 71235 >/dev/null 2>&1 & exit 0");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("LEFT by") && said.contains("sleep 71235"), "{said}");
    assert!(!runs("sleep 71235"));
}

/// Killed in a namespace whose first process is not its parent, and its parent is killed before it.
#[test]
fn an_orphan_that_has_ended_keeps_no_namespace() {
    let unshare = "unshare --user --map-root-user --pid --fork --kill-child";
    let has_namespaces = Command::new("sh").args(["-c", &format!("{unshare} true")]).status();
    only_if!(has_namespaces.is_ok_and(|s| s.success()) || skipped("no namespaces of users"));
    let (code, said) = watched(&format!(
        "child() {{ until set -- $1 $(cat /proc/$1/task/$1/children); [ $2 ]; do :; done; echo $2; }}
         {unshare} sleep 71236 & outer=$!; first=$(child $outer)
         until [ $(readlink /proc/$first/ns/pid) != $(readlink /proc/$$/ns/pid) ]; do :; done
         nsenter --user --pid -t $first sleep 71237 & parent=$!; one=$(child $parent)
         kill -9 $parent; kill -9 $one; kill -9 $outer; exit 0"
    ));
    assert_eq!(code, Some(0), "{said}");
}
