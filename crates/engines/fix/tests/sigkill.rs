//! Engines are killed at random points under load, again and again, and start again or have a copy on another host that
//! is promoted: no acknowledged order is lost, none is acknowledged twice, and sessions go on with the right numbers.

#![allow(clippy::unwrap_used)]

mod peer;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};
use std::time::{Duration, Instant};

use peer::Peer;
use pickfs_fix::codec::{Version, tag};
use pickfs_fix::now;
use pickfs_pair::request_promotion;
use pickfs_testkit::{Dice, PATIENCE, Program};
use tempfile::TempDir;

const FIRST: u8 = 1;
const SECOND: u8 = 2;

/// Two addresses of the loopback that are two hosts, each with a directory of its own.
struct Hosts {
    directory: TempDir,
    words: Vec<&'static str>,
    port: u16,
}

impl Hosts {
    fn new(words: &[&'static str]) -> Hosts {
        static PORT: AtomicU16 = AtomicU16::new(7310);
        let (directory, port) = (tempfile::tempdir().unwrap(), PORT.fetch_add(1, Relaxed));
        Hosts { directory, words: words.to_vec(), port }
    }

    fn of_a_pair(degree: &'static str, patience_ms: &'static str) -> Hosts {
        Hosts::new(&["--store", "pair", "--degree", degree, "--patience", patience_ms])
    }

    fn directory(&self, host: u8) -> PathBuf {
        self.directory.path().join(format!("host-{host}"))
    }

    /// An address that no other process uses, so that nobody takes its port while nobody listens there.
    fn address(&self, host: u8) -> String {
        let [.., high, low] = std::process::id().to_be_bytes();
        format!("127.{}.{low}.{host}:{}", 100 + high % 100, self.port)
    }

    fn start(&self, host: u8, words: &[&str]) -> Program {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fix-engine"));
        command.arg(self.directory(host)).args(&self.words).args(words);
        if self.words.contains(&"pair") {
            let other = self.address(FIRST + SECOND - host);
            command.args(["--node", &host.to_string(), "--secondary", &other]);
        }
        Program::start(command.args(["--file-bytes", "262144"]))
    }

    fn standby(&self, host: u8) -> Program {
        let words = ["--follow", &self.address(host), "--on-diverged", "set-aside"];
        let standby = self.start(host, &words);
        standby.until("following at ");
        standby
    }

    fn promote(&self, host: u8) {
        request_promotion(&self.directory(host).join("pair"), PATIENCE).unwrap();
    }
}

struct Trader {
    peer: Peer,
    orders: u64,
    dice: Dice,
}

impl Trader {
    fn new(seed: u64) -> Trader {
        Trader { peer: Peer::new(Version::Fix44, "CLIENT"), orders: 0, dice: Dice::new(seed) }
    }

    fn log_on(&mut self, engine: &Program) {
        let address = engine.until("listening on ").parse().unwrap();
        assert!(self.peer.log_on(address), "{:?}", self.peer.client.ending());
    }

    /// Sends orders until the engine is dead; they may be on their way when it dies. Most rest, some trade.
    fn trade_until_killed(&mut self, engine: &mut Program) {
        let kill_at = Instant::now() + Duration::from_micros(500 + self.dice.below(40_000) as u64);
        while Instant::now() < kill_at {
            for _ in 0..=self.dice.below(4) {
                self.orders += 1;
                let (side, price) = match self.orders % 4 {
                    0 => ("2", "100"),
                    1 => ("1", "100"),
                    _ => ("1", "1"),
                };
                self.peer.order(&format!("order-{}", self.orders), side, 1, price);
            }
            if !self.peer.exchange() {
                break;
            }
        }
        engine.kill();
        self.peer.cut();
    }

