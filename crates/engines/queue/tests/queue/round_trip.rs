//! One process: what was appended is read, in order, over rolls and reopening, by place, number and time.

use std::path::Path;
use std::time::Duration;

use pickfs_queue::{
    Allocation, Error, Options, Prepare, Queue, ReadBy, Retention, Sync, SyncEvery, Tailer, Touch,
};

use crate::small;

fn payload(sequence: u64) -> Vec<u8> {
    crate::payload(sequence, 3000)
}

fn fill(queue: &Queue, count: u64) {
    let mut appender = queue.appender().unwrap();
    for _ in 0..count {
        let sequence = appender.next_sequence();
        let appended = appender.append_at(&payload(sequence), sequence * 10).unwrap();
        assert_eq!(appended.sequence, sequence);
    }
}

fn drain(tailer: &mut Tailer) -> (u64, u64) {
    let first = tailer.next_sequence();
    while let Some(message) = tailer.poll().unwrap() {
        assert_eq!(message.payload, payload(message.sequence), "{}", message.sequence);
        assert_eq!(message.time_ns, message.sequence * 10);
    }
    (first, tailer.next_sequence() - 1)
}

fn segments(dir: &Path) -> usize {
    let names = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_str().unwrap().ends_with(".segment")).count()
}

#[test]
fn every_message_comes_back_in_every_way_of_growing_touching_syncing_and_reading() {
    let allocations = [Allocation::Sparse, Allocation::Fallocate, Allocation::ZeroFill];
    let touches = [Touch::None, Touch::NextPage, Touch::Ahead(4), Touch::Populate(4)];
    let syncs = [Sync::None, Sync::MsyncAsync, Sync::Msync, Sync::Fdatasync];
    for allocation in allocations {
        for (touch, sync) in touches.into_iter().zip(syncs) {
            for prepare in [Prepare::Inline, Prepare::Ahead] {
                let dir = tempfile::tempdir().unwrap();
                let sync_every = SyncEvery::Messages(16);
                let options = Options { allocation, touch, sync, sync_every, prepare, ..small() };
                let queue = Queue::create(dir.path(), options).unwrap();
                fill(&queue, 200);
                for by in [ReadBy::Mapping, ReadBy::Calls] {
                    assert_eq!(drain(&mut queue.tailer().unwrap().by(by)), (1, 200));
                }
                assert!(segments(dir.path()) >= 5, "{allocation:?} {touch:?}");
            }
        }
    }
}

#[test]
fn a_queue_goes_on_where_it_was_when_it_is_opened_again() {
    let dir = tempfile::tempdir().unwrap();
    for round in 0..5 {
        let queue = Queue::open_or_create(dir.path(), small()).unwrap();
        fill(&queue, 70);
        assert_eq!(drain(&mut queue.tailer().unwrap()), (1, (round + 1) * 70));
    }
    assert!(matches!(Queue::create(dir.path(), small()), Err(Error::Exists { .. })));
    let other = Options { segment_bytes: 1 << 20, ..small() };
    assert_eq!(Queue::open(dir.path(), other).unwrap().options().segment_bytes, 64 << 10);
    let absent = Queue::open(dir.path().join("none"), small());
    assert!(matches!(absent, Err(Error::Absent { .. })));
}

#[test]
fn idling_touches_the_next_page_once() {
    let dir = tempfile::tempdir().unwrap();
    let queue = Queue::create(dir.path(), small()).unwrap();
    let mut appender = queue.appender().unwrap();
    assert!(appender.idle().unwrap());
    assert!(!appender.idle().unwrap());
    appender.append(&[1; 4000]).unwrap();
    appender.append(&[1; 100]).unwrap();
    assert!(appender.idle().unwrap());
    assert!(!appender.idle().unwrap());
}

#[test]
fn a_segment_ends_with_its_period() {
    let dir = tempfile::tempdir().unwrap();
    let hour = 3_600_000_000_000;
    let options = Options { roll_every: Duration::from_secs(3600), ..small() };
    let queue = Queue::create(dir.path(), options).unwrap();
    let mut appender = queue.appender().unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let this_hour = now.as_nanos() as u64 / hour * hour;
    let place = |time: u64| (this_hour + time, vec![7; 10]);
    let mut numbers = Vec::new();
    for (time, bytes) in
        [place(0), place(hour - 1), place(hour), place(2 * hour - 1), place(3 * hour)]
    {
        numbers.push(appender.append_at(&bytes, time).unwrap().segment);
    }
    assert_eq!(numbers, [1, 1, 2, 2, 3]);
    let mut tailer = queue.tailer().unwrap();
    tailer.seek_time(this_hour + hour).unwrap();
    assert_eq!(tailer.poll().unwrap().unwrap().sequence, 3);
}

#[test]
fn no_time_ends_a_segment_that_its_size_alone_ends() {
    let dir = tempfile::tempdir().unwrap();
    let queue = Queue::create(dir.path(), small()).unwrap();
    let mut appender = queue.appender().unwrap();
    for sequence in 1..=3 {
        let appended = appender.append_at(b"late", u64::MAX).unwrap();
        assert_eq!((appended.sequence, appended.segment), (sequence, 1));
    }
}

