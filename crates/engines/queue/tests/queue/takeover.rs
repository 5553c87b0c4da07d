//! The claim of an appender that died between claim and commit is passed by everybody, and a living one's is not.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

use pickfs_queue::{
    Error, Queue, layout,
    word::{Holder, Slot},
};

use crate::small;

fn write_word(dir: &Path, offset_bytes: u64, slot: Slot) {
    let file = File::options().write(true).open(dir.join("0000000001.segment")).unwrap();
    file.write_all_at(&slot.encode().to_le_bytes(), offset_bytes).unwrap();
}

fn read_word(dir: &Path, offset_bytes: u64) -> Slot {
    let mut word = [0; 8];
    let file = File::open(dir.join("0000000001.segment")).unwrap();
    file.read_exact_at(&mut word, offset_bytes).unwrap();
    Slot::decode(u64::from_le_bytes(word))
}

fn with_claim(dir: &Path, payload_bytes: usize, holder: Holder) -> u64 {
    let queue = Queue::create(dir, small()).unwrap();
    let appended = queue.appender().unwrap().append(b"one").unwrap();
    let offset_bytes = appended.offset_bytes + layout::slot_bytes(3);
    write_word(dir, offset_bytes, Slot::Claimed { payload_bytes, holder });
    offset_bytes
}

/// Nobody sits there: the first appender had seat 0 in generation 1 and left it.
const DEAD: Holder = Holder { seat: 0, generation: 1 };

/// An appender that dies between commit and news leaves a message of which nobody was told.
#[test]
fn a_message_that_nobody_was_told_of_is_found_all_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let queue = Queue::create(dir.path(), small()).unwrap();
    let (mut appender, mut tailer) = (queue.appender().unwrap(), queue.tailer().unwrap());
    appender.append(b"one").unwrap();
    assert_eq!(tailer.poll().unwrap().unwrap().sequence, 1);
    let control = File::options().write(true).open(dir.path().join("queue.control")).unwrap();
    for sequence in 2..=20_u64 {
        assert_eq!(tailer.poll().unwrap(), None);
        appender.append(b"next").unwrap();
        // As it was before that message.
        control.write_all_at(&(sequence - 1).to_le_bytes(), layout::NEWS_OFFSET).unwrap();
        let began = Instant::now();
        let found = std::iter::repeat_with(|| tailer.poll().unwrap().map(|it| it.sequence))
            .take_while(|_| began.elapsed() < pickfs_testkit::PATIENCE)
            .find_map(|found| found);
        assert_eq!(found, Some(sequence));
    }
}

#[test]
fn news_that_cannot_be_true_are_no_harm() {
    let dir = tempfile::tempdir().unwrap();
    let queue = Queue::create(dir.path(), small()).unwrap();
    let (mut appender, mut tailer) = (queue.appender().unwrap(), queue.tailer().unwrap());
    let control = File::options().write(true).open(dir.path().join("queue.control")).unwrap();
    control.write_all_at(&u64::MAX.to_le_bytes(), layout::NEWS_OFFSET).unwrap();
    assert_eq!(tailer.poll().unwrap(), None);
    appender.append(b"one").unwrap();
    control.write_all_at(&u64::MAX.to_le_bytes(), layout::NEWS_OFFSET).unwrap();
    assert_eq!(tailer.poll().unwrap().unwrap().payload, b"one");
}

#[test]
fn a_tailer_takes_a_dead_claim_over_and_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let at = with_claim(dir.path(), 500, DEAD);
    let queue = Queue::open(dir.path(), small()).unwrap();
    let mut tailer = queue.tailer().unwrap();
    assert_eq!(tailer.poll().unwrap().unwrap().payload, b"one");
    assert_eq!(tailer.poll().unwrap(), None);
    assert_eq!(read_word(dir.path(), at), Slot::Void { payload_bytes: 500 });
    let appended = queue.appender().unwrap().append(b"three").unwrap();
    assert_eq!(appended.offset_bytes, at + layout::slot_bytes(500));
    let message = tailer.poll().unwrap().unwrap();
    assert_eq!((message.sequence, message.payload), (3, &b"three"[..]));
}

