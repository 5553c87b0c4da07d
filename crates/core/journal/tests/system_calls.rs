//! An append is one system call (two for seek-write, none for mmap), and a sync is one more: counted by
//! strace on a child, which is this test program again. Needs strace.
#![allow(clippy::unwrap_used)]

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use pickfs_journal::{Journal, Options, Preallocation, Sync, WritePath};
use pickfs_testkit::skipped;

const DIR: &str = "JOURNAL_TEST_DIR";
const PATH: &str = "JOURNAL_TEST_PATH";
const SYNC: &str = "JOURNAL_TEST_SYNC";
const APPENDS: usize = 50;

fn has_strace() -> bool {
    let found =
        Command::new("strace").arg("-V").output().is_ok_and(|output| output.status.success());
    found || skipped("strace not found; install it")
}

/// Does nothing in a normal run; as the child it appends between two marks.
#[test]
fn child() {
    let Ok(dir) = std::env::var(DIR) else {
        return;
    };
    let options = Options {
        write_path: std::env::var(PATH).unwrap().parse().unwrap(),
        sync: std::env::var(SYNC).unwrap().parse().unwrap(),
        preallocation: Preallocation::Fallocate,
        file_bytes: 1 << 20,
        ..Options::default()
    };
    let mut marks = OpenOptions::new().write(true).open("/dev/null").unwrap();
    let mut journal = Journal::create(dir, options).unwrap();
    marks.write_all(b"BEGIN").unwrap();
    for _ in 0..APPENDS {
        journal.append(&[7; 256]).unwrap();
    }
    marks.write_all(b"END").unwrap();
}

fn calls(write_path: WritePath, sync: Sync) -> Vec<String> {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let log = dir.path().join("log");
    let status = Command::new("strace")
        .args(["-f", "-qq", "-o"])
        .arg(&log)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--test-threads=1"])
        .env(DIR, dir.path().join("journal"))
        .env(PATH, write_path.to_string())
        .env(SYNC, sync.to_string())
        .output()
        .unwrap();
    assert!(status.status.success(), "{status:?}");
    between_marks(&log)
}

fn between_marks(log: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(log).unwrap();
    let begin = text.lines().find(|line| line.contains("\"BEGIN\"")).unwrap();
    let thread = begin.split_whitespace().next().unwrap();
    let own = text.lines().filter(|line| line.split_whitespace().next() == Some(thread));
    own.skip_while(|line| !line.contains("\"BEGIN\""))
        .skip(1)
        .take_while(|line| !line.contains("\"END\""))
        .filter(|line| !line.contains("resumed>"))
        .map(|line| line[thread.len()..].trim_start().split('(').next().unwrap().to_owned())
        .collect()
}

fn check(write_path: WritePath, sync: Sync, wanted: &[&str]) {
    let seen = calls(write_path, sync);
    assert_eq!(seen, wanted.repeat(APPENDS), "{write_path} {sync}");
}

#[test]
fn an_append_is_one_call_and_a_sync_is_one_more() {
    if !has_strace() {
        return;
    }
    check(WritePath::Pwrite, Sync::None, &["pwrite64"]);
    check(WritePath::Pwrite, Sync::Fdatasync, &["pwrite64", "fdatasync"]);
    check(WritePath::Pwrite, Sync::RwfDsync, &["pwritev2"]);
    check(WritePath::Pwrite, Sync::ODsync, &["pwrite64"]);
    check(WritePath::Pwrite, Sync::SyncFileRange, &["pwrite64", "sync_file_range"]);
    check(WritePath::Append, Sync::None, &["write"]);
    check(WritePath::SeekWrite, Sync::None, &["lseek", "write"]);
    check(WritePath::Pwritev, Sync::None, &["pwritev"]);
    check(WritePath::Mmap, Sync::None, &[]);
    check(WritePath::Mmap, Sync::Msync, &["msync"]);
    check(WritePath::Direct, Sync::None, &["pwrite64"]);
    check(WritePath::IoUring, Sync::None, &["io_uring_enter"]);
    check(WritePath::IoUring, Sync::Fdatasync, &["io_uring_enter", "io_uring_enter"]);
}
