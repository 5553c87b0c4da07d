//! Torn tails are cut and reported; damage in the middle is an error with file and offset, never silence.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use pickfs_journal::layout::{FILE_HEADER_BYTES, record_bytes};
use pickfs_journal::{
    DamageKind, Error, Holes, Journal, Options, Preallocation, Recovery, SyncEvery, inspect,
    recover, recover_with,
};
use proptest::prelude::*;
use tempfile::TempDir;

use crate::read;

const PAYLOAD_BYTES: usize = 100;

fn options() -> Options {
    Options {
        file_bytes: 8192,
        buffer_bytes: 8192,
        preallocation: Preallocation::None,
        ..Options::default()
    }
}

fn journal_of(records: u64, options: Options) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut journal = Journal::create(dir.path(), options).unwrap();
    for sequence in 1..=records {
        journal.append(&[sequence as u8; PAYLOAD_BYTES]).unwrap();
    }
    dir
}

fn file(dir: &TempDir, index: u64) -> PathBuf {
    dir.path().join(format!("{index:010}.journal"))
}

fn edit(path: &Path) -> File {
    OpenOptions::new().read(true).write(true).open(path).unwrap()
}

fn offset_of(sequence: u64) -> u64 {
    FILE_HEADER_BYTES + (sequence - 1) * record_bytes(PAYLOAD_BYTES) as u64
}

fn flip(path: &Path, offset: u64) {
    let file = edit(path);
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset).unwrap();
    file.write_all_at(&[byte[0] ^ 1], offset).unwrap();
}

fn damage(error: Error) -> pickfs_journal::Damage {
    match error {
        Error::Damage(damage) => *damage,
        other => panic!("not damage: {other}"),
    }
}

fn seen(dir: &TempDir) -> Vec<u64> {
    let mut seen = Vec::new();
    let _ = read(dir.path(), 1, |record| seen.push(record.sequence));
    seen
}

#[test]
fn a_flipped_bit_in_the_middle_is_damage_with_its_offset_for_recovery_and_replay() {
    let dir = journal_of(10, options());
    flip(&file(&dir, 1), offset_of(5) + 60);
    let found = damage(recover(dir.path()).unwrap_err());
    assert_eq!((found.file.as_str(), found.offset_bytes), ("0000000001.journal", offset_of(5)));
    assert_eq!((found.kind, found.expected_sequence), (DamageKind::Checksum, 5));
    assert_eq!((found.later.count, found.later.first_sequence), (5, Some(6)));
    assert!(found.later.prove_durable(5));
    assert_eq!(damage(read(dir.path(), 1, |_| {}).unwrap_err()), found);
    assert_eq!(seen(&dir), [1, 2, 3, 4]);
    // It was synced, so not even the lenient way cuts it, and opening does not write.
    assert_eq!(damage(recover_with(dir.path(), Holes::CutUnsynced).unwrap_err()), found);
    assert!(matches!(Journal::open(dir.path(), options()), Err(Error::Damage(_))));
    let message = Error::Damage(Box::new(found)).to_string();
    assert!(message.contains("5 whole records follow from 6 on; it had been synced"), "{message}");
}

#[test]
fn a_hole_in_what_was_never_synced_is_refused_at_first_and_cut_when_told_so() {
    let dir = journal_of(10, Options { sync_every: SyncEvery::GroupCommit, ..options() });
    flip(&file(&dir, 1), offset_of(5));
    let refused = damage(recover(dir.path()).unwrap_err());
    assert!(!refused.later.prove_durable(5));
    assert!(refused.to_string().ends_with("recover with Holes::CutUnsynced"));
    let torn = recover_with(dir.path(), Holes::CutUnsynced).unwrap().torn_tail.unwrap();
    assert_eq!((torn.offset_bytes, torn.records_cut), (offset_of(5), 5));
    assert_eq!(recover(dir.path()).unwrap().last_sequence, 4);
    assert_eq!(seen(&dir), [1, 2, 3, 4]);
}

