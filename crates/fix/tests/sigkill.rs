//! The engine is killed at random points under load, again and again: no acknowledged order is lost, none is
//! acknowledged twice, and sessions go on with the right numbers.

#![allow(clippy::unwrap_used)]

mod peer;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use peer::Peer;
use pickfs_fix::codec::{Version, tag};
use pickfs_fix::now;

/// A running engine; killed when it is dropped.
struct Running {
    child: Child,
    address: SocketAddr,
}

fn start(directory: &Path, store: &str) -> Running {
    let mut child = Command::new(env!("CARGO_BIN_EXE_fix-engine"))
        .arg(directory)
        .args(["--store", store, "--file-bytes", "262144"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("listening on ").expect(&line).parse().unwrap();
    Running { child, address }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A small generator: what matters is that points differ from kill to kill.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// Sends orders until the engine is dead; they may be on their way when it dies. Most rest, some trade.
fn trade_until_killed(peer: &mut Peer, running: &mut Running, orders: &mut u64, dice: &mut Dice) {
    let kill_at = Instant::now() + Duration::from_micros(500 + dice.below(40_000));
    while Instant::now() < kill_at {
        for _ in 0..=dice.below(4) {
            *orders += 1;
            let (side, price) = match *orders % 4 {
                0 => ("2", "100"),
                1 => ("1", "100"),
                _ => ("1", "1"),
            };
            peer.order(&format!("order-{orders}"), side, 1, price);
        }
        if !peer.exchange() {
            break;
        }
    }
    running.child.kill().unwrap();
    running.child.wait().unwrap();
    peer.cut();
}

fn new_reports(peer: &Peer) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for (name, exec_type, _) in &peer.told {
        if exec_type == "0" {
            *counts.entry(name.as_str()).or_default() += 1;
        }
    }
    counts
}

fn survives(store: &str, kills: u32) {
    let directory = tempfile::tempdir().unwrap();
    let (mut peer, mut dice) = (Peer::new(Version::Fix44, "CLIENT"), Dice(u64::from(kills)));
    let mut orders = 0;
    for _ in 0..kills {
        let mut running = start(directory.path(), store);
        assert!(peer.log_on(running.address), "{:?}", peer.client.ending());
        trade_until_killed(&mut peer, &mut running, &mut orders, &mut dice);
    }
    let running = start(directory.path(), store);
    assert!(peer.log_on(running.address), "{:?}", peer.client.ending());
    let all = usize::try_from(orders).unwrap();
    let is_all_there = peer.until(|peer| new_reports(peer).len() == all);
    let counts = new_reports(&peer);
    assert!(is_all_there, "{} of {orders} orders were acknowledged", counts.len());
    assert!(counts.values().all(|count| *count == 1), "an order was acknowledged twice");
    let sequences: Vec<u64> = peer.told.iter().map(|(_, _, sequence)| *sequence).collect();
    assert!(sequences.is_sorted_by(|before, after| before < after));
    every_resting_order_can_be_cancelled(&mut peer, orders);
    drop(running);
}

/// What was acknowledged and not filled is in the book, once.
fn every_resting_order_can_be_cancelled(peer: &mut Peer, orders: u64) {
    let resting: Vec<u64> = (1..=orders).filter(|order| order % 4 > 1).collect();
    let told_before = peer.told.len();
    for order in &resting {
        let (name, now) = (format!("order-{order}"), now());
        peer.client.send(b"F", now, |message| {
            message.text(tag::CL_ORD_ID, &format!("cancel-{order}"));
            message.text(tag::ORIG_CL_ORD_ID, &name).text(tag::SYMBOL, "ACME");
            message.text(tag::SIDE, "1").time(tag::TRANSACT_TIME, now.utc_ns);
        });
    }
    let wanted = resting.len();
    assert!(peer.until(|peer| peer.told.len() >= told_before + wanted));
    let canceled = peer.told[told_before..].iter().filter(|(_, exec_type, _)| exec_type == "4");
    assert_eq!(canceled.count(), wanted);
}

#[test]
fn an_engine_on_the_queue_is_killed_thirty_times() {
    survives("queue", 30);
}

#[test]
fn an_engine_on_the_journal_is_killed_ten_times() {
    survives("journal", 10);
}

#[test]
fn an_engine_on_the_synced_journal_is_killed_ten_times() {
    survives("journal-fdatasync", 10);
}

#[test]
#[ignore = "heavy: a thousand kills"]
fn an_engine_on_the_queue_is_killed_a_thousand_times() {
    survives("queue", 1000);
}
