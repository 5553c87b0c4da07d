//! Truncated, foreign and damaged files are refused with file, offset and reason, and no damage makes a message
//! that was not appended.

use std::fs;
use std::path::{Path, PathBuf};

use pickfs_queue::{DamageKind, Error, Queue, Result};
use proptest::prelude::*;

use crate::{payload, small};

const COUNT: u64 = 120;

fn make(dir: &Path) {
    let mut appender = Queue::create(dir, small()).unwrap().appender().unwrap();
    for sequence in 1..=COUNT {
        appender.append_at(&payload(sequence, 2000), sequence).unwrap();
    }
}

fn segment(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:010}.segment"))
}

/// Until nothing comes for long enough that damage would have been looked for.
fn read_all(dir: &Path) -> Result<u64> {
    let queue = Queue::open_read_only(dir)?;
    let mut tailer = queue.tailer()?;
    let (mut count, mut last) = (0, 0);
    let mut empty = 0;
    while empty < 70_000 {
        match tailer.poll()? {
            Some(message) => {
                assert!(message.sequence > last);
                assert_eq!(message.payload, payload(message.sequence, 2000));
                last = message.sequence;
                count += 1;
            }
            None => empty += 1,
        }
    }
    Ok(count)
}

fn damage_of(result: Result<u64>) -> (PathBuf, u64, DamageKind) {
    match result {
        Err(Error::Damage(damage)) => (damage.path, damage.offset_bytes, damage.kind),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_truncated_segment_is_refused_where_it_was_cut() {
    let dir = tempfile::tempdir().unwrap();
    make(dir.path());
    let path = segment(dir.path(), 1);
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_len(20_000).unwrap();
    let (found, offset_bytes, kind) = damage_of(read_all(dir.path()));
    assert_eq!((found, kind), (path, DamageKind::Cut { length_bytes: 20_000 }));
    assert_eq!(offset_bytes, 20_000);
    file.set_len(100).unwrap();
    assert_eq!(damage_of(read_all(dir.path())).2, DamageKind::Cut { length_bytes: 100 });
    file.set_len(10).unwrap();
    assert_eq!(damage_of(read_all(dir.path())).1, 0);
}

#[test]
fn a_hole_before_a_later_segment_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    make(dir.path());
    let path = segment(dir.path(), 1);
    let file = fs::File::options().write(true).open(&path).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &[0; 40_000], 20_000).unwrap();
    let (_, offset_bytes, kind) = damage_of(read_all(dir.path()));
    assert!(offset_bytes >= 16_000, "{offset_bytes}");
    assert!(matches!(kind, DamageKind::Blank | DamageKind::Checksum(_)), "{kind}");
}

#[test]
fn a_segment_of_another_queue_is_foreign() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    make(dir.path());
    make(other.path());
    fs::copy(segment(other.path(), 2), segment(dir.path(), 2)).unwrap();
    let error = read_all(dir.path()).unwrap_err().to_string();
    assert!(error.contains("belongs to another queue"), "{error}");
    fs::copy(segment(dir.path(), 1), segment(dir.path(), 2)).unwrap();
    let error = read_all(dir.path()).unwrap_err().to_string();
    assert!(error.contains("says segment 1"), "{error}");
    fs::write(segment(dir.path(), 2), vec![b'x'; 70_000]).unwrap();
    let error = read_all(dir.path()).unwrap_err().to_string();
    assert!(error.contains("does not begin as"), "{error}");
}

#[test]
fn a_missing_segment_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    make(dir.path());
    fs::remove_file(segment(dir.path(), 2)).unwrap();
    assert_eq!(damage_of(read_all(dir.path())).2, DamageKind::Missing);
}

#[test]
fn a_control_file_of_something_else_is_foreign() {
    let dir = tempfile::tempdir().unwrap();
    make(dir.path());
    fs::write(dir.path().join("queue.control"), [b'y'; 30_000]).unwrap();
    assert!(matches!(read_all(dir.path()), Err(Error::Foreign { .. })));
}

#[derive(Debug, Clone)]
enum Harm {
    Overwrite(u64, u64, Vec<u8>),
    Truncate(u64, u64),
    Swap(u64, u64),
}

fn harm() -> impl Strategy<Value = Harm> {
    let bytes = prop::collection::vec(any::<u8>(), 1..64);
    prop_oneof![
        6 => (1u64..4, 0u64..65_536, bytes).prop_map(|(file, at, bytes)| Harm::Overwrite(file, at, bytes)),
        2 => (1u64..4, 0u64..65_536).prop_map(|(file, length)| Harm::Truncate(file, length)),
        1 => (1u64..4, 1u64..4).prop_map(|(one, other)| Harm::Swap(one, other)),
    ]
}

fn inflict(dir: &Path, harm: &Harm) {
    let open = |number| fs::File::options().write(true).open(segment(dir, number)).unwrap();
    match harm {
        Harm::Overwrite(number, at, bytes) => {
            std::os::unix::fs::FileExt::write_all_at(&open(*number), bytes, *at).unwrap();
        }
        Harm::Truncate(number, length) => open(*number).set_len(*length).unwrap(),
        Harm::Swap(one, other) => {
            let held = dir.join("held");
            fs::rename(segment(dir, *one), &held).unwrap();
            if one != other {
                fs::rename(segment(dir, *other), segment(dir, *one)).unwrap();
            }
            fs::rename(&held, segment(dir, *other)).unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// `read_all` compares every payload; here it must come to an end, by an error or with a part of them.
    #[test]
    fn no_harm_makes_a_message_or_a_panic(harms in prop::collection::vec(harm(), 1..4)) {
        let dir = tempfile::tempdir().unwrap();
        make(dir.path());
        harms.iter().for_each(|harm| inflict(dir.path(), harm));
        if let Ok(count) = read_all(dir.path()) {
            prop_assert!(count <= COUNT);
        }
        // An appender refuses or goes on; what it appends is found, or damage before it is told.
        if let Ok(mut appender) = Queue::open(dir.path(), small()).and_then(|queue| queue.appender()) {
            let next = appender.next_sequence();
            let _ = appender.append_at(&payload(next, 2000), next);
        }
        let _ = read_all(dir.path());
    }
}