#[test]
fn half_a_last_record_is_a_torn_tail_and_is_cut_once() {
    for kept in [1, 23, 24, 60, 123] {
        let dir = journal_of(3, options());
        edit(&file(&dir, 1)).set_len(offset_of(3) + kept).unwrap();
        assert_eq!(inspect(dir.path()).unwrap(), inspect(dir.path()).unwrap());
        let recovery = recover(dir.path()).unwrap();
        let torn = recovery.torn_tail.unwrap();
        assert_eq!((recovery.records, recovery.last_sequence), (2, 2));
        assert_eq!((torn.offset_bytes, torn.records_cut), (offset_of(3), 0));
        assert!(torn.bytes_cut <= kept && torn.bytes_cut > 0);
        assert_eq!(recover(dir.path()).unwrap().torn_tail, None);
        let mut journal = Journal::open(dir.path(), options()).unwrap();
        assert_eq!(journal.append(b"next").unwrap().sequence, 3);
        assert_eq!(seen(&dir), [1, 2, 3]);
    }
}

#[test]
fn a_missing_file_in_the_middle_is_damage_at_the_end_of_the_one_before() {
    let dir = journal_of(100, options());
    std::fs::remove_file(file(&dir, 2)).unwrap();
    let found = damage(recover(dir.path()).unwrap_err());
    assert_eq!(found.file, "0000000001.journal");
    assert_eq!(found.offset_bytes, offset_of(found.expected_sequence));
    assert_eq!(found.later.first_sequence, Some(2 * (found.expected_sequence - 1) + 1));
    assert!(read(dir.path(), 1, |_| {}).is_err());
}

#[test]
fn missing_files_at_the_front_are_retired_ones() {
    let dir = journal_of(100, options());
    let per_file = recover(dir.path()).unwrap().records / 3;
    std::fs::remove_file(file(&dir, 1)).unwrap();
    let recovery = recover(dir.path()).unwrap();
    assert_eq!((recovery.last_sequence, recovery.torn_tail), (100, None));
    assert!(recovery.first_sequence > 1 && recovery.first_sequence <= per_file + 1);
}

#[test]
fn a_wrong_file_header_is_damage() {
    let dir = journal_of(100, options());
    flip(&file(&dir, 2), 40);
    let found = damage(recover_with(dir.path(), Holes::CutUnsynced).unwrap_err());
    assert_eq!((found.file.as_str(), found.kind), ("0000000002.journal", DamageKind::FileHeader));
    edit(&file(&dir, 2)).write_all_at(&[0; 4096], 0).unwrap();
    let found = damage(recover(dir.path()).unwrap_err());
    assert_eq!((found.file.as_str(), found.kind), ("0000000002.journal", DamageKind::FileHeader));
}

#[test]
fn empty_and_zeroed_files_at_the_end_are_unused() {
    let dir = journal_of(3, options());
    File::create(file(&dir, 2)).unwrap();
    File::create(file(&dir, 3)).unwrap().set_len(8192).unwrap();
    let Recovery { records, unused_files, torn_tail, .. } = recover(dir.path()).unwrap();
    assert_eq!((records, unused_files, torn_tail), (3, 2, None));
    let journal = Journal::open(dir.path(), options()).unwrap();
    assert_eq!(journal.file_name(), "0000000004.journal");
    assert!(!file(&dir, 2).exists());
}

#[test]
fn foreign_files_are_refused_with_the_reason() {
    let refusal = |prepare: &dyn Fn(&TempDir)| {
        let dir = journal_of(3, options());
        prepare(&dir);
        recover(dir.path()).unwrap_err().to_string()
    };
    let text = refusal(&|dir| std::fs::write(file(dir, 2), b"a letter to my aunt").unwrap());
    assert!(
        text.starts_with("0000000002.journal is not a file of this journal: it does not"),
        "{text}"
    );
    let text = refusal(&|dir| std::fs::write(file(dir, 2), [b'x'; 5000]).unwrap());
    assert!(text.contains("it does not start with the mark of a journal file"), "{text}");
    let text = refusal(&|dir| std::fs::write(dir.path().join("7.journal"), b"").unwrap());
    assert!(text.contains("its name is not ten digits"), "{text}");
    let text = refusal(&|dir| {
        let other = journal_of(3, options());
        let second = Journal::open(other.path(), options()).unwrap();
        std::fs::copy(other.path().join(second.file_name()), file(dir, 2)).unwrap();
    });
    assert!(text.contains("it belongs to another journal"), "{text}");
}

