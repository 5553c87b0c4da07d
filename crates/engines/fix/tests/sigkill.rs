//! The engine is killed at random points under load, again and again: no acknowledged order is lost, none is
//! acknowledged twice, and sessions go on with the right numbers.

#![allow(clippy::unwrap_used)]

mod kills;
mod peer;

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use kills::Trader;
use peer::Peer;
use pickfs_fix::codec::Version;

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

fn survives(store: &str, kills: u32) {
    let directory = tempfile::tempdir().unwrap();
    let mut trader = Trader::new(Peer::new(Version::Fix44, "CLIENT"), u64::from(kills));
    for _ in 0..kills {
        let mut running = start(directory.path(), store);
        assert!(trader.peer.log_on(running.address), "{:?}", trader.peer.client.ending());
        trader.trade_until_killed(&mut running.child);
    }
    let running = start(directory.path(), store);
    assert!(trader.peer.log_on(running.address), "{:?}", trader.peer.client.ending());
    trader.check_all();
    drop(running);
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
    // A start reads all of its store, so that a thousand on one would read most of the time: 41 to 60 on each.
    (41..=60).for_each(|kills| survives("queue", kills));
}
