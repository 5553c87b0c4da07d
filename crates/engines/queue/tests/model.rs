//! The commit word's protocol under a model checker, which plays every order of steps and every value that the
//! memory model allows a load to see. Built and run only when asked for:
//!
//!     RUSTFLAGS="--cfg loom" cargo test -p pickfs-queue --test model --target-dir target/loom
//!
//! Slots have a fixed length here, and a payload is a cell: loom fails a run in which it is read while it is
//! written, so that a message which is seen is a whole one.
#![allow(unexpected_cfgs)]
#![cfg(loom)]
#![allow(clippy::unwrap_used)]

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{AcqRel, Acquire, Release},
};
use loom::thread;

use pickfs_queue::word::{self, Holder, Slot, Word};

const SLOTS: usize = 2;
const BYTES: usize = 8;

/// A word as loom sees it, with the orderings of the real one.
struct Modelled(AtomicU64);

impl Word for Modelled {
    fn look(&self) -> u64 {
        self.0.load(Acquire)
    }

    fn exchange(&self, current: u64, new: u64) -> Result<u64, u64> {
        self.0.compare_exchange(current, new, AcqRel, Acquire)
    }

    fn set(&self, new: u64) {
        self.0.store(new, Release);
    }
}

struct Segment {
    words: [Modelled; SLOTS],
    payloads: [UnsafeCell<u64>; SLOTS],
    news: AtomicU64,
    alive: [AtomicBool; 2],
}

impl Segment {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            words: std::array::from_fn(|_| Modelled(AtomicU64::new(0))),
            payloads: std::array::from_fn(|_| UnsafeCell::new(0)),
            news: AtomicU64::new(0),
            alive: std::array::from_fn(|_| AtomicBool::new(true)),
        })
    }

    /// The steps of `Appender::put` of a short message.
    fn append(&self, seat: u8, value: u64, dies: Dies) -> Option<usize> {
        let holder = Holder { seat, generation: 1 };
        let die = || self.alive[seat as usize].store(false, Release);
        for slot in 0..SLOTS {
            match word::claim(&self.words[slot], BYTES, holder) {
                Ok(()) => {
                    if dies != Dies::Claimed {
                        self.news.store(slot as u64 + 1, Release);
                    }
                    if matches!(dies, Dies::Claimed | Dies::Told) {
                        die();
                        return None;
                    }
                    self.payloads[slot].with_mut(|cell| unsafe_set(cell, value));
                    let checksum = value as u32;
                    word::commit(&self.words[slot], BYTES, holder, checksum).unwrap();
                    if dies == Dies::Committed {
                        die();
                    }
                    return Some(slot);
                }
                Err(found) => assert!(found.bytes().is_some(), "{found:?}"),
            }
        }
        None
    }

    fn poll(&self, slot: usize, reads: Reads) -> Slot {
        let found = word::look(&self.words[slot]);
        match found {
            Slot::Message { checksum, .. } => {
                let value = self.payloads[slot].with(|cell| unsafe_get(cell));
                assert_eq!(value as u32, checksum, "half a message");
                found
            }
            Slot::Claimed { payload_bytes, holder }
                if !self.alive[holder.seat as usize].load(Acquire) =>
            {
                if reads == Reads::Only && word::look(&self.words[slot]) == found {
                    return Slot::Void { payload_bytes };
                }
                if reads != Reads::Only {
                    word::void(&self.words[slot], payload_bytes, holder);
                }
                self.poll(slot, reads)
            }
            other => other,
        }
    }

    fn drain(&self, wanted: usize, reads: Reads) -> Vec<u32> {
        let (mut found, mut slot) = (Vec::new(), 0);
        while found.len() < wanted {
            let looks = reads != Reads::Told || self.news.load(Acquire) != slot as u64;
            match looks.then(|| self.poll(slot, reads)) {
                Some(Slot::Message { checksum, .. }) => {
                    found.push(checksum);
                    slot += 1;
                }
                Some(Slot::Void { .. }) => slot += 1,
                _ => thread::yield_now(),
            }
        }
        found
    }
}

/// Behind which of its steps an appender is killed.
#[derive(Clone, Copy, PartialEq)]
enum Dies {
    No,
    Claimed,
    Told,
    Committed,
}

