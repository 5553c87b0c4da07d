//! Replay beside a running writer sees a growing prefix, in order, and never an error.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

use pickfs_journal::{Journal, Options, Preallocation, Sync, WritePath, replay};

const RECORDS: u64 = 6000;

fn payload(sequence: u64) -> Vec<u8> {
    sequence.to_le_bytes().repeat(1 + (sequence % 60) as usize)
}

fn watch(write_path: WritePath) {
    let dir = crate::on_disk();
    let options = Options {
        write_path,
        preallocation: Preallocation::Sparse,
        sync: Sync::None,
        file_bytes: 65536,
        buffer_bytes: 8192,
        ..Options::default()
    };
    let mut journal = Journal::create(dir.path(), options).unwrap();
    let written = AtomicU64::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for sequence in 1..=RECORDS {
                journal.append(&payload(sequence)).unwrap();
                written.store(sequence, Ordering::Release);
            }
        });
        let mut seen = 0;
        while seen < RECORDS {
            let before = written.load(Ordering::Acquire);
            let from = seen.saturating_sub(100).max(1);
            let mut next = from;
            crate::read(dir.path(), from, |record| {
                assert_eq!(record.sequence, next);
                assert_eq!(record.payload, payload(next));
                next += 1;
            })
            .unwrap();
            seen = next - 1;
            assert!(seen >= before, "{write_path}: saw {seen}, written {before}");
        }
    });
}

#[test]
fn replay_beside_a_writer_sees_a_growing_prefix() {
    for write_path in [WritePath::Pwrite, WritePath::Mmap, WritePath::Direct, WritePath::IoUring] {
        watch(write_path);
    }
}

#[test]
fn replay_starts_where_it_is_told_and_stops_when_it_is_told() {
    let dir = crate::on_disk();
    let options =
        Options { file_bytes: 8192, buffer_bytes: 8192, sync: Sync::None, ..Options::default() };
    let mut journal = Journal::create(dir.path(), options).unwrap();
    for sequence in 1..=200 {
        journal.append(&payload(sequence)).unwrap();
    }
    let mut seen = Vec::new();
    let replayed = replay(dir.path(), 77, |record| {
        seen.push(record.sequence);
        if record.sequence == 80 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!((seen, replayed.unwrap().records), (vec![77, 78, 79, 80], 4));
    let none = crate::read(dir.path(), 201, |_| {}).unwrap();
    assert_eq!((none.records, none.last_sequence), (0, Some(200)));
}
