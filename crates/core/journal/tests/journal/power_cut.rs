//! After a power cut at any operation recovery yields a prefix: every record that a sync covered, no gap,
//! no duplicate, nothing that was not appended. Also: what a failing disk does to a running journal.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::ops::ControlFlow;

use pickfs_journal::crash::{CrashStorage, Fault};
use pickfs_journal::{
    Error, Fallback, Holes, Journal, KeepFiles, Options, Preallocation, Sync, SyncEvery, Way,
    WritePath, compatibility, replay_in,
};
use proptest::prelude::*;

const EIO: i32 = 5;
const ENOSPC: i32 = 28;

#[derive(Debug, Clone, Copy)]
enum Act {
    Append(u16),
    Batch(u8, u16),
    Sync,
    Roll,
    Reopen,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        8 => (0..1500u16).prop_map(Act::Append),
        2 => (1..6u8, 0..900u16).prop_map(|(count, length)| Act::Batch(count, length)),
        2 => Just(Act::Sync),
        1 => Just(Act::Roll),
        1 => Just(Act::Reopen),
    ]
}

fn options() -> impl Strategy<Value = Options> {
    let every = prop_oneof![
        Just(SyncEvery::Record),
        Just(SyncEvery::GroupCommit),
        (2..6u32).prop_map(|count| SyncEvery::Records(NonZeroU32::new(count).unwrap())),
    ];
    let made = prop::sample::select(vec![
        Preallocation::None,
        Preallocation::Precreated,
        Preallocation::Sparse,
        Preallocation::Fallocate,
        Preallocation::ZeroFilled,
        Preallocation::Recycled,
    ]);
    let sync = prop::sample::select(vec![Sync::None, Sync::Fdatasync, Sync::ODsync]);
    let path = prop::sample::select(vec![WritePath::Pwrite, WritePath::Direct]);
    let keep = prop::sample::select(vec![KeepFiles::All, KeepFiles::Last(1), KeepFiles::Last(3)]);
    let all = (every, made, sync, path, keep);
    let made = all.prop_map(|(sync_every, preallocation, sync, write_path, keep_files)| Options {
        sync_every,
        preallocation,
        sync,
        write_path,
        keep_files,
        file_bytes: 12288,
        buffer_bytes: 12288,
        prepare_files: Some(u32::from(preallocation == Preallocation::Precreated)),
        ..Options::default()
    });
    made.prop_filter("options go together", |options| compatibility::check(options).is_ok())
}

#[derive(Debug, Default)]
struct Truth {
    sent: BTreeMap<u64, Vec<u8>>,
    certain: u64,
    salt: u8,
}

impl Truth {
    fn payload(&mut self, length: u16) -> Vec<u8> {
        self.salt = self.salt.wrapping_add(1);
        vec![self.salt; usize::from(length)]
    }

    fn apply(&mut self, journal: &mut Journal<CrashStorage>, act: Act) -> Result<(), Error> {
        let first = journal.written_sequence() + 1;
        let (count, length) = match act {
            Act::Append(length) => (1, length),
            Act::Batch(count, length) => (count, length),
            Act::Sync => return journal.sync().map(|()| self.note(journal)),
            Act::Roll => return journal.roll().map(|()| self.note(journal)),
            Act::Reopen => return Ok(()),
        };
        let payloads: Vec<Vec<u8>> = (0..count).map(|_| self.payload(length)).collect();
        for (sequence, payload) in (first..).zip(&payloads) {
            self.sent.insert(sequence, payload.clone());
        }
        payloads.iter().try_for_each(|payload| journal.encode(payload))?;
        journal.commit_encoded()?;
        self.note(journal);
        Ok(())
    }

    fn note(&mut self, journal: &Journal<CrashStorage>) {
        self.certain = self.certain.max(journal.durable_sequence());
    }