#[derive(Clone, Copy, PartialEq)]
enum Reads {
    /// Takes over what the dead have claimed. It looks at its slot each time, which each tick of the clock allows
    /// and news that cross need.
    Takes,
    /// The same, but read-only.
    Only,
    /// Looks only when it was told of something: without the clock's ticks.
    Told,
}

#[allow(unsafe_code)]
fn unsafe_set(cell: *mut u64, value: u64) {
    // SAFETY: loom hands out the pointer for the time of the closure and fails a run with a race.
    unsafe { *cell = value }
}

#[allow(unsafe_code)]
fn unsafe_get(cell: *const u64) -> u64 {
    // SAFETY: as above.
    unsafe { *cell }
}

#[test]
fn two_appenders_and_a_tailer_lose_nothing_and_read_nothing_half() {
    loom::model(|| {
        let segment = Segment::new();
        let (one, two) = (Arc::clone(&segment), Arc::clone(&segment));
        let one = thread::spawn(move || one.append(0, 11, Dies::No));
        let two = thread::spawn(move || two.append(1, 22, Dies::No));
        let mut found = segment.drain(2, Reads::Takes);
        assert_ne!(one.join().unwrap(), two.join().unwrap());
        found.sort_unstable();
        assert_eq!(found, [11, 22]);
    });
}

#[test]
fn what_one_appender_tells_is_found_without_another_look() {
    loom::model(|| {
        let segment = Segment::new();
        let one = Arc::clone(&segment);
        let one = thread::spawn(move || {
            one.append(0, 11, Dies::No);
            one.append(0, 22, Dies::No);
        });
        assert_eq!(segment.drain(2, Reads::Told), [11, 22]);
        one.join().unwrap();
    });
}

#[test]
fn what_was_told_and_never_committed_is_passed() {
    loom::model(|| {
        let segment = Segment::new();
        let one = Arc::clone(&segment);
        let one = thread::spawn(move || {
            one.append(0, 11, Dies::Told);
            one.append(1, 22, Dies::No);
        });
        assert_eq!(segment.drain(1, Reads::Told), [22]);
        one.join().unwrap();
    });
}

#[test]
fn a_message_whose_appender_died_behind_its_commit_is_found_by_all() {
    loom::model(|| {
        let segment = Segment::new();
        let (one, other) = (Arc::clone(&segment), Arc::clone(&segment));
        let one = thread::spawn(move || one.append(0, 11, Dies::Committed));
        let other = thread::spawn(move || other.drain(1, Reads::Only));
        assert_eq!(segment.drain(1, Reads::Takes), [11]);
        assert_eq!(other.join().unwrap(), [11]);
        assert_eq!(one.join().unwrap(), Some(0));
    });
}

#[test]
fn a_dead_claim_is_passed_and_the_living_message_behind_or_before_it_is_found() {
    loom::model(|| {
        let segment = Segment::new();
        let (one, two) = (Arc::clone(&segment), Arc::clone(&segment));
        let dead = thread::spawn(move || one.append(0, 11, Dies::Claimed));
        let living = thread::spawn(move || two.append(1, 22, Dies::No));
        assert_eq!(segment.drain(1, Reads::Takes), [22]);
        assert_eq!(dead.join().unwrap(), None);
        assert!(living.join().unwrap().is_some());
    });
}

#[test]
fn two_tailers_take_a_dead_claim_over_once_and_agree() {
    loom::model(|| {
        let segment = Segment::new();
        segment.append(0, 11, Dies::Claimed);
        segment.append(1, 22, Dies::No);
        let other = Arc::clone(&segment);
        let other = thread::spawn(move || other.drain(1, Reads::Takes));
        assert_eq!(segment.drain(1, Reads::Takes), [22]);
        assert_eq!(other.join().unwrap(), [22]);
        assert_eq!(word::look(&segment.words[0]), Slot::Void { payload_bytes: BYTES });
    });
}

#[test]
fn an_end_and_an_append_never_both_take_a_slot() {
    loom::model(|| {
        let segment = Segment::new();
        let other = Arc::clone(&segment);
        let ending = thread::spawn(move || word::end(&other.words[0]).is_ok());
        let appended = word::claim(&segment.words[0], BYTES, Holder { seat: 0, generation: 1 });
        assert_ne!(ending.join().unwrap(), appended.is_ok());
    });
}