#[test]
fn a_directory_has_one_writer_and_one_journal() {
    let dir = journal_of(1, options());
    let first = Journal::open(dir.path(), options()).unwrap();
    assert!(matches!(Journal::open(dir.path(), options()), Err(Error::Busy { .. })));
    assert!(matches!(recover(dir.path()), Err(Error::Busy { .. })));
    drop(first);
    assert!(matches!(Journal::create(dir.path(), options()), Err(Error::Exists { .. })));
    let nowhere = Journal::open(dir.path().join("nowhere"), options()).err().unwrap();
    assert!(nowhere.to_string().starts_with("open "), "{nowhere}");
}

#[test]
fn a_record_that_can_never_fit_is_refused_and_the_next_one_goes_in() {
    let dir = tempfile::tempdir().unwrap();
    let mut journal = Journal::create(dir.path(), options()).unwrap();
    let longest = journal.payload_bytes_max();
    let error = journal.append(&vec![1; longest + 1]).unwrap_err();
    assert!(
        matches!(error, Error::TooLarge { limit_bytes, .. } if limit_bytes == longest),
        "{error}"
    );
    assert_eq!(journal.append(&vec![1; longest]).unwrap().sequence, 1);
    assert_eq!(journal.append(b"").unwrap().sequence, 2);
    assert_eq!(seen(&dir), [1, 2]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_flipped_byte_is_reported_or_cuts_only_the_last_record(position in 0..20_000u64, records in 2..60u64) {
        let dir = journal_of(records, options());
        let files: Vec<_> = (1..=3).map(|index| file(&dir, index)).filter(|path| path.exists()).collect();
        let path = &files[(position % files.len() as u64) as usize];
        let length = path.metadata().unwrap().len();
        flip(path, position % length);
        match recover(dir.path()) {
            Err(Error::Damage(_) | Error::Foreign { .. }) => {}
            Ok(recovery) => {
                let cut = recovery.torn_tail.is_some();
                // Padding and the unused rest of the header carry nothing.
                prop_assert_eq!(recovery.last_sequence, records - u64::from(cut));
            }
            Err(other) => prop_assert!(false, "{}", other),
        }
    }

    #[test]
    fn any_truncation_keeps_a_prefix_of_whole_records(length in 0..8192u64, records in 1..25u64) {
        let dir = journal_of(records, options());
        let had = file(&dir, 1).metadata().unwrap().len();
        let kept = length.min(had);
        edit(&file(&dir, 1)).set_len(kept).unwrap();
        // A record is whole without its padding.
        let padding = record_bytes(PAYLOAD_BYTES) as u64 - 24 - PAYLOAD_BYTES as u64;
        let whole = (kept + padding).saturating_sub(FILE_HEADER_BYTES) / record_bytes(PAYLOAD_BYTES) as u64;
        prop_assert_eq!(recover(dir.path()).unwrap().last_sequence, whole);
        prop_assert_eq!(seen(&dir).len() as u64, whole);
    }

    #[test]
    fn any_bytes_at_all_are_read_without_a_panic(
        garbage in prop::collection::vec((0..9000usize, prop::collection::vec(any::<u8>(), 1..200)), 0..6),
        copies in prop::collection::vec((0..9000usize, 0..9000usize, 1..400usize), 0..6),
        records in 0..80u64,
    ) {
        let dir = journal_of(records, options());
        let path = file(&dir, 1);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.resize(9400, 0);
        for (at, new) in garbage {
            bytes[at..at + new.len()].copy_from_slice(&new);
        }
        for (from, to, length) in copies {
            bytes.copy_within(from..from + length, to);
        }
        std::fs::write(&path, &bytes).unwrap();
        let whole = inspect(dir.path());
        let _ = read(dir.path(), 1, |_| {});
        if let Ok(found) = recover_with(dir.path(), Holes::CutUnsynced) {
            prop_assert!(found.last_sequence <= records);
            prop_assert_eq!(recover(dir.path()).unwrap().last_sequence, found.last_sequence);
        }
        if let Ok(found) = whole {
            prop_assert!(found.last_sequence <= records);
        }
    }
}
