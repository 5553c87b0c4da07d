//! The primary is killed at random points under load, the secondary that is furthest is promoted, and the dead one comes
//! back as a secondary. What was acknowledged is there, whatever was waited for. Addresses of the loopback are the
//! hosts; no privilege is needed.
#![allow(clippy::unwrap_used)]

mod hosts;

use std::time::Duration;

use hosts::{Hosts, Node, line, scrambled};
use rustix::process::Signal;

/// What the operator does: looks at all when they have taken what came, and promotes the furthest.
fn promote(hosts: &Hosts, secondaries: &mut Vec<Node>) -> Node {
    for secondary in &*secondaries {
        secondary.wait_said_last(&["the primary is gone", "are set aside"]);
    }
    let furthest = (0..secondaries.len()).max_by_key(|at| hosts.dump(secondaries[*at].host).len());
    let promoted = secondaries.remove(furthest.unwrap());
    hosts.promote(promoted.host);
    promoted.ready();
    promoted
}

fn kill_primaries(nodes: u8, rounds: u64, words: &[&str]) {
    let hosts = Hosts::new(nodes);
    let mut secondaries: Vec<Node> = (2..=nodes).map(|node| hosts.secondary(node, words)).collect();
    let mut primary = hosts.primary(1, words);
    let mut acknowledged: Vec<String> = Vec::new();
    for round in 0..rounds {
        let base = primary.ready();
        assert!(base as usize >= acknowledged.len(), "round {round}: begins after {base}");
        for secondary in &secondaries {
            secondary.wait_said_last(&["in epoch"]);
        }
        primary.load(round);
        primary.wait_safe(base + 1);
        // SLEEP: the kill comes wherever the primary is then.
        std::thread::sleep(Duration::from_micros(scrambled(round) % 60_000));
        let (safe, dead) = (primary.kill(), primary.host);
        assert!(safe > base, "round {round}");
        primary = promote(&hosts, &mut secondaries);

        // All that was there before, then what this primary has acknowledged.
        let kept = hosts.dump(primary.host);
        assert!(kept.len() as u64 >= safe, "round {round}: {safe} safe, {} kept", kept.len());
        assert_eq!(kept[..acknowledged.len()], acknowledged, "round {round}");
        for (sequence, kept) in (base + 1..=safe).zip(&kept[base as usize..]) {
            assert_eq!(*kept, line(round, sequence - base), "round {round}: {sequence}");
        }
        acknowledged = kept;
        secondaries.push(hosts.secondary(dead, words));
    }
    primary.load(rounds);
    primary.wait_safe(acknowledged.len() as u64 + 100);
}

const DURABLE: &[&str] = &["--degree", "durable", "--sync", "fdatasync"];

#[test]
fn a_primary_that_is_killed_under_load_loses_nothing_that_was_acknowledged() {
    kill_primaries(2, 10, &[]);
    kill_primaries(2, 5, &["--store", "queue"]);
    kill_primaries(2, 5, DURABLE);
}

#[test]
fn one_copy_of_two_is_enough_when_the_furthest_is_promoted() {
    kill_primaries(3, 6, &["--copies", "1"]);
    kill_primaries(3, 4, DURABLE);
}

#[test]
fn two_copies_of_two_are_on_whichever_is_promoted() {
    kill_primaries(3, 4, &["--copies", "2", "--store", "queue"]);
}

#[test]
#[ignore = "heavy: three hundred kills"]
fn three_hundred_primaries_are_killed() {
    // Each round reads all stores: twenty rounds on each pair of them.
    (0..5).for_each(|_| kill_primaries(2, 20, &[]));
    for _ in 0..3 {
        kill_primaries(2, 17, &["--store", "queue"]);
        kill_primaries(2, 17, DURABLE);
    }
    kill_primaries(3, 50, &["--copies", "1"]);
    kill_primaries(3, 25, &["--copies", "2"]);
    kill_primaries(3, 25, DURABLE);
}

#[cfg(feature = "aeron")]
#[test]
fn what_went_over_aeron_is_there_after_kills_too() {
    kill_primaries(3, 4, &["--copies", "1", "--transport", "aeron"]);
}

#[test]
fn a_secondary_that_sleeps_stops_the_primary_and_one_that_wakes_up_catches_up() {
    let hosts = Hosts::new(2);
    let mut primary = hosts.primary(1, &["--timeout", "700", "--buffer", "65536"]);
    let mut secondary = hosts.secondary(2, &["--timeout", "5000"]);
    primary.ready();
    primary.load(0);
    primary.wait_safe(100);
    secondary.signal(Signal::STOP);
    primary.program.until("is lost");
    let safe = primary.settled();
    secondary.signal(Signal::CONT);
    primary.wait_safe(safe + 1_000);
    primary.pause_load();
    let safe = primary.safe();
    secondary.signal(Signal::TERM);
    assert!(secondary.program.end(), "{}", secondary.program.said());
    assert!(hosts.dump(2).len() as u64 >= safe);
}

#[test]
fn an_old_primary_that_is_started_again_is_refused_and_says_so() {
    let hosts = Hosts::new(2);
    let secondary = hosts.secondary(2, &[]);
    let mut primary = hosts.primary(1, &[]);
    primary.ready();
    primary.load(0);
    primary.wait_safe(100);
    primary.kill();
    secondary.wait_said_last(&["the primary is gone"]);
    hosts.promote(2);
    secondary.ready();
    let mut old = hosts.primary(1, &[]);
    old.load(1);
    old.program.until("start this node as a secondary");
    assert!(!old.program.end(), "{}", old.program.said());
    assert_eq!(old.safe(), 0, "{}", old.program.said());
}
