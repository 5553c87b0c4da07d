//! Fail over: an explicit promotion, an old primary that is refused and says so, messages that were set aside, and
//! nodes that cannot follow.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use crate::nodes::*;
use pickfs_pair::{
    Degree, Ended, Error, Event, Followed, OnDiverged, OnLoss, Primary, PrimaryOptions, Secondary,
    promote, read_state, request_promotion,
    wire::{Frame, Reason, parse},
};
use pickfs_queue as queue;

fn until_error(primary: &mut Primary) -> Error {
    pickfs_testkit::until("the failure of the primary", || primary.poll().err())
}

#[test]
fn a_promoted_secondary_goes_on_and_the_old_primary_is_refused_and_says_so() {
    for store in [plain_journal(), queue_store(queue::Sync::None)] {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (dir.path().join("a"), dir.path().join("b"));
        let follower = follow(secondary_options(&b, store.clone()));
        let to_b = follower.address();
        let old_options = primary_options(&a, store.clone(), &[to_b]);
        let mut old = ready(old_options.clone());
        send(&mut old, 1..=100);
        // Asked for from outside, as the operator does it; answered when the promoted node has begun.
        let asking = std::thread::spawn({
            let b = b.clone();
            move || request_promotion(&b, LONG)
        });
        let (secondary, ended) = follower.wait();
        assert_eq!(ended.unwrap(), Ended::PromotionAsked);
        let local =
            PrimaryOptions { degree: Degree::Local, ..primary_options(&b, store.clone(), &[]) };
        let mut new = secondary.promote(local).unwrap();
        let epoch = asking.join().unwrap().unwrap();
        assert_eq!((epoch.term(), epoch.node()), (2, 2));
        send(&mut new, 101..=150);
        // The old one loses its secondary, dials again, and learns who reigns.
        let fenced = until_error(&mut old);
        assert!(matches!(&fenced, Error::Fenced { theirs, .. } if theirs.node() == 2), "{fenced}");
        assert!(fenced.to_string().contains("epoch 1.1.1 is over"), "{fenced}");
        assert!(matches!(old.append(b"no"), Err(Error::Fenced { .. })));
        drop(old);
        // It is written down: it does not begin as a primary again.
        assert_eq!(read_state(&a).unwrap().unwrap().epoch.node(), 2);
        assert!(matches!(Primary::open(old_options), Err(Error::Fenced { .. })));
        drop(new);
        assert_eq!(last_in(&b).sequence, 150);
        assert_eq!(last_in(&a).sequence, 100);
    }
}

#[test]
fn an_old_primary_that_was_away_is_refused_when_it_starts_in_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a"), dir.path().join("b"));
    let follower = follow(secondary_options(&b, plain_journal()));
    let old_options = primary_options(&a, plain_journal(), &[follower.address()]);
    let mut old = ready(old_options.clone());
    send(&mut old, 1..=10);
    drop(old);
    let local =
        PrimaryOptions { degree: Degree::Local, ..primary_options(&b, plain_journal(), &[]) };
    let mut new = follower.end().unwrap().promote(local).unwrap();
    send(&mut new, 11..=20);
    let mut old = Primary::open(old_options).unwrap();
    assert!(matches!(old.append(b"no"), Err(Error::TooFew { .. })), "it never gets to write");
    assert!(matches!(until_error(&mut old), Error::Fenced { .. }));
}

#[test]
fn an_old_primary_follows_again_and_what_only_it_had_is_set_aside() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a"), dir.path().join("b"));
    let follower = follow(secondary_options(&b, plain_journal()));
    let mut options = primary_options(&a, plain_journal(), &[follower.address()]);
    options.on_loss = OnLoss::Degrade;
    let mut old = Primary::open(options).unwrap();
    // It is restored only if it was degraded before the secondary came.
    until(&mut old, "joined", |event| matches!(event, Event::Joined { .. }));
    pickfs_testkit::until("copies of all", || {
        let _ = old.poll();
        (!old.status().is_degraded).then_some(())
    });
    send(&mut old, 1..=30);
    let secondary = follower.end().unwrap();
    // Nobody else has these.
    send(&mut old, 31..=35);
    drop(old);

    let mut returned = secondary_options(&a, plain_journal());
    returned.node = 1;
    let refusing = follow(returned.clone());
    let options = primary_options(&b, plain_journal(), &[refusing.address()]);
    let mut new = secondary.promote(options).unwrap();
    let absent = until(&mut new, "absent", |event| matches!(event, Event::Absent { .. }));
    assert!(absent.to_string().contains("never had"), "{absent}");
    let (stopped, ended) = refusing.wait();
    assert!(matches!(ended, Err(Error::Refused { reason: Reason::Diverged, .. })));
    returned.listen = stopped.address();
    returned.on_diverged = OnDiverged::SetAside;
    drop(stopped);

    let follower = follow(returned);
    new.wait_ready(LONG).unwrap();
    // Message 31 may have reached the secondary's socket before the old primary gave it up.
    let first = new.status().appended + 1;
    assert!((31..=32).contains(&first), "{first}");
    send(&mut new, first..=60);
    let mut secondary = follower.end().unwrap();
    let aside = events(&mut secondary).into_iter().find_map(|event| match event {
        Followed::SetAside { path, last } => Some((path, last.sequence)),
        _ => None,
    });
    let (path, last) = aside.unwrap();
    assert_eq!((path.is_dir(), last), (true, 35));
    drop((secondary, new));
    assert_eq!(last_in(&a), last_in(&b));
    assert_eq!(last_in(&a).sequence, 60);
}

