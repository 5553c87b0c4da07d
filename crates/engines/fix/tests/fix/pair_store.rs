//! An engine on a pair, without sockets of its own: the book sees no order that is on this host alone, and what is
//! kept on either host is enough to go on.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::peer::{at, order};
use pickfs_fix::Client;
use pickfs_fix::codec::Version;
use pickfs_fix::engine::{Engine, EngineError, Settings};
use pickfs_fix::store::{LogStore, PairLog, StoreError};
use pickfs_journal::Options;
use pickfs_pair::{
    Degree, Error, Primary, PrimaryOptions, Secondary, SecondaryOptions, StoreOptions, promote,
};

const LONG: Duration = pickfs_testkit::PATIENCE;

fn small_journal() -> StoreOptions {
    let sync = pickfs_journal::Sync::None;
    StoreOptions::Journal(Options { sync, file_bytes: 1 << 20, ..Options::default() })
}

pub fn options(directory: &Path, secondaries: &[SocketAddr]) -> PrimaryOptions {
    let options = PrimaryOptions::new(directory, secondaries.to_vec());
    PrimaryOptions { store: small_journal(), timeout: LONG, ..options }
}

pub fn secondary(directory: &Path) -> Secondary {
    let options = SecondaryOptions::new(directory, SocketAddr::from(([127, 0, 0, 1], 0)));
    Secondary::open(SecondaryOptions { store: small_journal(), timeout: LONG, ..options }).unwrap()
}

pub struct Follower {
    pub address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Secondary>,
}

impl Follower {
    pub fn start(mut secondary: Secondary) -> Follower {
        let (address, stop) = (secondary.address(), Arc::new(AtomicBool::new(false)));
        let told = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            secondary.run(&told).unwrap();
            secondary
        });
        Follower { address, stop, thread }
    }

    pub fn take(self) -> Secondary {
        self.stop.store(true, Relaxed);
        self.thread.join().unwrap()
    }
}

fn engine(options: PrimaryOptions, patience: Duration) -> Engine {
    let log = PairLog::over(Primary::open(options).unwrap(), patience, drop).unwrap();
    Engine::open(Settings::default(), Box::new(LogStore::new(log)), at(0)).unwrap()
}

fn new_client() -> Client {
    Client::new(Version::Fix44, "CLIENT", "PICKFS", true)
}

fn exchange(engine: &mut Engine, client: &mut Client) -> Vec<crate::peer::Told> {
    let mut told = Vec::new();
    loop {
        let sent = std::mem::take(client.outbox());
        engine.receive(0, &sent, at(1)).unwrap();
        engine.idle(at(1)).unwrap();
        let outbox = engine.outbox(0).unwrap();
        let bytes = outbox.waiting().to_vec();
        outbox.pass(bytes.len());
        client.receive(&bytes, at(1), |message| told.push(crate::peer::told(message)));
        if bytes.is_empty() && client.outbox().is_empty() {
            return told;
        }
    }
}

fn log_on(engine: &mut Engine, client: &mut Client) -> Vec<crate::peer::Told> {
    client.disconnected();
    client.connected(at(1));
    engine.connect(at(1)).unwrap();
    exchange(engine, client)
}

fn send(client: &mut Client, name: &str) {
    client.send(b"D", at(1), |message| order(message, name, "1", 5, "7", at(1)));
}

/// An engine whose secondary keeps its connection and takes nothing any more.
fn abandoned(directory: &Path, client: &mut Client, logs_on: bool) -> (Engine, Secondary) {
    let follower = Follower::start(secondary(&directory.join("b")));
    let options = options(&directory.join("a"), &[follower.address]);
    let mut engine = engine(options, Duration::from_millis(100));
    if logs_on {
        log_on(&mut engine, client);
    }
    (engine, follower.take())
}

fn is_not_safe(error: &EngineError) -> bool {
    matches!(error, EngineError::Store(StoreError::Pair(Error::NotSafe { .. })))
}

#[test]
fn the_book_sees_no_order_that_is_on_this_host_alone() {
    let (directory, mut client) = (tempfile::tempdir().unwrap(), new_client());
    let (mut engine, _asleep) = abandoned(directory.path(), &mut client, true);
    send(&mut client, "alone");
    let sent = std::mem::take(client.outbox());
    let error = engine.receive(0, &sent, at(1)).unwrap_err();
    assert!(is_not_safe(&error), "{error}");
    assert_eq!(engine.exchange().resting(), 0);
    assert!(engine.outbox(0).unwrap().waiting().is_empty());
}

#[test]
fn no_answer_leaves_that_is_on_this_host_alone() {
    let (directory, mut client) = (tempfile::tempdir().unwrap(), new_client());
    let (mut engine, _asleep) = abandoned(directory.path(), &mut client, false);
    client.connected(at(1));
    let number = engine.connect(at(1)).unwrap();
    let sent = std::mem::take(client.outbox());
    let error = engine.receive(number, &sent, at(1)).unwrap_err();
    assert!(is_not_safe(&error), "{error}: the answer to the Logon must wait");
}

#[test]
fn either_host_has_all_that_was_answered() {
    let directory = tempfile::tempdir().unwrap();
    let (a, b) = (directory.path().join("a"), directory.path().join("b"));
    let follower = Follower::start(secondary(&b));
    let mut engine_a = engine(options(&a, &[follower.address]), LONG);
    let mut client = new_client();
    log_on(&mut engine_a, &mut client);
    for name in ["a", "b", "c"] {
        send(&mut client, name);
    }
    assert_eq!(exchange(&mut engine_a, &mut client).len(), 3);
    let resting = engine_a.exchange().resting();
    drop(engine_a);
    drop(follower.take());
    promote(&b).unwrap();
    for (directory, node) in [(&a, 1), (&b, 2)] {
        let alone = PrimaryOptions { degree: Degree::Local, node, ..options(directory, &[]) };
        let again = engine(alone, LONG);
        assert_eq!(again.exchange().resting(), resting, "node {node}");
    }
}

#[test]
fn a_client_that_lost_everything_gets_hundreds_of_reports_again() {
    let directory = tempfile::tempdir().unwrap();
    let follower = Follower::start(secondary(&directory.path().join("b")));
    let mut engine = engine(options(&directory.path().join("a"), &[follower.address]), LONG);
    let mut client = new_client();
    log_on(&mut engine, &mut client);
    for number in 0..600 {
        send(&mut client, &number.to_string());
    }
    assert_eq!(exchange(&mut engine, &mut client).len(), 600);
    let mut forgetful = new_client();
    forgetful.session().go_on(None, Some(client.session().next_out()));
    engine.disconnect(0);
    let told = log_on(&mut engine, &mut forgetful);
    assert_eq!(told.len(), 600);
    assert!(told.iter().map(|told| told.2).is_sorted());
}
