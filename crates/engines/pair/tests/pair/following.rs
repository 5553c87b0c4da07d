//! A primary and its secondaries over loopback: journal and queue alike, each degree, batches, late join, catching
//! up, a secondary that comes back.

use crate::nodes::*;
use pickfs_pair::{
    Degree, Error, Event, OnLoss, Primary, PrimaryOptions, Secondary, SecondaryOptions,
    StoreOptions, Waiting, new_identity,
};
use pickfs_queue as queue;

fn stores() -> [StoreOptions; 4] {
    let [plain, durable] = [queue::Sync::None, queue::Sync::Fdatasync].map(queue_store);
    [plain_journal(), durable_journal(), plain, durable]
}

#[test]
fn every_message_is_in_both_stores_over_journal_and_queue() {
    for store in stores() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (dir.path().join("a"), dir.path().join("b"));
        let follower = follow(secondary_options(&b, store.clone()));
        let degree = if store.is_durable() { Degree::Durable } else { Degree::Received };
        let options =
            PrimaryOptions { degree, ..primary_options(&a, store.clone(), &[follower.address()]) };
        let mut primary = ready(options);
        send(&mut primary, 1..=300);
        let secondary = follower.end().unwrap();
        assert_eq!(secondary.status().last.sequence, 300);
        let status = primary.status();
        assert_eq!((status.safe, status.local, status.live), (300, 300, 1));
        drop((primary, secondary));
        let (ours, theirs) = (last_in(&a), last_in(&b));
        assert_eq!((ours.sequence, ours), (300, theirs));
    }
}

#[test]
fn what_was_appended_during_one_poll_goes_out_together_in_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let store = plain_journal();
    let follower = follow(secondary_options(&dir.path().join("b"), store.clone()));
    let mut options = primary_options(&dir.path().join("a"), store, &[follower.address()]);
    options.waiting = Waiting::Spin;
    let mut primary = ready(options);
    let mut last = None;
    for number in 1..=1_000 {
        last = Some(primary.append(&payload(number)).unwrap());
    }
    assert_eq!(primary.status().local, 0, "an append writes nothing");
    primary.wait(last.unwrap(), LONG).unwrap();
    assert_eq!(primary.status().safe, 1_000);
}

#[test]
fn degrees_that_need_no_secondary_need_none() {
    for degree in [Degree::None, Degree::Local] {
        let dir = tempfile::tempdir().unwrap();
        let options =
            PrimaryOptions { degree, ..primary_options(dir.path(), plain_journal(), &[]) };
        let mut primary = Primary::open(options).unwrap();
        send(&mut primary, 1..=10);
        drop(primary);
        assert_eq!(last_in(dir.path()).sequence, 10);
    }
}

#[test]
fn a_secondary_that_joins_late_catches_up_from_the_store() {
    for store in [plain_journal(), queue_store(queue::Sync::None)] {
        let dir = tempfile::tempdir().unwrap();
        let (a, b, c) = (dir.path().join("a"), dir.path().join("b"), dir.path().join("c"));
        let first = follow(secondary_options(&b, store.clone()));
        // Its address is known before it is there.
        let mut late = secondary_options(&c, store.clone());
        late.node = 3;
        let reserved = Secondary::open(late.clone()).unwrap();
        late.listen = reserved.address();
        drop(reserved);
        let mut options = primary_options(&a, store.clone(), &[first.address(), late.listen]);
        options.buffer_bytes = 64 << 10;
        let mut primary = ready(options);
        send(&mut primary, 1..=2_000);
        let late = follow(late);
        until(
            &mut primary,
            "joined",
            |event| matches!(event, Event::Joined { peer, .. } if *peer == late.address()),
        );
        send(&mut primary, 2_001..=2_050);
        // Both are gone, then one comes back and is brought up to date.
        let (mut first, late) = (first.end().unwrap(), late.end().unwrap());
        assert_eq!(late.status().last.sequence, first.status().last.sequence);
        drop(late);
        let seen = events(&mut first);
        assert_eq!(seen.len(), 1, "{seen:?}");
        drop(first);
        drop(primary);
        for node in [&a, &b, &c] {
            assert_eq!(last_in(node).sequence, 2_050, "{}", node.display());
        }
    }
}

#[test]
fn two_copies_wait_for_both_and_stop_when_one_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let b = follow(secondary_options(&dir.path().join("b"), plain_journal()));
    let mut third = secondary_options(&dir.path().join("c"), plain_journal());
    third.node = 3;
    let c = follow(third.clone());
    let peers = [b.address(), c.address()];
    let options = primary_options(&dir.path().join("a"), plain_journal(), &peers);
    let mut primary = ready(PrimaryOptions { copies: 2, ..options });
    send(&mut primary, 1..=50);
    third.listen = c.address();
    drop(c.end().unwrap());
    until(&mut primary, "lost", |event| matches!(event, Event::Lost { .. }));
    let refused = primary.append(b"never taken").unwrap_err();
    assert!(matches!(refused, Error::TooFew { live: 1, needed: 2 }), "{refused}");
    assert_eq!(primary.status().appended, 50);
    let c = follow(third);
    primary.wait_ready(LONG).unwrap();
    send(&mut primary, 51..=60);
    assert_eq!(c.end().unwrap().status().last.sequence, 60);
}

