//! A primary and its secondaries over Aeron: what holds over TCP holds here. Only with the feature `aeron`.

use std::path::Path;

use crate::nodes::*;
use pickfs_pair::{
    Degree, Error, Event, Follower, OnLoss, Primary, PrimaryOptions, Secondary, SecondaryOptions,
    Transport,
};

fn secondary(dir: &Path) -> SecondaryOptions {
    let transport = Transport::Aeron;
    SecondaryOptions { transport, ..secondary_options(&dir.join("b"), durable_journal()) }
}

fn primary(dir: &Path, follower: &Follower) -> PrimaryOptions {
    let options = primary_options(&dir.join("a"), plain_journal(), &[follower.address()]);
    PrimaryOptions { transport: Transport::Aeron, ..options }
}

#[test]
fn every_message_is_in_both_stores() {
    for degree in [Degree::Received, Degree::Durable] {
        let dir = tempfile::tempdir().unwrap();
        let follower = follow(secondary(dir.path()));
        let options = PrimaryOptions { degree, ..primary(dir.path(), &follower) };
        let mut primary = ready(options);
        send(&mut primary, 1..=2_000);
        let secondary = follower.end().unwrap();
        drop((primary, secondary));
        let lasts = ["a", "b"].map(|node| last_in(&dir.path().join(node)));
        assert_eq!((lasts[0].sequence, lasts[0]), (2_000, lasts[1]));
    }
}

#[test]
fn one_that_joins_late_or_comes_back_catches_up() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = secondary(dir.path());
    let follower = follow(options.clone());
    options.listen = follower.address();
    let degrades = PrimaryOptions { on_loss: OnLoss::Degrade, ..primary(dir.path(), &follower) };
    let mut primary = ready(degrades);
    send(&mut primary, 1..=10);
    drop(follower);
    until(&mut primary, "degraded", |event| matches!(event, Event::Degraded { .. }));
    // More than a term: what it gets wraps around, and must wait for room.
    send(&mut primary, 11..=20_000);
    let follower = follow(options);
    until(&mut primary, "restored", |event| matches!(event, Event::Restored { .. }));
    send(&mut primary, 20_001..=20_010);
    drop((primary, follower));
    assert_eq!(last_in(&dir.path().join("b")).sequence, 20_010);
}

#[test]
fn a_promoted_one_tells_the_old_primary_that_it_is_over() {
    let dir = tempfile::tempdir().unwrap();
    let follower = follow(secondary(dir.path()));
    let options = primary(dir.path(), &follower);
    let mut old = ready(options.clone());
    send(&mut old, 1..=10);
    drop(old);
    let nobody = PrimaryOptions { degree: Degree::Local, ..options.clone() };
    let promoted = follower.end().unwrap().promote(nobody).unwrap();
    let mut old = Primary::open(options).unwrap();
    let told = old.wait_ready(LONG).unwrap_err();
    assert!(matches!(told, Error::Fenced { .. }), "{told}");
    assert_eq!(promoted.status().appended, 10);
}

#[test]
fn a_port_is_one_nodes() {
    let dir = tempfile::tempdir().unwrap();
    let first = Secondary::open(secondary(&dir.path().join("first"))).unwrap();
    let listen = first.address();
    let second = SecondaryOptions { listen, ..secondary(&dir.path().join("second")) };
    assert!(Secondary::open(second).is_err());
}
