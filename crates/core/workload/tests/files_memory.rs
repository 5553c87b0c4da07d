//! A program of its own, because the high-water mark is the process's.
#![allow(clippy::unwrap_used)]

use std::{fs, path::Path};

use pickfs_testkit::{fake_spec, params};
use pickfs_workload::{Session, find};
use serde_json::json;

const EACH_BYTES: u64 = 40;
/// What the allocator and the kernel round.
const SLACK_BYTES: u64 = 2 << 20;

fn run(directory: &Path, files: u64) {
    let params = params(json!({
        "size": 0, "files": files, "file_max": 1, "directories": 3, "saves": 0,
        "sync_after": "none", "cache": "left",
    }));
    let session = Session::new(fake_spec("files", directory, params), None).unwrap();
    let mut prepared = find("files").unwrap().make_ready(&session).unwrap();
    let measured = prepared.measure(&session).unwrap();
    let failed: Vec<_> = measured.phases.iter().filter(|row| !row.is_finished()).collect();
    assert!(failed.is_empty(), "{failed:?}");
}

fn peak_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

fn grows_by_at_most(few: u64, many: u64) {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    run(folder.path(), few);
    let before = peak_bytes();
    run(folder.path(), many);
    let grown = peak_bytes() - before;
    let allowed = (many - few) * EACH_BYTES + SLACK_BYTES;
    assert!(grown <= allowed, "{grown} bytes more for {} files more", many - few);
}

#[test]
fn thirty_thousand_files_cost_forty_bytes_each_at_most() {
    grows_by_at_most(1_000, 31_000);
}

#[test]
#[ignore = "heavy: a million files in memory, about a gigabyte"]
fn a_million_files_cost_no_more() {
    grows_by_at_most(1_000, 1_001_000);
}
