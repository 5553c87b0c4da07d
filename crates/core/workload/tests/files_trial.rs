#![allow(clippy::unwrap_used)]

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
};

use pickfs_record::{OpRecord, Outcome, PhaseRecord};
use pickfs_testkit::{fake_spec, params as params_of};
use pickfs_workload::{Fault, Measured, Session, find};
use serde_json::{Value, json};

fn session(directory: &Path, params: Value) -> Session {
    Session::new(fake_spec("files", directory, params_of(params)), None).unwrap()
}

fn trial(directory: &Path, params: Value) -> Result<(Measured, u64), Fault> {
    let session = session(directory, params);
    let mut prepared = find("files").unwrap().make_ready(&session)?;
    let measured = prepared.measure(&session)?;
    let checked = prepared.verify(&session)?;
    Ok((measured, checked))
}

fn row<'a>(measured: &'a Measured, phase: &str) -> &'a PhaseRecord {
    measured.phases.iter().find(|row| row.phase == phase).unwrap()
}

fn operations(measured: &Measured, op: &str) -> u64 {
    let of = |operations: &&OpRecord| operations.op == op;
    measured.ops.iter().find(of).map_or(0, |operations| operations.service.count)
}

fn all_below(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(all_below(&path));
        }
        found.push(path);
    }
    found
}

#[test]
fn every_phase_has_a_row_and_its_operations_their_operations() {
    let folder = tempfile::tempdir().unwrap();
    let params = json!({
        "scale": "tiny", "seeks": 300, "seekers": 3, "files": 300, "file_min": 10,
        "file_max": 9000, "directories": 2, "fsync": "each", "saves": 5,
    });
    let asked = find("files").unwrap().validate(params.as_object().unwrap()).unwrap();
    let ops = (find("files").unwrap().ops)(&asked);
    let (measured, checked) = trial(folder.path(), params).unwrap();
    assert_eq!(measured.phases.len(), 18);
    for row in &measured.phases {
        let record = row;
        assert_eq!(record.outcome, Outcome::Finished, "{}", record.phase);
        assert!(record.work > 0.0 && record.rate_per_s > 0.0 && record.elapsed_ns > 0);
        assert!(record.values["latency_max_ns"] > 0.0, "{}", record.phase);
        assert!(ops.contains(&record.phase), "{} is not in the list for plans", record.phase);
    }
    assert!(measured.ops.iter().all(|operations| ops.contains(&operations.op)));
    assert_eq!(row(&measured, "block write").work, f64::from(4 << 20));
    assert_eq!(row(&measured, "seeks").threads, 3);
    assert_eq!(operations(&measured, "block write"), 512);
    assert_eq!(
        (operations(&measured, "rewrite: read"), operations(&measured, "rewrite: write")),
        (512, 512)
    );
    assert_eq!((operations(&measured, "char write"), operations(&measured, "char read")), (8, 8));
    assert_eq!(operations(&measured, "seeks: read"), 300);
    assert_eq!(operations(&measured, "seeks: update"), operations(&measured, "seeks: fsync"));
    for kind in ["create", "write", "fsync", "fsync directory", "close"] {
        assert_eq!(operations(&measured, &format!("seq create: {kind}")), 300, "{kind}");
    }
    assert_eq!(
        (operations(&measured, "ran stat: stat"), operations(&measured, "ran stat: read")),
        (300, 300)
    );
    assert_eq!(operations(&measured, "ran delete: fsync directory"), 300);
    assert_eq!((operations(&measured, "rename"), operations(&measured, "link")), (300, 300));
    assert_eq!(
        (operations(&measured, "mkdir"), operations(&measured, "safe save: fsync")),
        (300, 5)
    );
    // Closing is not part of the rename: FUSE and networks may write there.
    assert_eq!(
        (operations(&measured, "safe save: close"), operations(&measured, "safe save: rename")),
        (5, 5)
    );
    // 8 chunks of the block read, a share of the seeks, all files twice in stat and once in readdir.
    assert!(checked >= 8 + 300 / 16 + 3 * 300, "{checked}");
    assert!(all_below(folder.path()).is_empty());
}