#[test]
fn a_tailer_that_waited_takes_a_dead_claim_over_at_its_first_look() {
    let dir = tempfile::tempdir().unwrap();
    let queue = Queue::create(dir.path(), small()).unwrap();
    drop(queue.appender().unwrap());
    let mut tailer = queue.tailer().unwrap();
    for _ in 0..100 {
        assert_eq!(tailer.poll().unwrap(), None);
    }
    let at = layout::data_start(64 << 10);
    write_word(dir.path(), at, Slot::Claimed { payload_bytes: 8, holder: DEAD });
    let control = File::options().write(true).open(dir.path().join("queue.control")).unwrap();
    control.write_all_at(&1_u64.to_le_bytes(), layout::NEWS_OFFSET).unwrap();
    assert_eq!(tailer.poll().unwrap(), None);
    assert_eq!(read_word(dir.path(), at), Slot::Void { payload_bytes: 8 });
}

#[test]
fn an_appender_that_opens_takes_a_dead_claim_over() {
    let dir = tempfile::tempdir().unwrap();
    let at = with_claim(dir.path(), 500, DEAD);
    let queue = Queue::open(dir.path(), small()).unwrap();
    assert_eq!(queue.appender().unwrap().next_sequence(), 3);
    assert_eq!(read_word(dir.path(), at), Slot::Void { payload_bytes: 500 });
}

#[test]
fn a_read_only_tailer_passes_a_dead_claim_and_leaves_it() {
    let dir = tempfile::tempdir().unwrap();
    let at = with_claim(dir.path(), 500, DEAD);
    let queue = Queue::open_read_only(dir.path()).unwrap();
    let mut tailer = queue.tailer().unwrap();
    tailer.poll().unwrap().unwrap();
    assert_eq!(tailer.poll().unwrap(), None);
    assert_eq!(tailer.next_sequence(), 3);
    assert!(matches!(read_word(dir.path(), at), Slot::Claimed { .. }));
}

#[test]
fn the_claim_of_a_living_appender_is_waited_for_and_others_append_behind_it() {
    let dir = tempfile::tempdir().unwrap();
    let queue = Queue::create(dir.path(), small()).unwrap();
    let living = queue.appender().unwrap();
    let mut other = queue.appender().unwrap();
    let holder = Holder { seat: 0, generation: 1 };
    let at = layout::data_start(64 << 10);
    write_word(dir.path(), at, Slot::Claimed { payload_bytes: 8, holder });
    let mut tailer = queue.tailer().unwrap();
    assert_eq!(other.append(b"two").unwrap().sequence, 2);
    for _ in 0..10_000 {
        assert_eq!(tailer.poll().unwrap(), None);
    }
    drop(living);
    while tailer.next_sequence() == 1 {
        if let Some(message) = tailer.poll().unwrap() {
            assert_eq!((message.sequence, message.payload), (2, &b"two"[..]));
        }
    }
}

#[test]
fn seats_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    let queue = Queue::create(dir.path(), small()).unwrap();
    let appenders: Vec<_> = (0..64).map(|_| queue.appender().unwrap()).collect();
    assert!(matches!(queue.appender(), Err(Error::Seats { role: "appenders", count: 64 })));
    drop(appenders);
    assert!(queue.appender().is_ok());
}

#[test]
fn after_a_boot_what_is_not_whole_is_cut_and_put_aside() {
    let dir = tempfile::tempdir().unwrap();
    let at = with_claim(dir.path(), 500, DEAD);
    // Pages reached the device out of order: words without their messages, and bytes without their words.
    write_word(dir.path(), at, Slot::Message { payload_bytes: 9, checksum: 1 });
    write_word(dir.path(), at + 4096, Slot::Message { payload_bytes: 9, checksum: 2 });
    another_boot(dir.path());
    let queue = Queue::open(dir.path(), small()).unwrap();
    let recovery = queue.recovery().unwrap().clone();
    assert_eq!((recovery.slots, recovery.put_aside.len()), (1, 1));
    assert!(recovery.cut_bytes > 4096);
    assert_eq!(read_word(dir.path(), at + 4096), Slot::Empty);
    assert_eq!(queue.appender().unwrap().append(b"two").unwrap().sequence, 2);
    let mut tailer = queue.tailer().unwrap();
    assert_eq!(tailer.poll().unwrap().unwrap().payload, b"one");
    assert_eq!(tailer.poll().unwrap().unwrap().payload, b"two");
    assert!(Queue::open(dir.path(), small()).unwrap().recovery().is_none());
}

fn another_boot(dir: &Path) {
    let path = dir.join("queue.control");
    let bytes = std::fs::read(&path).unwrap();
    let header = layout::ControlHeader::decode(&bytes).unwrap();
    let header = layout::ControlHeader { boot_id: 1, ..header };
    let file = File::options().write(true).open(&path).unwrap();
    file.write_all_at(&header.encode(), 0).unwrap();
}