    fn check(&mut self, journal: &Journal<CrashStorage>) {
        let last = journal.recovery().unwrap().last_sequence;
        assert!(last >= self.certain, "recovered up to {last}, synced up to {}", self.certain);
        let mut next = None;
        let replayed = replay_in(journal.storage(), 1, |record| {
            assert_eq!(record.sequence, next.unwrap_or(record.sequence));
            assert_eq!(Some(record.payload), self.sent.get(&record.sequence).map(Vec::as_slice));
            next = Some(record.sequence + 1);
            ControlFlow::Continue(())
        });
        assert_eq!(replayed.unwrap().last_sequence.unwrap_or(last), last);
        self.sent.split_off(&(last + 1));
        // Opening synced what it found.
        self.certain = journal.durable_sequence();
    }
}

fn live(
    disk: &CrashStorage,
    options: &Options,
    acts: &[Act],
    truth: &mut Truth,
) -> Result<(), Error> {
    let mut journal = Journal::open_in(disk.clone(), options.clone(), Holes::CutUnsynced)?;
    truth.check(&journal);
    for act in acts {
        if matches!(act, Act::Reopen) {
            drop(journal);
            journal = Journal::open_in(disk.clone(), options.clone(), Holes::CutUnsynced)?;
            truth.check(&journal);
        }
        truth.apply(&mut journal, *act)?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_power_cut_at_any_operation_leaves_a_prefix_with_all_that_was_synced(
        options in options(),
        rounds in prop::collection::vec((prop::collection::vec(act(), 1..25), 0..80u64, any::<u64>()), 1..4),
    ) {
        let mut truth = Truth::default();
        let mut disk = CrashStorage::new();
        for (acts, freeze_after, seed) in rounds {
            disk.freeze_after(freeze_after);
            let lived = live(&disk, &options, &acts, &mut truth);
            if let Err(error) = lived {
                let expected = matches!(error, Error::Io { .. } | Error::Latched(_));
                prop_assert!(expected, "{error}");
            }
            disk = disk.power_cut(seed);
        }
        live(&disk, &options, &[Act::Append(100)], &mut truth).unwrap();
    }

    #[test]
    fn a_killed_process_loses_nothing_that_was_written_and_leaves_no_hole(
        options in options(),
        acts in prop::collection::vec(act(), 1..40),
        freeze_after in 0..100u64,
    ) {
        let mut truth = Truth::default();
        let disk = CrashStorage::new();
        disk.freeze_after(freeze_after);
        let mut written = 0;
        if let Ok(mut journal) = Journal::create_in(disk.clone(), options.clone()) {
            for act in acts {
                if truth.apply(&mut journal, act).is_err() {
                    break;
                }
                written = journal.written_sequence();
            }
        }
        truth.certain = written;
        let after = Journal::open_in(disk.process_kill(), options, Holes::Refuse).unwrap();
        truth.check(&after);
    }
}

fn small() -> Options {
    Options { file_bytes: 12288, buffer_bytes: 12288, ..Options::default() }
}

#[test]
fn after_the_first_error_of_any_kind_the_journal_writes_nothing_more() {
    // The next operations of an append are its write and its sync.
    for (ahead, errno) in [(1, EIO), (1, ENOSPC), (2, EIO), (2, ENOSPC)] {
        let disk = CrashStorage::new();
        let mut journal = Journal::create_in(disk.clone(), small()).unwrap();
        journal.append(b"good").unwrap();
        disk.fail(ahead, Fault::Error(errno));
        let first = journal.append(b"bad").unwrap_err().to_string();
        assert!(first.contains("0000000001.journal"), "{first}");
        let operations = disk.operations();
        let later = journal.append(b"later").unwrap_err().to_string();
        assert!(later.starts_with("journal is closed by an earlier error"), "{later}");
        assert!(journal.sync().is_err() && journal.roll().is_err() && journal.latch().is_some());
        assert_eq!(disk.operations(), operations);
        let after = Journal::open_in(disk.process_kill(), small(), Holes::Refuse).unwrap();
        let kept = after.recovery().unwrap().last_sequence;
        assert!((1..=2).contains(&kept));
    }
}

#[test]
fn a_short_write_is_finished_and_a_short_write_before_an_error_is_a_torn_tail() {
    let disk = CrashStorage::new();
    let mut journal = Journal::create_in(disk.clone(), small()).unwrap();
    disk.fail(1, Fault::Short);
    journal.append(&[7; 1000]).unwrap();
    disk.fail(1, Fault::Short);
    disk.fail(2, Fault::Error(ENOSPC));
    journal.append(&[8; 1000]).unwrap_err();
    let after = Journal::open_in(disk.process_kill(), small(), Holes::Refuse).unwrap();
    let recovery = after.recovery().unwrap();
    assert_eq!(recovery.last_sequence, 1);
    let torn = recovery.torn_tail.as_ref().unwrap();
    assert_eq!(
        (torn.file.as_str(), torn.offset_bytes, torn.bytes_cut),
        ("0000000001.journal", 4096 + 1024, 512)
    );
}

#[test]
fn a_failed_roll_latches_too() {
    let disk = CrashStorage::new();
    let mut journal = Journal::create_in(disk.clone(), small()).unwrap();
    disk.fail(2, Fault::Error(ENOSPC));
    assert!(journal.roll().unwrap_err().to_string().starts_with("create 0000000002.journal"));
    assert!(matches!(journal.append(b"x"), Err(Error::Latched(_))));
}

#[test]
fn what_a_file_system_refuses_is_replaced_and_noted_or_is_an_error_that_names_it() {
    let cases = [
        (
            Way::Fallocate,
            small(),
            "fallocate not supported on this file system: zero-filled instead",
        ),
        (
            Way::Ftruncate,
            Options { preallocation: Preallocation::Sparse, ..small() },
            "growth by ftruncate not supported on this file system: zero-filled instead",
        ),
        (
            Way::IoUring,
            Options { write_path: WritePath::IoUring, ..small() },
            "io_uring not supported on this file system: pwrite instead",
        ),
    ];
    for (way, options, note) in cases {
        let disk = CrashStorage::new();
        disk.refuse(way);
        let strict = Options { fallback: Fallback::Refuse, ..options.clone() };
        let error = Journal::create_in(disk.clone(), strict).err().unwrap();
        assert!(matches!(error, Error::Refused { way: named, .. } if named == way), "{error}");
        let mut journal = Journal::create_in(disk, options).unwrap();
        assert_eq!(journal.notes(), [note]);
        journal.append(b"works").unwrap();
    }
}

#[test]
fn one_sync_is_made_for_each_record_for_n_records_or_when_asked() {
    let count = |sync_every| {
        let disk = CrashStorage::new();
        let mut journal =
            Journal::create_in(disk.clone(), Options { sync_every, ..small() }).unwrap();
        let before = disk.syncs();
        for _ in 0..30 {
            journal.append(b"record").unwrap();
        }
        disk.syncs() - before
    };
    assert_eq!(count(SyncEvery::Record), 30);
    assert_eq!(count(SyncEvery::Records(NonZeroU32::new(7).unwrap())), 4);
    assert_eq!(count(SyncEvery::GroupCommit), 0);
}

/// Expected: the header of the kept file is synced before the last file with records is retired.
/// With the bug: the sequences began again at 1.
#[test]
fn sequences_go_on_after_a_power_cut_although_all_records_were_retired() {
    let options = Options { keep_files: KeepFiles::Last(1), ..small() };
    for seed in 0..50 {
        let disk = CrashStorage::new();
        let mut journal = Journal::create_in(disk.clone(), options.clone()).unwrap();
        journal.append(b"retired").unwrap();
        journal.roll().unwrap();
        journal.roll().unwrap();
        let after = Journal::open_in(disk.power_cut(seed), options.clone(), Holes::Refuse).unwrap();
        assert_eq!(after.recovery().unwrap().last_sequence, 1);
    }
}
