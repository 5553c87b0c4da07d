//! Many producers, one writer: all is committed in order, and one sync covers many records.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use pickfs_journal::crash::{CrashStorage, Fault};
use pickfs_journal::{Error, GroupCommit, Holes, Journal, Options, Roll, SyncEvery};

fn options() -> Options {
    Options {
        sync_every: SyncEvery::GroupCommit,
        file_bytes: 65536,
        buffer_bytes: 16384,
        ..Options::default()
    }
}

#[test]
fn records_of_many_threads_are_committed_once_and_in_order() {
    for roll in [Roll::Inline, Roll::Ahead] {
        let dir = crate::on_disk();
        let journal = Journal::create(dir.path(), Options { roll, ..options() }).unwrap();
        let told = Arc::new(Mutex::new(Vec::new()));
        let theirs = Arc::clone(&told);
        let group =
            GroupCommit::start(journal, 8192, move |range| theirs.lock().unwrap().push(range))
                .unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                let group = &group;
                scope.spawn(move || {
                    for number in 0..250u64 {
                        let payload = (thread * 1000 + number).to_le_bytes().repeat(20);
                        let sequence = group.submit(&payload).unwrap();
                        if number % 10 == 0 {
                            group.wait(sequence).unwrap();
                            assert!(group.committed_sequence() >= sequence);
                        }
                    }
                });
            }
        });
        assert_eq!(group.close().unwrap().durable_sequence(), 1000);
        let mut seen = BTreeSet::new();
        let mut last_of = [None; 4];
        crate::read(dir.path(), 1, |record| {
            let number = u64::from_le_bytes(record.payload[..8].try_into().unwrap());
            let last = &mut last_of[(number / 1000) as usize];
            assert!(*last < Some(number));
            *last = Some(number);
            assert!(seen.insert(number));
        })
        .unwrap();
        assert_eq!(seen.len(), 1000);
        let told = told.lock().unwrap();
        let mut next = 1;
        for range in told.iter() {
            assert_eq!(*range.start(), next);
            next = range.end() + 1;
        }
        assert_eq!(next, 1001);
    }
}

#[test]
fn one_sync_covers_what_arrived_together() {
    let disk = CrashStorage::new();
    let journal = Journal::create_in(disk.clone(), options()).unwrap();
    let before = disk.syncs();
    let group = GroupCommit::start(journal, 1 << 20, |_| {}).unwrap();
    for _ in 0..500 {
        group.submit(&[1; 100]).unwrap();
    }
    group.wait(500).unwrap();
    let syncs = disk.syncs() - before;
    assert!((1..400).contains(&syncs), "{syncs} syncs for 500 records");
}

#[test]
fn what_was_waited_for_outlives_a_power_cut() {
    for seed in 0..30 {
        let disk = CrashStorage::new();
        let group = GroupCommit::start(
            Journal::create_in(disk.clone(), options()).unwrap(),
            1 << 20,
            |_| {},
        )
        .unwrap();
        for _ in 0..20 {
            group.submit(&[seed as u8; 300]).unwrap();
        }
        group.wait(10).unwrap();
        let certain = group.committed_sequence();
        let after = Journal::open_in(disk.power_cut(seed), options(), Holes::CutUnsynced).unwrap();
        assert!(after.recovery().unwrap().last_sequence >= certain);
    }
}

#[test]
fn after_an_error_nobody_waits_for_ever() {
    let disk = CrashStorage::new();
    let journal = Journal::create_in(disk.clone(), options()).unwrap();
    let group = GroupCommit::start(journal, 4096, |_| {}).unwrap();
    group.append(b"good").unwrap();
    disk.fail(2, Fault::Error(5));
    assert!(matches!(group.append(b"bad"), Err(Error::Latched(_))));
    assert!(matches!(group.append(&[0; 3000]), Err(Error::Latched(_))));
    assert!(matches!(group.submit(&[0; 5000]), Err(Error::TooLarge { limit_bytes: 4096, .. })));
    assert!(matches!(group.close(), Err(Error::Latched(_))));
}
