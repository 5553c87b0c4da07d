//! The child is this very test, asked to make one call.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use pickfs_testkit::skipped;
use pickfs_workload::column::{
    Attribute, Blocks, Handle, Layout, ReadBy, SetHow, Touch, enter, get, open_append, read1,
    replace, set, sync, unkept,
};

const LONGS: Layout = Layout::Longs;
const COUNT: u64 = 20_000;

fn may_trace() -> bool {
    let traced = Command::new("strace").args(["-o", "/dev/null", "true"]).output();
    traced.is_ok_and(|output| output.status.success())
        || skipped("strace is missing or may not trace; apt-get install strace")
}

fn make_call(call: &str, path: &Path) {
    let data = &[7; 4096];
    match call {
        "set" => drop(
            set(path, &header(1 << 19), &vec![7; 4 << 20], SetHow::chunks(1 << 20), &mut unkept)
                .expect("it works"),
        ),
        "open append" => open_append(path, LONGS, data, 512, 1 << 20).expect("it works"),
        "handle append" => {
            let mut handle = Handle::create(path, LONGS).expect("it works");
            (0..2).for_each(|_| handle.append(data).expect("it works"));
        }
        "replace" => replace(path, LONGS, &[0, 511, 5_000], 42).expect("it works"),
        "sync" => sync(&[path], false).expect("it works"),
        "sync by command" => sync(&[path], true).expect("it works"),
        "get" => {
            let touch = Touch { hint: None, stride_bytes: 4096 };
            touch.resident(&get(path, LONGS).expect("it works"), path).expect("it works");
        }
        "read1" => drop(read1(path).expect("it works")),
        "lock" => drop(enter(path, &["a", "b"]).expect("it works")),
        "pread" => read_blocks(path, ReadBy::Pread),
        "mapped" => read_blocks(path, ReadBy::Mapped),
        "mapped per read" => read_blocks(path, ReadBy::MappedPerRead),
        other => panic!("no call {other}"),
    }
}

fn read_blocks(path: &Path, by: ReadBy) {
    let blocks = Blocks::new(vec![path.to_owned()], 500, (3, 38), 1);
    blocks.read(&mut blocks.open(by).expect("it works"), &mut unkept).expect("it works");
}

fn header(count: u64) -> Vec<u8> {
    LONGS.header(Attribute::None, count)
}

#[test]
fn the_traced_child() {
    if let (Ok(call), Some(path)) =
        (env::var("PICKFS_COLUMN_CALL"), env::var_os("PICKFS_COLUMN_FILE"))
    {
        make_call(&call, &PathBuf::from(path));
    }
}

/// `None` where nobody may trace.
fn traced(call: &str, before: &[u8]) -> Option<Vec<String>> {
    if !may_trace() {
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (path, log) = (folder.path().join("column"), folder.path().join("strace"));
    if !before.is_empty() {
        fs::write(&path, before).expect("a file");
    }
    let status = Command::new("strace")
        .args(["-f", "-qq", "-y", "-s", "0", "-P"])
        .arg(&path)
        .args(["-P".into(), format!("{}#", path.display())])
        .arg("-o")
        .arg(&log)
        .arg(env::current_exe().expect("a program"))
        .args(["--exact", "the_traced_child", "--test-threads", "1"])
        .env("PICKFS_COLUMN_CALL", call)
        .env("PICKFS_COLUMN_FILE", &path)
        .output()
        .expect("strace runs");
    assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stdout));
    let text = fs::read_to_string(&log).expect("a log");
    Some(text.lines().filter_map(name_of).collect())
}

/// `write`, or with a word that tells one use of a call from another: `openat CREAT`.
fn name_of(line: &str) -> Option<String> {
    let call = line.split_once(' ').map_or(line, |(_, rest)| rest.trim_start());
    let name = call.split('(').next()?;
    let has = |word: &str| call.contains(word);
    match name {
        "fstat" | "newfstatat" | "statx" | "stat" => Some("stat".into()),
        "fcntl" if has("F_SETLKW") => Some("lock".into()),
        "fcntl" | "execve" | "access" | "readlink" => None,
        "openat" if has("O_APPEND") => Some("openat APPEND".into()),
        "openat" if has("O_CREAT") => Some("openat CREAT".into()),
        "openat" if has("ENOENT") => None,
        "mmap" if has("MAP_SHARED") => Some("mmap SHARED".into()),
        "mmap" if has("MAP_PRIVATE") => Some("mmap PRIVATE".into()),
        name if name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') => Some(name.into()),
        _ => None,
    }
}

fn column() -> Vec<u8> {
    [header(COUNT), vec![1; 8 * COUNT as usize]].concat()
}

fn check(call: &str, before: &[u8], expected: &[&str]) {
    if let Some(found) = traced(call, before) {
        assert_eq!(found, expected, "{call}");
    }
}

#[test]
fn a_new_column_is_written_in_large_calls() {
    let expected = ["openat CREAT", "writev", "write", "write", "write", "write", "close"];
    let Some(mut found) = traced("set", &[]) else { return };
    found.retain(|name| name != "stat");
    assert_eq!(found, expected);
}

#[test]
fn an_existing_column_is_renamed_over() {
    let Some(found) = traced("set", &column()) else { return };
    assert_eq!(found.first().map(String::as_str), Some("stat"));
    assert_eq!(found.last().map(String::as_str), Some("rename"));
    assert!(!found.iter().any(|name| name.contains("sync")), "{found:?}");
}

#[test]
fn an_open_append_opens_seeks_writes_and_closes() {
    check("open append", &[], &["openat CREAT", "stat", "writev", "close"]);
    let again = ["openat CREAT", "stat", "pread64", "lseek", "write", "pwrite64", "close"];
    check("open append", &column(), &again);
}

#[test]
fn a_handle_append_is_one_write() {
    let made = ["openat CREAT", "write", "close"];
    let appended = ["openat APPEND", "write", "write", "close"];
    check("handle append", &[], &[&made[..], &appended[..]].concat());
}

#[test]
fn a_replace_maps_and_stores_and_does_not_sync() {
    check("replace", &column(), &["openat", "pread64", "stat", "mmap SHARED", "close"]);
}

#[test]
fn a_sync_is_an_fsync_of_the_path_by_whoever_does_it() {
    check("sync", &column(), &["openat", "fsync", "close"]);
    check("sync by command", &column(), &["openat", "fsync", "close"]);
}

#[test]
fn reads_map_or_read_as_their_names_say() {
    let mapped = ["openat", "pread64", "stat", "mmap PRIVATE", "close"];
    check("get", &column(), &mapped);
    check("mapped", &column(), &mapped);
    check("mapped per read", &column(), &[mapped; 3].concat());
    check("read1", &column(), &["openat", "stat", "read", "close"]);
    check("pread", &column(), &["openat", "pread64", "pread64", "pread64", "close"]);
}

#[test]
fn a_domain_is_locked_before_it_is_read() {
    let expected = ["openat CREAT", "lock", "stat", "write", "pwrite64", "close"];
    check("lock", &[], &expected);
}
