//! Root ring: the `files` workload with the profile `bonnie` and the real bonnie++ 2.00a make the
//! same calls in the same order, phase by phase, as strace sees them.

use std::{
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

use pickfs_record::trial::WORKER;
use pickfs_sys::mount::{MountRequest, Mounted};
use serde_json::{Value, json};

use crate::{
    spoken::spec,
    traced::{Traced, phases, read, tickets},
};
use pickfs_testkit::{may_run, only_if};

const CALLS: &str = "trace=openat,read,write,lseek,fsync,fdatasync,close,mkdir,mkdirat,rmdir,unlink,\
                     unlinkat,link,linkat,symlink,symlinkat,newfstatat,stat,chdir,sync";

fn both(options: &[&str], params: Value) -> (Traced, Traced) {
    let folder = tempfile::tempdir().expect("a folder");
    let request = MountRequest::new("pickfs-test", folder.path(), "tmpfs").options("size=512m");
    let mounted = Mounted::mount(&request).expect("root may mount");
    let logs = tempfile::tempdir().expect("a folder");
    let theirs = bonnie(folder.path(), &logs.path().join("bonnie"), options);
    let ours = worker(folder.path(), &logs.path().join("ours"), params);
    let is_empty = std::fs::read_dir(folder.path()).expect("a folder").next().is_none();
    mounted.unmount().expect("nobody uses it");
    assert!(is_empty, "both remove what they made");
    (theirs, ours)
}

fn strace(log: &Path) -> Command {
    let mut command = Command::new("strace");
    command.args(["-f", "-y", "-s", "8192", "-e", CALLS, "-o"]).arg(log);
    command
}

fn bonnie(directory: &Path, log: &Path, options: &[&str]) -> Traced {
    let mut command = strace(log);
    command.args(["bonnie++", "-u", "root", "-r", "0", "-q", "-m", "test", "-d"]);
    command.arg(directory).args(options).stdout(Stdio::null()).stderr(Stdio::null());
    let status = command.status().expect("strace starts");
    assert!(status.success(), "bonnie++ {options:?}: {status}");
    read_log(log, &directory.join("Bonnie."))
}

fn worker(directory: &Path, log: &Path, params: Value) -> Traced {
    let spec = spec("files", params, directory);
    let mut command = strace(log);
    command
        .args([env!("CARGO_BIN_EXE_pickfs"), WORKER])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut started = command.spawn().expect("strace starts");
    let mut input = started.stdin.take().expect("piped");
    writeln!(input, "{}\ngo", serde_json::to_string(&spec).expect("JSON")).expect("it reads");
    let output = started.wait_with_output().expect("it ends");
    drop(input);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("\"finished\""), "the worker said: {said}");
    assert!(!said.contains("\"Failed\"") && !said.contains("not verified"), "{said}");
    read_log(log, &directory.join("lane-1/pickfs-files"))
}

fn read_log(log: &Path, scratch: &Path) -> Traced {
    let text = String::from_utf8_lossy(&std::fs::read(log).expect("a log")).into_owned();
    read(&text, &scratch.to_string_lossy())
}

fn assert_same(what: &str, theirs: &[String], ours: &[String]) {
    let differs = (0..theirs.len().max(ours.len())).find(|&at| theirs.get(at) != ours.get(at));
    let Some(at) = differs else { return };
    let around = |all: &[String]| {
        let from = at.saturating_sub(3).min(all.len());
        all[from..(at + 4).min(all.len())].join("\n  ")
    };
    panic!(
        "{what}: operation {at} of {} and {} differs\nbonnie++:\n  {}\nours:\n  {}",
        theirs.len(),
        ours.len(),
        around(theirs),
        around(ours),
    );
}

