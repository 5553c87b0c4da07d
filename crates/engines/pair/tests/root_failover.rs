//! Two hosts in two network namespaces: the primary is killed at random points under load, the network is cut and
//! heals, a secondary sleeps. No message that was acknowledged is lost. Needs root and `ip` (iproute2).
//!
//! In `./test` the primary dies 20 times; the heavy ring kills 200.
#![allow(clippy::unwrap_used)]

mod hosts;

use std::time::Duration;

use hosts::{HOST_A, HOST_B, Hosts, Node, can_run, dump, scrambled};
use pickfs_testkit::{only_if, until};

const LONG: Duration = pickfs_testkit::PATIENCE;

fn kill_primaries(rounds: u64, words: &[&str]) {
    let hosts = Hosts::new();
    let mut primary = hosts.primary(HOST_A, words);
    let mut secondary = hosts.secondary(HOST_B, words);
    let mut acknowledged: Vec<String> = Vec::new();
    for round in 0..rounds {
        let base = primary.ready(LONG);
        assert!(base as usize >= acknowledged.len(), "round {round}: begins after {base}");
        primary.load(round);
        primary.wait_safe(base + 1, LONG);
        // SLEEP: from 0 to 60 ms of load at full speed.
        std::thread::sleep(Duration::from_micros(scrambled(round) % 60_000));
        let safe = primary.kill();
        assert!(safe > base, "round {round}");
        let promoted = hosts.promote(secondary.host);
        assert!(promoted.contains("promoted: epoch"), "{promoted}");
        secondary.ready(LONG);

        // All that was there before, then what this primary has acknowledged.
        let kept = dump(&hosts.dir(secondary.host));
        assert!(kept.len() as u64 >= safe, "round {round}: {safe} safe, {} kept", kept.len());
        assert_eq!(kept[..acknowledged.len()], acknowledged, "round {round}");
        for (sequence, line) in (base + 1..=safe).zip(&kept[base as usize..]) {
            assert_eq!(*line, hosts::line(round, sequence - base), "round {round}: {sequence}");
        }
        acknowledged = kept;
        let returned = hosts.secondary(primary.host, words);
        (primary, secondary) = (secondary, returned);
    }
    let last = acknowledged.len() as u64;
    primary.load(rounds);
    primary.wait_safe(last + 100, LONG);
}

#[test]
fn a_primary_that_is_killed_under_load_loses_nothing_that_was_acknowledged() {
    only_if!(can_run());
    kill_primaries(10, &["--degree", "received"]);
    kill_primaries(5, &["--degree", "received", "--store", "queue"]);
    kill_primaries(5, &["--degree", "durable", "--sync", "fdatasync"]);
}

#[test]
#[ignore = "heavy: two hundred kills"]
fn a_primary_that_is_killed_two_hundred_times_loses_nothing_that_was_acknowledged() {
    only_if!(can_run());
    // Each round reads all of both stores: twenty rounds on each pair of them.
    for _ in 0..5 {
        kill_primaries(20, &["--degree", "received"]);
    }
    for _ in 0..3 {
        kill_primaries(17, &["--degree", "received", "--store", "queue"]);
        kill_primaries(17, &["--degree", "durable", "--sync", "fdatasync"]);
    }
}

#[test]
fn a_cut_network_stops_acknowledgements_and_a_healed_one_catches_up() {
    only_if!(can_run());
    let hosts = Hosts::new();
    let mut primary = hosts.primary(HOST_A, &["--timeout", "400"]);
    let secondary = hosts.secondary(HOST_B, &["--timeout", "400"]);
    primary.ready(LONG);
    primary.load(0);
    primary.wait_safe(100, LONG);
    hosts.cut();
    primary.wait_said("is lost: silent for 400 ms", LONG);
    let safe = primary.settled();
    hosts.heal();
    primary.wait_safe(safe + 1_000, LONG);
    secondary.wait_said("follows", LONG);
}

#[test]
fn a_cut_network_lets_a_primary_degrade_that_was_told_to() {
    only_if!(can_run());
    let hosts = Hosts::new();
    let mut primary = hosts.primary(HOST_A, &["--timeout", "400", "--on-loss", "degrade"]);
    let _secondary = hosts.secondary(HOST_B, &["--timeout", "400"]);
    primary.wait_said("restored: copies of all up to message 0", LONG);
    primary.ready(LONG);
    primary.load(0);
    primary.wait_safe(100, LONG);
    hosts.cut();
    primary.wait_said_again("degraded: behind message", LONG);
    primary.wait_safe(primary.safe() + 10_000, LONG);
    hosts.heal();
    primary.pause_load();
    primary.wait_said_again("restored: copies of all", LONG);
}

#[test]
fn a_secondary_that_sleeps_stops_the_primary_and_one_that_wakes_up_catches_up() {
    only_if!(can_run());
    let hosts = Hosts::new();
    let words = ["--timeout", "700", "--buffer", "65536"];
    let mut primary = hosts.primary(HOST_A, &words);
    let secondary = hosts.secondary(HOST_B, &["--timeout", "5000"]);
    primary.ready(LONG);
    primary.load(0);
    primary.wait_safe(100, LONG);
    secondary.sleep();
    primary.wait_said("is lost", LONG);
    let safe = primary.settled();
    secondary.wake();
    primary.wait_safe(safe + 1_000, LONG);
}

#[test]
fn an_old_primary_that_is_started_again_is_refused_and_says_so() {
    only_if!(can_run());
    let hosts = Hosts::new();
    let mut primary = hosts.primary(HOST_A, &[]);
    let secondary = hosts.secondary(HOST_B, &[]);
    primary.ready(LONG);
    primary.load(0);
    primary.wait_safe(100, LONG);
    primary.kill();
    hosts.promote(HOST_B);
    secondary.ready(LONG);
    let mut old = hosts.primary(HOST_A, &[]);
    until("the end of the old primary", || (!old.is_alive()).then_some(()));
    assert_eq!(old.safe(), 0, "it acknowledges nothing");
    old.wait_said("is over", LONG);
    old.wait_said("start this node as a secondary", LONG);
}

#[test]
fn a_secondary_that_joins_late_has_all_that_was_before_it() {
    only_if!(can_run());
    let hosts = Hosts::new();
    let mut primary = hosts.primary(HOST_A, &["--on-loss", "degrade"]);
    primary.ready(LONG);
    primary.load(0);
    primary.wait_safe(5_000, LONG);
    primary.pause_load();
    let secondary = hosts.secondary(HOST_B, &[]);
    primary.wait_said("restored", LONG);
    let safe = primary.safe();
    drop(Node::stopped(secondary));
    assert!(dump(&hosts.dir(HOST_B)).len() as u64 >= safe);
}
