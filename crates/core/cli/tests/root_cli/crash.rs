use std::{fs, path::Path, process::Child};

use crate::lab_session::{may_run, traces};
use crate::pickfs::{Said, command, folder, pickfs, typed};
use pickfs_sys::{proc_root::ProcRoot, process};
use pickfs_testkit::{only_if, until};
use serde_json::Value;

/// What was measured there counts in no run of this machine.
fn crash(out: &Path, words: &str) -> Said {
    let mut command = command(&typed(words));
    command.arg("--out").arg(out).env("PICKFS_STATE_DIR", out.join("state"));
    command.output().unwrap().into()
}

/// Power losses of a shell's lines on ext4.
fn of_script(out: &Path, words: &[&str], script: &str) -> Said {
    let mut command =
        command(&["crash", "--fs", "ext4", "--crash", "power-loss", "--cache", "any"]);
    command.args(words).arg("--out").arg(out).env("PICKFS_STATE_DIR", out.join("state"));
    command.args(["--", "sh", "-c", script]).output().unwrap().into()
}

/// As docs/crash.md has it.
#[test]
fn sqlite_keeps_what_it_committed_unless_it_was_told_not_to_sync() {
    only_if!(may_run(&["mkfs.ext4", "/dev/fuse", "sqlite3"]));
    let (_guard, out) = folder();
    let setup = "sqlite3 db 'pragma journal_mode=wal; create table t(n)'";
    let check = "set -- $(sqlite3 db 'pragma integrity_check; select count(*) from t'); echo $*; \
                 test \"$1\" = ok && test \"$2\" -ge $PICKFS_ACKNOWLEDGED";
    for (synchronous, word, code) in [("full", "KEPT", 0), ("off", "LOST", 3)] {
        let script = format!(
            "(echo 'pragma synchronous={synchronous};'; for n in $(seq 12); do \
             echo \"insert into t values($n);\"; echo .system echo $n; done) | sqlite3 -bail db"
        );
        let words = ["--states", "120", "--setup", setup, "--check", check];
        let said = of_script(&out, &words, &script);
        assert_eq!(said.code, Some(code), "{synchronous}: {said:?}");
        assert!(said.out.starts_with(word), "{synchronous}: {}", said.out);
    }
}

#[test]
fn a_promise_that_is_broken_is_told_and_its_state_made_again() {
    only_if!(may_run(&["mkfs.ext4", "/dev/fuse"]));
    let (_guard, out) = folder();
    let check = "while read n; do test -s $n || { echo $n is gone; exit 1; }; done";
    let json = out.join("cells.json");
    let words = ["--states", "40", "--check", check, "--json", json.to_str().unwrap()];
    let said = of_script(&out, &words, "for n in 1 2 3; do echo $n > $n; echo $n; done");
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(said.out.starts_with("LOST"), "{}", said.out);
    let recording = said.err.split("--of ").nth(1).unwrap().lines().next().unwrap();
    let found: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let failures = &found["cells"][0]["explored"]["failures"];
    let of_check = |failure: &&Value| failure["found"].to_string().contains("is gone");
    let failure = failures.as_array().unwrap().iter().find(of_check).unwrap();
    let state = failure["state"].as_str().unwrap();
    let image = out.join("image");
    let again = ["crash", "--of", recording, "--state", state, "--check", check, "--save"];
    let said: Said = command(&again).arg(&image).arg("--out").arg(&out).output().unwrap().into();
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(said.out.contains("is gone"), "{}", said.out);
    assert_eq!(fs::metadata(image).unwrap().len(), 64 << 20);
}

/// Of it and of all below it: ids, and the loop devices that they have open.
fn tree(child: &Child) -> (Vec<u32>, Vec<String>) {
    let tree = process::tree_of(child.id(), &ProcRoot::own()).unwrap();
    let ids: Vec<u32> = tree.iter().map(|process| process.process_id).collect();
    let open = ids.iter().filter_map(|id| fs::read_dir(format!("/proc/{id}/fd")).ok());
    let names = open.flatten().flatten().filter_map(|file| fs::read_link(file.path()).ok());
    let mut devices: Vec<String> = names
        .filter_map(|path| Some(path.to_str()?.strip_prefix("/dev/")?.to_owned()))
        .filter(|name| name.starts_with("loop") && name != "loop-control")
        .collect();
    devices.sort();
    devices.dedup();
    (ids, devices)
}

fn disk_sequence(device: &str) -> Option<String> {
    let folder = Path::new("/sys/block").join(device);
    let is_attached = folder.join("loop").exists();
    fs::read_to_string(folder.join("diskseq")).ok().filter(|_| is_attached)
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
        let (ids, devices) = until("its disks", || {
            let (ids, devices) = tree(&child);
            (devices.len() >= disks).then_some((ids, devices))
        });
        let before: Vec<_> = devices.iter().map(|device| disk_sequence(device)).collect();
        child.kill().unwrap();
        child.wait().unwrap();
        until("its processes, mounts and loop devices to go", || {
            let alive = ids.iter().any(|id| Path::new(&format!("/proc/{id}")).exists());
            let held = devices.iter().zip(&before).any(|(device, was)| {
                let now = disk_sequence(device);
                now.is_some() && now == *was
            });
            (!alive && !held && traces(&out).0.is_empty()).then_some(())
        });
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
        ("--fs ext4;size=1", "ext4"),
    ] {
        let said = crash(&out, &format!("crash {words}"));
        assert_eq!(said.code, Some(1), "{words}: {said:?}");
        assert!(said.err.contains(part), "{words}: {}", said.err);
    }
    assert!(fs::read_dir(&out).unwrap().next().is_none());
    let said = pickfs(&["crash", "--", "true"]);
    assert_eq!(said.code, Some(2), "a command without a check: {said:?}");
}