#[test]
fn a_degraded_primary_goes_on_alone_says_so_and_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = secondary_options(&dir.path().join("b"), plain_journal());
    let b = follow(options.clone());
    options.listen = b.address();
    let mut asked = primary_options(&dir.path().join("a"), plain_journal(), &[b.address()]);
    asked.on_loss = OnLoss::Degrade;
    let mut primary = Primary::open(asked).unwrap();
    // One that joins before the first look around was never missed: then nothing is restored.
    until(&mut primary, "joined", |event| matches!(event, Event::Joined { .. }));
    pickfs_testkit::until("a copy that counts", || {
        primary.poll().unwrap();
        (!primary.status().is_degraded).then_some(())
    });
    send(&mut primary, 1..=20);
    drop(b.end().unwrap());
    let degraded = until(&mut primary, "degraded", |event| matches!(event, Event::Degraded { .. }));
    assert_eq!(degraded, Event::Degraded { safe: 20 });
    send(&mut primary, 21..=40);
    assert!(primary.status().is_degraded);
    let b = follow(options);
    let restored = until(&mut primary, "restored", |event| matches!(event, Event::Restored { .. }));
    assert_eq!(restored, Event::Restored { safe: 40 });
    send(&mut primary, 41..=60);
    assert!(!primary.status().is_degraded);
    assert_eq!(b.end().unwrap().status().last.sequence, 60);
}

#[test]
fn options_and_messages_out_of_range_are_refused_before_anything_is_taken() {
    let dir = tempfile::tempdir().unwrap();
    let options = primary_options(&dir.path().join("a"), plain_journal(), &[]);
    let refused = Primary::open(options.clone()).err().unwrap();
    assert!(matches!(refused, Error::Option { option: "copies", .. }), "{refused}");
    let mut primary = Primary::open(PrimaryOptions { degree: Degree::Local, ..options }).unwrap();
    let long = vec![0; primary.payload_bytes_max() + 1];
    assert!(matches!(primary.append(&long), Err(Error::TooLarge { .. })));
    primary.append(&long[1..]).unwrap();
    primary.poll().unwrap();
    assert_eq!(primary.status().safe, 1);
}

#[test]
fn a_secondary_that_takes_nothing_stops_the_primary_before_anything_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a"), dir.path().join("b"));
    let patience = std::time::Duration::from_secs(120);
    let asked = SecondaryOptions { timeout: patience, ..secondary_options(&b, plain_journal()) };
    let follower = follow(asked);
    let options = primary_options(&a, plain_journal(), &[follower.address()]);
    let options = PrimaryOptions { buffer_bytes: 64 << 10, timeout: patience, ..options };
    let mut primary = ready(options);
    // It keeps its connection, and reads no more.
    let asleep = follower.end().unwrap();
    let mut taken = 0;
    let refused = loop {
        match primary.append(&payload(taken + 1)) {
            Ok(ticket) => taken = ticket.sequence,
            Err(error) => break error,
        }
        primary.send();
        primary.keep().unwrap();
        assert!(taken < 1_000_000, "the buffers of two sockets are never full");
    };
    assert!(matches!(refused, Error::Behind { buffered_bytes: 65_536 }), "{refused}");
    assert_eq!(primary.status().appended, taken, "nothing was taken");
    assert!(primary.hear().unwrap() < taken);
    let follower = asleep.follow().unwrap();
    while primary.poll().unwrap() < taken {
        primary.pause().unwrap();
    }
    send(&mut primary, taken + 1..=taken + 10);
    drop(primary);
    assert_eq!(follower.end().unwrap().status().last.sequence, taken + 10);
    assert_eq!(last_in(&b).sequence, taken + 10);
}

#[test]
fn a_secondary_that_was_told_its_pair_follows_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let identity = new_identity();
    let follower = follow(SecondaryOptions {
        identity,
        ..secondary_options(&dir.path().join("b"), plain_journal())
    });
    let options = |name: &str| {
        primary_options(&dir.path().join(name), plain_journal(), &[follower.address()])
    };
    let mut stranger = Primary::open(options("stranger")).unwrap();
    let refused = |event: &Event| matches!(event, Event::Absent { reason, .. } if reason.contains("another pair"));
    until(&mut stranger, "a refusal", refused);
    let mut primary = ready(PrimaryOptions { identity, ..options("a") });
    send(&mut primary, 1..=3);
    assert_eq!(follower.end().unwrap().status().last.sequence, 3);
}
