//! Three nodes: the primary is killed under load, the one of the other two that is furthest is promoted, and the dead
//! one comes back as a secondary. What was acknowledged is there, whether one copy was waited for or both. Three
//! addresses of the loopback are the hosts; no privilege is needed.
#![allow(clippy::unwrap_used)]

mod hosts;

use std::{
    path::PathBuf,
    process::Command,
    sync::atomic::{AtomicU16, Ordering::Relaxed},
    time::Duration,
};

use hosts::{Host, Node, dump, line, scrambled};
use pickfs_pair::request_promotion;
use tempfile::TempDir;

const LONG: Duration = pickfs_testkit::PATIENCE;
const NODES: [Host; 3] = [1, 2, 3];

struct Trio {
    dir: TempDir,
    port: u16,
    words: Vec<&'static str>,
}

impl Trio {
    fn new(words: &[&'static str]) -> Trio {
        static PORT: AtomicU16 = AtomicU16::new(7340);
        let (dir, port) = (tempfile::tempdir().unwrap(), PORT.fetch_add(1, Relaxed));
        Trio { dir, port, words: words.to_vec() }
    }

    fn dir(&self, node: Host) -> PathBuf {
        self.dir.path().join(format!("node-{node}"))
    }

    /// One that no other process uses.
    fn address(&self, node: Host) -> String {
        let [.., high, low] = std::process::id().to_be_bytes();
        format!("127.{}.{low}.{node}:{}", 100 + high % 100, self.port)
    }

    fn start(&self, node: Host, verb: &str, more: &[&str]) -> Node {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pickfs-pair"));
        command.arg(verb).arg("--dir").arg(self.dir(node)).args(&self.words).args(more);
        command.args(["--file-bytes", "1048576", "--node", &node.to_string()]);
        for other in NODES.into_iter().filter(|other| *other != node) {
            command.args(["--secondary", &self.address(other)]);
        }
        Node::start(node, &mut command)
    }

    fn secondary(&self, node: Host) -> Node {
        let words = ["--listen", &self.address(node), "--on-diverged", "set-aside"];
        self.start(node, "secondary", &words)
    }

    /// What the operator does: looks at both when they have taken what came, and promotes the furthest.
    fn promote(&self, secondaries: &[Node]) -> Host {
        for secondary in secondaries {
            secondary.wait_said_last(&["the primary is gone", "are set aside"], LONG);
        }
        let furthest = secondaries.iter().max_by_key(|node| dump(&self.dir(node.host)).len());
        let furthest = furthest.unwrap().host;
        request_promotion(&self.dir(furthest), LONG).unwrap();
        furthest
    }
}

fn kill_primaries(rounds: u64, words: &[&'static str]) {
    let trio = Trio::new(words);
    let mut secondaries = vec![trio.secondary(2), trio.secondary(3)];
    let mut primary = trio.start(1, "primary", &[]);
    let mut acknowledged: Vec<String> = Vec::new();
    for round in 0..rounds {
        let base = primary.ready(LONG);
        assert!(base as usize >= acknowledged.len(), "round {round}: begins after {base}");
        for secondary in &secondaries {
            secondary.wait_said_last(&["in epoch"], LONG);
        }
        primary.load(round);
        primary.wait_safe(base + 1, LONG);
        // SLEEP: the kill comes wherever the primary is then.
        std::thread::sleep(Duration::from_micros(scrambled(round) % 40_000));
        let safe = primary.kill();
        let promoted = trio.promote(&secondaries);
        let (dead, place) = (primary.host, secondaries.iter().position(|it| it.host == promoted));
        primary = secondaries.remove(place.unwrap());
        primary.ready(LONG);
        let kept = dump(&trio.dir(promoted));
        assert!(kept.len() as u64 >= safe, "round {round}: {safe} safe, {} kept", kept.len());
        assert_eq!(kept[..acknowledged.len()], acknowledged, "round {round}");
        for (sequence, kept) in (base + 1..=safe).zip(&kept[base as usize..]) {
            assert_eq!(*kept, line(round, sequence - base), "round {round}: {sequence}");
        }
        acknowledged = kept;
        secondaries.push(trio.secondary(dead));
    }
    primary.load(rounds);
    primary.wait_safe(acknowledged.len() as u64 + 100, LONG);
}

#[test]
fn one_copy_of_two_is_enough_when_the_furthest_is_promoted() {
    kill_primaries(6, &["--copies", "1"]);
}

#[test]
fn two_copies_of_two_are_on_whichever_is_promoted() {
    kill_primaries(4, &["--copies", "2", "--store", "queue"]);
}

#[test]
fn one_durable_copy_of_two_is_enough_when_the_furthest_is_promoted() {
    kill_primaries(4, &["--copies", "1", "--degree", "durable", "--sync", "fdatasync"]);
}

#[test]
#[ignore = "heavy: a hundred kills"]
fn a_hundred_primaries_of_three_nodes_are_killed() {
    kill_primaries(50, &["--copies", "1"]);
    kill_primaries(25, &["--copies", "2"]);
    kill_primaries(25, &["--copies", "1", "--degree", "durable", "--sync", "fdatasync"]);
}

#[cfg(feature = "aeron")]
#[test]
fn what_went_over_aeron_is_there_after_kills_too() {
    kill_primaries(4, &["--copies", "1", "--transport", "aeron"]);
}
