//! An engine with a copy on another host is killed under load: the other is promoted, or the same one starts again in
//! its place. Sessions go on with the right numbers either way, no acknowledged order is lost, and none is
//! acknowledged twice. Two addresses of the loopback are the two hosts; each has a directory of its own.

#![allow(clippy::unwrap_used)]

mod kills;
mod peer;

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU16, Ordering::Relaxed},
};
use std::thread;
use std::time::{Duration, Instant};

use kills::Trader;
use peer::Peer;
use pickfs_fix::codec::Version;
use pickfs_pair::request_promotion;
use tempfile::TempDir;

const LONG: Duration = Duration::from_secs(60);
/// The hosts by the numbers of their nodes.
const FIRST: u8 = 1;
const SECOND: u8 = 2;

/// Both hosts.
struct Hosts {
    directory: TempDir,
    degree: &'static str,
    port: u16,
}

impl Hosts {
    fn new(degree: &'static str) -> Hosts {
        static PORT: AtomicU16 = AtomicU16::new(7310);
        let port = PORT.fetch_add(1, Relaxed);
        Hosts { directory: tempfile::tempdir().unwrap(), degree, port }
    }

    fn directory(&self, host: u8) -> PathBuf {
        self.directory.path().join(format!("host-{host}"))
    }

    /// An address that no other process uses, so that nobody takes its port while nobody listens there.
    fn address(&self, host: u8) -> String {
        let [.., high, low] = std::process::id().to_be_bytes();
        format!("127.{}.{low}.{host}:{}", 100 + high % 100, self.port)
    }

    fn start(&self, host: u8, words: &[&str]) -> Running {
        let other = self.address(FIRST + SECOND - host);
        let mut command = Command::new(env!("CARGO_BIN_EXE_fix-engine"));
        command.arg(self.directory(host)).args(["--store", "pair", "--file-bytes", "1048576"]);
        command.args(["--node", &host.to_string(), "--secondary", &other]);
        command.args(["--degree", self.degree, "--patience", "60000"]).args(words);
        Running::start(host, &mut command)
    }

    fn primary(&self, host: u8) -> Running {
        self.start(host, &[])
    }

    /// One that follows, and is the engine when it is promoted.
    fn standby(&self, host: u8) -> Running {
        let words = ["--follow", &self.address(host), "--on-diverged", "set-aside"];
        let standby = self.start(host, &words);
        standby.until("following at ");
        standby
    }

    fn promote(&self, host: u8) {
        request_promotion(&self.directory(host).join("pair"), LONG).unwrap();
    }
}

/// An engine; killed when it is dropped.
struct Running {
    host: u8,
    child: Child,
    said: Arc<Mutex<String>>,
}

impl Running {
    fn start(host: u8, command: &mut Command) -> Running {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let said = Arc::<Mutex<String>>::default();
        listen(child.stdout.take().unwrap(), &said);
        listen(child.stderr.take().unwrap(), &said);
        Running { host, child, said }
    }

    /// Waits until it has said this; gives the rest of the line.
    fn until(&self, words: &str) -> String {
        let began = Instant::now();
        loop {
            let said = self.said.lock().unwrap().clone();
            if let Some((_, behind)) = said.split_once(words) {
                return behind.lines().next().unwrap_or_default().into();
            }
            assert!(began.elapsed() < LONG, "host {}: no `{words}`, but:\n{said}", self.host);
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn listening(&self) -> SocketAddr {
        self.until("listening on ").parse().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whole lines alone are told.
fn listen(stream: impl Read + Send + 'static, said: &Arc<Mutex<String>>) {
    let said = Arc::clone(said);
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            let mut said = said.lock().unwrap();
            said.push_str(&line);
            said.push('\n');
        }
    });
}

fn trader(seed: u64) -> Trader {
    Trader::new(Peer::new(Version::Fix44, "CLIENT"), seed)
}

fn log_on(trader: &mut Trader, engine: &Running) {
    assert!(trader.peer.log_on(engine.listening()), "{:?}", trader.peer.client.ending());
}

/// The engine is killed, the standby promoted, and the dead one comes back as its standby.
fn fails_over(degree: &'static str, kills: u64) {
    let hosts = Hosts::new(degree);
    let mut trader = trader(kills);
    let (mut standby, mut engine) = (hosts.standby(SECOND), hosts.primary(FIRST));
    for _ in 0..kills {
        log_on(&mut trader, &engine);
        trader.trade_until_killed(&mut engine.child);
        let returned = hosts.standby_beside_promotion(engine.host, standby.host);
        (engine, standby) = (standby, returned);
    }
    log_on(&mut trader, &engine);
    trader.check_all();
}

impl Hosts {
    fn standby_beside_promotion(&self, dead: u8, promoted: u8) -> Running {
        self.promote(promoted);
        self.standby(dead)
    }
}

/// The engine is killed and started again where it was: what it had sent and not kept comes back from its standby.
fn goes_on_in_its_place(degree: &'static str, kills: u64) {
    let hosts = Hosts::new(degree);
    let mut trader = trader(7 * kills);
    let (_standby, mut engine) = (hosts.standby(SECOND), hosts.primary(FIRST));
    for _ in 0..kills {
        log_on(&mut trader, &engine);
        trader.trade_until_killed(&mut engine.child);
        engine = hosts.primary(FIRST);
    }
    log_on(&mut trader, &engine);
    trader.check_all();
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
    goes_on_in_its_place("received", 12);
}

#[test]
#[ignore = "heavy: two hundred kills"]
fn an_engine_with_a_standby_is_killed_two_hundred_times() {
    fails_over("received", 100);
    fails_over("durable", 50);
    goes_on_in_its_place("received", 50);
}

#[test]
fn an_engine_without_its_standby_says_whom_it_misses_and_ends() {
    let hosts = Hosts::new("received");
    let mut engine = hosts.start(FIRST, &["--patience", "50"]);
    engine.until("does not follow");
    engine.until("0 of 1 secondaries are there");
    assert!(!engine.child.wait().unwrap().success());
}
