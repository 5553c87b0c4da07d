//! What is known before is sized; what comes as an error of the kernel is a failed row, and the
//! trial goes on.
#![allow(clippy::unwrap_used)]

use std::{fs, path::Path};

use pickfs_record::{Outcome, PhaseRecord};
use pickfs_sys::mount::{MountRequest, Mounted};
use pickfs_testkit::{fake_spec, may_run, only_if, params as params_of};
use pickfs_workload::{Session, find};
use serde_json::{Value, json};

/// The rows and notes of a trial on a tmpfs; `meanwhile` comes between preparation and measurement.
fn trial(
    options: &str,
    params: Value,
    meanwhile: impl FnOnce(&Path),
) -> (Vec<PhaseRecord>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let request = MountRequest::new("pickfs-test", folder.path(), "tmpfs").options(options);
    let mounted = Mounted::mount(&request).unwrap();
    let session = Session::new(fake_spec("files", folder.path(), params_of(params)), None).unwrap();
    let mut prepared = find("files").unwrap().make_ready(&session).unwrap();
    let notes = prepared.notes();
    meanwhile(folder.path());
    let measured = prepared.measure(&session).unwrap();
    let entries = fs::read_dir(folder.path()).unwrap().flatten();
    let ours: Vec<_> =
        entries.map(|entry| entry.file_name()).filter(|name| name != "hog").collect();
    // What it still holds open would keep the mount.
    drop(prepared);
    mounted.unmount().unwrap();
    assert!(ours.is_empty(), "nothing of ours is left: {ours:?}");
    (measured.phases, notes)
}

fn outcome<'a>(rows: &'a [PhaseRecord], phase: &str) -> &'a Outcome {
    &rows.iter().find(|row| row.phase == phase).unwrap().outcome
}

#[test]
fn a_disk_that_fills_up_is_a_failed_row_and_what_hangs_on_it_is_skipped() {
    only_if!(may_run(&[]));
    let params = json!({ "scale": "tiny", "files": 100, "file_min": 8192, "file_max": 8192 });
    let (rows, _) = trial("size=6m", params, |folder| {
        fs::write(folder.join("hog"), vec![1; 5 << 20]).unwrap();
    });
    let Outcome::Failed { reason } = outcome(&rows, "block write") else { panic!("{rows:?}") };
    assert!(reason.starts_with("write /") && reason.contains("pickfs-files:"), "{reason}");
    assert!(reason.contains("os error 28"), "{reason}");
    for phase in ["rewrite", "char read", "block read", "seeks"] {
        let expected = Outcome::Skipped { reason: "block write failed".into() };
        assert_eq!(outcome(&rows, phase), &expected, "{phase}");
    }
    // 100 files of 8 KiB fit beside the hog: the rest of the trial went on.
    assert_eq!(outcome(&rows, "ran delete"), &Outcome::Finished);
    assert_eq!(outcome(&rows, "safe save"), &Outcome::Finished);
}

#[test]
fn a_create_that_fails_names_the_file_and_leaves_none() {
    only_if!(may_run(&[]));
    let params = json!({ "scale": "tiny", "size": 0, "files": 200 });
    let (rows, _) = trial("size=4m,nr_inodes=300", params, |folder| {
        // Eighty inodes are left: fewer than files.
        fs::create_dir(folder.join("hog")).unwrap();
        for number in 0..220 {
            fs::write(folder.join("hog").join(number.to_string()), "").unwrap();
        }
    });
    let Outcome::Failed { reason } = outcome(&rows, "seq create") else { panic!("{rows:?}") };
    assert!(reason.starts_with("create /") && reason.contains("pickfs-files/0000000"), "{reason}");
    let skipped = Outcome::Skipped { reason: "seq create failed".into() };
    assert_eq!(outcome(&rows, "seq stat"), &skipped);
    assert!(matches!(outcome(&rows, "ran create"), Outcome::Failed { .. }));
    assert_eq!(outcome(&rows, "safe save"), &Outcome::Finished);
}

#[test]
fn files_are_as_many_as_there_are_inodes() {
    only_if!(may_run(&[]));
    let params = json!({ "scale": "tiny", "size": 0, "files": 1000 });
    let (rows, notes) = trial("size=16m,nr_inodes=600", params, |_| {});
    assert!(notes[0].contains("files instead of 1000: tmpfs has no more free inodes"), "{notes:?}");
    let create = rows.iter().find(|row| row.phase == "seq create").unwrap();
    assert!(create.is_finished() && create.work > 400.0 && create.work < 600.0, "{}", create.work);
}