#[test]
fn updates_are_those_that_the_stream_asks_for() {
    let folder = tempfile::tempdir().unwrap();
    let params = json!({
        "profile": "bonnie", "scale": "tiny", "settle": 0, "seeks": 8192, "files": 0,
        "char_size": 0, "size": "4MiB", "seed": 42,
    });
    let (measured, _) = trial(folder.path(), params).unwrap();
    // Counted with the C library: numbers that end in 0 among the first 8192 of seed 42.
    assert_eq!(
        (operations(&measured, "seeks: read"), operations(&measured, "seeks: update")),
        (8192, 822)
    );
}

/// The first seeker that ends removes the file; those that a busy machine lets open it last must have it by then.
#[test]
fn a_seeker_that_comes_late_finds_the_file() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..3 {
        let params = json!({
            "profile": "bonnie", "scale": "tiny", "settle": 0, "seeks": 1, "seekers": 64,
            "files": 0, "char_size": 0, "size": "1MiB",
        });
        let (measured, _) = trial(folder.path(), params).unwrap();
        assert_eq!(row(&measured, "seeks").outcome, Outcome::Finished);
    }
}

#[test]
fn a_foreign_file_stays_and_the_trial_goes_on() {
    for profile in ["modern", "bonnie"] {
        let folder = tempfile::tempdir().unwrap();
        let outside = folder.path().join("outside");
        fs::write(&outside, "theirs").unwrap();
        let is_over = AtomicBool::new(false);
        let params = json!({
            "profile": profile, "scale": "tiny", "settle": 0, "size": 0, "files": 2000,
            "directories": 2,
        });
        let (measured, intruded) = thread::scope(|scope| {
            let intruder = scope.spawn(|| intrude(&folder.path().join("lane-1"), &is_over));
            let measured = trial(folder.path(), params);
            is_over.store(true, Relaxed);
            (measured, intruder.join().unwrap())
        });
        let (measured, _) = measured.unwrap();
        let failed: Vec<_> = measured.phases.iter().filter(|row| !row.is_finished()).collect();
        assert!(failed.is_empty(), "{failed:?}");
        assert!(!intruded.is_empty(), "the intruder came too late");
        for path in intruded.iter().chain([&outside]) {
            assert_eq!(fs::read(path).unwrap(), b"theirs", "{}", path.display());
        }
        let files = all_below(folder.path()).into_iter().filter(|path| path.is_file()).count();
        assert_eq!(files, intruded.len() + 1, "only theirs are left");
        let flags = measured.phases.iter().flat_map(|row| &row.flags);
        assert!(flags.clone().any(|flag| flag.kind == "foreign-files"), "{profile}");
    }
}

/// Puts one file into each directory of many files that it sees, under a name like ours.
fn intrude(lane: &Path, is_over: &AtomicBool) -> Vec<PathBuf> {
    let mut done = Vec::new();
    while !is_over.load(Relaxed) {
        for place in ["pickfs-files/00000", "pickfs-files/00001"] {
            let path = lane.join(place).join("0000000001theirs");
            if done.contains(&path) {
                continue;
            }
            let made = fs::OpenOptions::new().write(true).create_new(true).open(&path);
            if made.is_ok() && fs::write(&path, "theirs").is_ok() {
                done.push(path);
            }
        }
    }
    done
}

#[test]
fn names_that_are_taken_are_left_to_who_has_them() {
    let folder = tempfile::tempdir().unwrap();
    let lane = folder.path().join("lane-1");
    fs::create_dir(&lane).unwrap();
    fs::write(lane.join("pickfs-files"), "theirs").unwrap();
    let error = trial(folder.path(), json!({ "scale": "tiny" })).unwrap_err().to_string();
    assert!(error.contains("File exists"), "{error}");
    assert_eq!(fs::read(lane.join("pickfs-files")).unwrap(), b"theirs");
}

#[test]
fn what_cannot_be_done_here_is_skipped_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let params = json!({ "scale": "tiny", "size": "1TiB", "files": 20 });
    let (measured, _) = trial(folder.path(), params).unwrap();
    let Outcome::Skipped { reason } = &row(&measured, "block write").outcome else {
        panic!("{:?}", row(&measured, "block write").outcome);
    };
    assert!(reason.contains("are free for a lane"), "{reason}");
    assert!(row(&measured, "seq create").is_finished());
    assert!(all_below(folder.path()).is_empty());
}