    /// Every order was acknowledged once, numbers rise, and what rests is in the book, once.
    fn check_all(&mut self) {
        let orders = self.orders;
        let is_all_there = self.peer.until(|peer| new_reports(peer).len() as u64 == orders);
        let counts = new_reports(&self.peer);
        assert!(is_all_there, "{} of {orders} orders were acknowledged", counts.len());
        assert!(counts.values().all(|count| *count == 1), "an order was acknowledged twice");
        assert!(self.peer.told.is_sorted_by(|before, after| before.2 < after.2));
        let resting: Vec<u64> = (1..=orders).filter(|order| order % 4 > 1).collect();
        let told_before = self.peer.told.len();
        for order in &resting {
            let now = now();
            self.peer.client.send(b"F", now, |message| {
                message.text(tag::CL_ORD_ID, &format!("cancel-{order}"));
                message.text(tag::ORIG_CL_ORD_ID, &format!("order-{order}"));
                message.text(tag::SYMBOL, "ACME").text(tag::SIDE, "1");
                message.time(tag::TRANSACT_TIME, now.utc_ns);
            });
        }
        assert!(self.peer.until(|peer| peer.told.len() >= told_before + resting.len()));
        let canceled = self.peer.told[told_before..].iter().filter(|told| told.1 == "4");
        assert_eq!(canceled.count(), resting.len());
    }
}

fn new_reports(peer: &Peer) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for (name, ..) in peer.told.iter().filter(|told| told.1 == "0") {
        *counts.entry(name.as_str()).or_default() += 1;
    }
    counts
}

/// The engine is killed and started again where it was: what it had sent and not kept comes back from its standby.
fn goes_on_in_its_place(hosts: &Hosts, kills: u64) {
    let mut trader = Trader::new(7 * kills);
    let mut engine = hosts.start(FIRST, &[]);
    for _ in 0..kills {
        trader.log_on(&engine);
        trader.trade_until_killed(&mut engine);
        engine = hosts.start(FIRST, &[]);
    }
    trader.log_on(&engine);
    trader.check_all();
}

fn goes_on_alone(store: &'static str, kills: u64) {
    goes_on_in_its_place(&Hosts::new(&["--store", store]), kills);
}

fn goes_on_beside_a_standby(kills: u64) {
    let hosts = Hosts::of_a_pair("received", "60000");
    let _standby = hosts.standby(SECOND);
    goes_on_in_its_place(&hosts, kills);
}

/// The engine is killed, the standby promoted, and the dead one comes back as its standby.
fn fails_over(degree: &'static str, kills: u64) {
    let hosts = Hosts::of_a_pair(degree, "60000");
    let mut trader = Trader::new(kills);
    let (mut standby, mut engine) = (hosts.standby(SECOND), hosts.start(FIRST, &[]));
    let (mut there, mut here) = (SECOND, FIRST);
    for _ in 0..kills {
        trader.log_on(&engine);
        trader.trade_until_killed(&mut engine);
        hosts.promote(there);
        (engine, standby) = (standby, hosts.standby(here));
        (here, there) = (there, here);
    }
    trader.log_on(&engine);
    trader.check_all();
    drop(standby);
}

#[test]
fn an_engine_on_the_queue_is_killed_thirty_times() {
    goes_on_alone("queue", 30);
}

#[test]
fn an_engine_on_the_journal_is_killed_ten_times() {
    goes_on_alone("journal", 10);
}

#[test]
fn an_engine_on_the_synced_journal_is_killed_ten_times() {
    goes_on_alone("journal-fdatasync", 10);
}

#[test]
fn a_standby_that_is_promoted_goes_on_with_every_session() {
    fails_over("received", 12);
}

#[test]
fn a_standby_that_has_synced_goes_on_with_every_session() {
    fails_over("durable", 4);
}

#[test]
fn an_engine_that_starts_again_goes_on_with_every_session() {
    goes_on_beside_a_standby(12);
}

#[test]
#[ignore = "heavy: a thousand kills on the queue, two hundred of a pair"]
fn twelve_hundred_engines_are_killed() {
    // A start reads all of its store, so that a thousand on one would read most of the time: 41 to 60 on each.
    (41..=60).for_each(|kills| goes_on_alone("queue", kills));
    fails_over("received", 100);
    fails_over("durable", 50);
    goes_on_beside_a_standby(50);
}

#[test]
fn an_engine_without_its_standby_says_whom_it_misses_and_ends() {
    let hosts = Hosts::of_a_pair("received", "50");
    let mut engine = hosts.start(FIRST, &[]);
    engine.until("does not follow");
    engine.until("0 of 1 secondaries are there");
    assert!(!engine.end());
}