#[test]
fn a_tailer_finds_any_number_and_any_time() {
    let dir = tempfile::tempdir().unwrap();
    let queue = Queue::create(dir.path(), Options { segment_bytes: 256 << 10, ..small() }).unwrap();
    fill(&queue, 1000);
    let mut tailer = queue.tailer().unwrap();
    for sequence in [1, 2, 57, 300, 301, 999, 1000] {
        tailer.seek_sequence(sequence).unwrap();
        assert_eq!(tailer.poll().unwrap().unwrap().sequence, sequence);
        tailer.seek_time(sequence * 10).unwrap();
        assert_eq!(tailer.poll().unwrap().unwrap().sequence, sequence);
        tailer.seek_time(sequence * 10 - 5).unwrap();
        assert_eq!(tailer.poll().unwrap().unwrap().sequence, sequence);
    }
    tailer.seek_end().unwrap();
    assert_eq!(tailer.next_sequence(), 1001);
    assert_eq!(tailer.poll().unwrap(), None);
    tailer.seek_time(1 << 60).unwrap();
    assert_eq!(tailer.poll().unwrap(), None);
    fill(&queue, 1);
    assert_eq!(tailer.poll().unwrap().unwrap().sequence, 1001);
    tailer.seek_start().unwrap();
    assert_eq!(drain(&mut tailer), (1, 1001));
}

#[test]
fn two_appenders_take_turns_and_one_that_slept_catches_up() {
    let dir = tempfile::tempdir().unwrap();
    let queue = Queue::create(dir.path(), small()).unwrap();
    let mut sleeper = queue.appender().unwrap();
    let mut other = Queue::open(dir.path(), small()).unwrap().appender().unwrap();
    for sequence in 1..=400 {
        let who = if sequence % 37 == 0 { &mut sleeper } else { &mut other };
        assert_eq!(who.append_at(&payload(sequence), sequence * 10).unwrap().sequence, sequence);
    }
    assert_eq!(drain(&mut queue.tailer().unwrap()), (1, 400));
}

#[test]
fn a_named_tailer_remembers_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let queue = Queue::create(dir.path(), small()).unwrap();
    fill(&queue, 100);
    let mut tailer = queue.named_tailer("risk").unwrap();
    for _ in 0..60 {
        tailer.poll().unwrap().unwrap();
    }
    tailer.remember().unwrap();
    tailer.poll().unwrap().unwrap();
    assert!(matches!(queue.named_tailer("risk"), Err(Error::Busy { .. })));
    drop(tailer);
    let queue = Queue::open(dir.path(), small()).unwrap();
    assert_eq!(queue.named_tailers(), [("risk".to_string(), 61)]);
    assert_eq!(drain(&mut queue.named_tailer("risk").unwrap()), (61, 100));
    assert!(queue.forget_tailer("risk").unwrap());
    assert!(!queue.forget_tailer("risk").unwrap());
}

#[test]
fn retention_keeps_what_a_tailer_needs_and_lets_the_rest_go() {
    let dir = tempfile::tempdir().unwrap();
    let retention = Retention { segments: Some(1), ..Retention::default() };
    let queue = Queue::create(dir.path(), Options { retention, ..small() }).unwrap();
    let mut named = queue.named_tailer("risk").unwrap();
    let mut living = queue.tailer().unwrap();
    fill(&queue, 300);
    let all = segments(dir.path());
    assert!(queue.retire().unwrap().held_by_tailer);
    assert_eq!(segments(dir.path()), all);
    drain(&mut named);
    named.remember().unwrap();
    assert_eq!(queue.retire().unwrap().segments, 0, "the other one lives at the beginning");
    drain(&mut living);
    assert_eq!(queue.retire().unwrap().segments as usize, all - 2);
    assert_eq!(segments(dir.path()), 2);
    let mut late = queue.tailer().unwrap();
    assert!(matches!(late.seek_sequence(1), Err(Error::Retired { sequence: 1, .. })));
    assert_eq!(drain(&mut late).1, 300);
}

#[test]
fn an_appender_that_slept_past_retention_goes_on_at_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let retention = Retention { segments: Some(0), ..Retention::default() };
    let queue = Queue::create(dir.path(), Options { retention, ..small() }).unwrap();
    let mut sleeper = queue.appender().unwrap();
    fill(&queue, 300);
    queue.retire().unwrap();
    assert_eq!(segments(dir.path()), 1);
    assert_eq!(sleeper.append_at(&payload(301), 3010).unwrap().sequence, 301);
}

#[test]
fn a_read_only_queue_writes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    fill(&Queue::create(dir.path(), small()).unwrap(), 50);
    let queue = Queue::open_read_only(dir.path()).unwrap();
    assert_eq!(drain(&mut queue.tailer().unwrap()), (1, 50));
    assert!(matches!(queue.appender(), Err(Error::ReadOnly { .. })));
    assert!(matches!(queue.named_tailer("x"), Err(Error::ReadOnly { .. })));
    assert!(matches!(queue.retire(), Err(Error::ReadOnly { .. })));
}

#[test]
fn a_message_that_cannot_fit_is_told_and_the_longest_one_fits() {
    let dir = tempfile::tempdir().unwrap();
    let queue = Queue::create(dir.path(), small()).unwrap();
    let mut appender = queue.appender().unwrap();
    let longest = appender.payload_bytes_max();
    assert!(matches!(appender.append(&vec![0; longest + 1]), Err(Error::TooLarge { .. })));
    for bytes in [longest, 0, longest] {
        appender.append(&vec![9; bytes]).unwrap();
    }
    let mut tailer = queue.tailer().unwrap();
    for bytes in [longest, 0, longest] {
        assert_eq!(tailer.poll().unwrap().unwrap().payload, vec![9; bytes]);
    }
}