fn assert_equal(theirs: &Traced, ours: &Traced, phase_count: usize) {
    let (their_phases, our_phases) = (phases(&kept(&theirs.main)), phases(&kept(&ours.main)));
    for ((name, their_phase), (_, our_phase)) in their_phases.iter().zip(&our_phases) {
        assert_same(name, their_phase, our_phase);
    }
    assert_eq!((their_phases.len(), our_phases.len()), (phase_count, phase_count));
    let others = |traced: &Traced| -> Vec<Vec<String>> {
        traced.others.iter().map(|operations| kept(operations)).collect()
    };
    let (their_tickets, their_rest) = tickets(&others(theirs));
    let (our_tickets, our_rest) = tickets(&others(ours));
    assert_same("seeks", &their_tickets, &our_tickets);
    assert_eq!(their_rest, our_rest, "what seekers do beside their tickets");
    assert_eq!(removals(theirs), removals(ours), "how often the file is removed");
}

const REMOVAL: &str = "unlink S";

/// Without the removals of the one file: whichever thread comes first removes it after the seeks.
fn kept(operations: &[String]) -> Vec<String> {
    operations.iter().filter(|operation| *operation != REMOVAL).cloned().collect()
}

fn removals(traced: &Traced) -> usize {
    let all = traced.others.iter().flatten().chain(&traced.main);
    all.filter(|operation| *operation == REMOVAL).count()
}

/// The file made for the characters and left empty, block write, rewrite, block read, the first
/// thread's part of the seeks, and twice create, stat and delete.
const PHASES_WITHOUT_CHARACTERS: usize = 5 + 6;

#[test]
fn with_a_sync_each_all_calls_are_those_of_bonnie() {
    only_if!(may_run(&["strace", "bonnie++"]));
    let options = ["-s", "4:8k:100:3", "-n", "1:5000:100:2", "-f", "-b", "-z", "42"];
    let params = json!({
        "profile": "bonnie", "size": "4MiB", "seeks": 100, "seekers": 3, "files": 1024,
        "file_max": 5000, "file_min": 100, "directories": 2, "char_size": 0, "fsync": "each",
        "seed": 42,
    });
    let (theirs, ours) = both(&options, params);
    assert_equal(&theirs, &ours, PHASES_WITHOUT_CHARACTERS);
    let syncs = theirs.main.iter().filter(|operation| operation.starts_with("fsync S/")).count();
    assert!(syncs > 4000, "{syncs} syncs of files and directories");
    assert_eq!(tickets(&theirs.others).0.len(), 100);
}

#[test]
fn a_block_that_another_seeker_writes_may_be_read_before_or_after() {
    let seeker = |seen: &str, and: &str| -> Vec<String> {
        let text = format!("lseek S 8192 SEEK_SET, read S 8192 {seen}{and}");
        text.split(", ").map(str::to_owned).collect()
    };
    let update = ", lseek S 8192 SEEK_SET, write S 8192 new";
    let before = tickets(&[seeker("old", ""), seeker("old", update)]);
    let after = tickets(&[seeker("old", update), seeker("new", "")]);
    assert_eq!(before, after);
    let (alone, other) = (tickets(&[seeker("old", update)]), tickets(&[seeker("else", update)]));
    assert_ne!(alone, other, "with one visitor the bytes are compared");
    let (twice, other) = ([seeker("old", ""), seeker("old", "")], [seeker("old", ""), vec![]]);
    assert_ne!(tickets(&twice), tickets(&other));
    assert!(tickets(&twice).0[0].ends_with("old"), "where nobody writes, too");
}

#[test]
fn links_and_direct_writes_too() {
    only_if!(may_run(&["strace", "bonnie++"]));
    for (max, content) in [("1:-1", "hard-links"), ("1:-2", "symbolic-links")] {
        let options = ["-s", "0", "-n", max, "-b", "-z", "3"];
        let params = json!({
            "profile": "bonnie", "size": 0, "files": 1024, "content": content, "fsync": "each",
            "seed": 3,
        });
        let (theirs, ours) = both(&options, params);
        assert_equal(&theirs, &ours, 6);
    }
    let options = ["-s", "1:64k:50:1", "-n", "0", "-f", "-D", "-z", "9"];
    let params = json!({
        "profile": "bonnie", "size": "1MiB", "chunk": "64KiB", "seeks": 50, "seekers": 1,
        "files": 0, "char_size": 0, "direct": "write", "seed": 9,
    });
    let (theirs, ours) = both(&options, params);
    assert_equal(&theirs, &ours, 5);
}