#[test]
fn a_node_that_does_not_run_is_promoted_and_a_restart_is_no_promotion() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a"), dir.path().join("b"));
    let follower = follow(secondary_options(&b, plain_journal()));
    let options = primary_options(&a, plain_journal(), &[follower.address()]);
    for start in 1..=3 {
        let mut primary = ready(options.clone());
        assert_eq!(primary.status().epoch.to_string(), format!("1.1.{start}"));
        let first = primary.status().appended + 1;
        send(&mut primary, first..=first + 4);
    }
    drop(follower.end().unwrap());
    let local = PrimaryOptions {
        degree: Degree::Local,
        node: 2,
        ..primary_options(&b, plain_journal(), &[])
    };
    assert!(matches!(Primary::open(local.clone()), Err(Error::Fenced { .. })), "nobody said so");
    assert_eq!(promote(&b).unwrap().to_string(), "2.2.1");
    let mut primary = Primary::open(local).unwrap();
    send(&mut primary, 16..=20);
    assert!(matches!(promote(&dir.path().join("none")), Err(Error::State { .. })));
}

#[test]
fn a_later_primary_ends_the_reign_of_one_that_listens() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a"), dir.path().join("b"));
    let follower = follow(secondary_options(&b, plain_journal()));
    let mut old = ready(primary_options(&a, plain_journal(), &[follower.address()]));
    send(&mut old, 1..=5);
    let door = Secondary::open(secondary_options(&dir.path().join("free"), plain_journal()));
    let door = door.unwrap().address();
    old.listen(door).unwrap();
    let mut new =
        follower.end().unwrap().promote(primary_options(&b, plain_journal(), &[door])).unwrap();
    new.poll().unwrap();
    assert!(matches!(until_error(&mut old), Error::Fenced { .. }));
}

#[test]
fn strangers_wrong_stores_and_noise_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let b = follow(secondary_options(&dir.path().join("b"), plain_journal()));
    // Bytes of another program: the connection is closed, and the next one is served.
    let mut stranger = TcpStream::connect(b.address()).unwrap();
    stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    stranger.set_read_timeout(Some(LONG)).unwrap();
    let mut answer = Vec::new();
    let _ = stranger.read_to_end(&mut answer);
    assert!(answer.is_empty());
    // A primary that wants durable messages from a store that does not sync.
    let options = primary_options(&dir.path().join("a"), plain_journal(), &[b.address()]);
    let durable = PrimaryOptions { degree: Degree::Durable, ..options.clone() };
    let mut primary = Primary::open(durable).unwrap();
    let absent = until(&mut primary, "absent", |event| matches!(event, Event::Absent { .. }));
    assert!(absent.to_string().contains("does not sync"), "{absent}");
    drop(primary);
    let mut primary = ready(options);
    send(&mut primary, 1..=3);
    // A primary of another pair, and one with the number of the secondary.
    for (name, node) in [("other", 1), ("same", 2)] {
        let options = primary_options(&dir.path().join(name), plain_journal(), &[b.address()]);
        let mut other = Primary::open(PrimaryOptions { node, ..options }).unwrap();
        let absent = until(&mut other, "absent", |event| matches!(event, Event::Absent { .. }));
        assert!(absent.to_string().contains("another pair"), "{absent}");
    }
    send(&mut primary, 4..=6);
}

#[test]
fn a_refusal_is_a_frame_that_names_the_epoch_which_is_followed() {
    let dir = tempfile::tempdir().unwrap();
    let b = follow(secondary_options(&dir.path().join("b"), plain_journal()));
    let options = primary_options(&dir.path().join("a"), plain_journal(), &[b.address()]);
    let mut primary = ready(options);
    send(&mut primary, 1..=2);
    let mut stream = TcpStream::connect(b.address()).unwrap();
    let state = read_state(&dir.path().join("a")).unwrap().unwrap();
    let greeting = pickfs_pair::wire::Greeting {
        identity: state.identity,
        epoch: pickfs_pair::Epoch::parse("1.1.0").unwrap(),
        node: 1,
        last: Default::default(),
    };
    let mut hello = Vec::new();
    Frame::Hello { greeting, wants: pickfs_pair::wire::Wants::Received }.encode(&mut hello);
    stream.write_all(&hello).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let (frame, _) = parse(&answer).unwrap().unwrap();
    assert_eq!(frame, Frame::Refused { reason: Reason::Fenced, epoch: state.epoch });
    send(&mut primary, 3..=4);
}
