//! An engine on a pair: the book sees no order that is on this host alone, no report leaves that is, and what is kept on
//! either host is enough to go on.

use std::net::SocketAddr;
use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::desk::{Desk, Serving, new_client};
use crate::peer::{Peer, at};
use pickfs_fix::Wait;
use pickfs_fix::codec::Version;
use pickfs_fix::engine::{Engine, EngineError, Settings};
use pickfs_fix::store::{LogStore, PairLog, Store, StoreError};
use pickfs_journal::{Options, Sync};
use pickfs_pair::{
    Degree, Error, Primary, PrimaryOptions, Secondary, SecondaryOptions, StoreOptions, promote,
};

const LONG: Duration = pickfs_testkit::PATIENCE;

fn small_journal(sync: Sync) -> StoreOptions {
    StoreOptions::Journal(Options { sync, file_bytes: 1 << 20, ..Options::default() })
}

pub fn options(directory: &Path, secondaries: &[SocketAddr]) -> PrimaryOptions {
    let options = PrimaryOptions::new(directory, secondaries.to_vec());
    PrimaryOptions { store: small_journal(Sync::None), timeout: LONG, ..options }
}

pub fn secondary(directory: &Path) -> Secondary {
    let options = SecondaryOptions::new(directory, SocketAddr::from(([127, 0, 0, 1], 0)));
    let store = small_journal(Sync::Fdatasync);
    Secondary::open(SecondaryOptions { store, timeout: LONG, ..options }).unwrap()
}

pub fn store(primary: Primary, patience: Duration) -> Box<dyn Store> {
    Box::new(LogStore::new(PairLog::over(primary, patience, drop).unwrap()))
}

fn open(options: PrimaryOptions) -> Box<dyn Store> {
    store(Primary::open(options).unwrap(), LONG)
}

/// An engine whose secondary keeps its connection and takes nothing any more.
fn abandoned(directory: &Path) -> (Desk, Secondary) {
    let follower = secondary(&directory.join("b")).follow().unwrap();
    let primary = Primary::open(options(&directory.join("a"), &[follower.address()])).unwrap();
    let desk = Desk::open(store(primary, Duration::from_millis(100)), None, new_client());
    (desk, follower.end().unwrap())
}

fn is_not_safe(error: &EngineError) -> bool {
    matches!(error, EngineError::Store(StoreError::Pair(Error::NotSafe { .. })))
}

#[test]
fn the_book_sees_no_order_that_is_on_this_host_alone() {
    let directory = tempfile::tempdir().unwrap();
    let (mut desk, _asleep) = abandoned(directory.path());
    desk.order("alone");
    let error = desk.send().unwrap_err();
    assert!(is_not_safe(&error), "{error}");
    assert_eq!(desk.engine.exchange().resting(), 0);
    assert!(desk.engine.outbox(desk.number).unwrap().waiting().is_empty());
}

#[test]
fn no_answer_leaves_that_is_on_this_host_alone() {
    let directory = tempfile::tempdir().unwrap();
    let (mut desk, _asleep) = abandoned(directory.path());
    desk.client.log_out(at(1));
    let error = desk.send().unwrap_err();
    assert!(is_not_safe(&error), "{error}: the answer to the Logout must wait");
}

/// The other host is gone and promoted when it has the order and not the report.
#[test]
fn a_report_waits_for_the_other_host_and_is_sent_by_the_engine_that_takes_over() {
    for degree in [Degree::Received, Degree::Durable] {
        let directory = tempfile::tempdir().unwrap();
        let (a, b) = (directory.path().join("a"), directory.path().join("b"));
        let mut secondary = secondary(&b);
        let old = PrimaryOptions { degree, ..options(&a, &[secondary.address()]) };
        let promoted = thread::spawn(move || {
            // Session, Logon and its answer, an order and its report, an order.
            while secondary.status().last.sequence < 6 {
                secondary.poll().unwrap();
            }
            let address = secondary.address();
            drop(secondary);
            promote(&b).unwrap();
            let alone = PrimaryOptions { degree: Degree::Local, node: 2, ..options(&b, &[]) };
            let mut promoted = Primary::open(alone).unwrap();
            promoted.listen(address).unwrap();
            promoted
        });
        let serving = Serving::start(open(old), Wait::Spin);
        let mut peer = Peer::new(Version::Fix44, "CLIENT");
        assert!(peer.log_on(serving.address));
        peer.order("known", "1", 5, "7");
        assert!(peer.until(|peer| peer.told.len() == 1));
        peer.order("unknown", "1", 5, "7");
        assert!(
            !peer.until(|peer| peer.told.len() == 2),
            "a report left that is on one host alone"
        );
        let error = serving.end();
        assert!(
            matches!(error, EngineError::Store(StoreError::Pair(Error::Fenced { .. }))),
            "{error}"
        );

        let serving = Serving::start(store(promoted.join().unwrap(), LONG), Wait::Spin);
        assert!(peer.log_on(serving.address));
        assert!(peer.until(|peer| peer.told.len() == 2));
        let reports = [("known", 2), ("unknown", 3)];
        let reports = reports.map(|(name, number)| (name.to_string(), "0".to_string(), number));
        assert_eq!(peer.told, reports);
    }
}

#[test]
fn either_host_has_all_that_was_answered() {
    let directory = tempfile::tempdir().unwrap();
    let (a, b) = (directory.path().join("a"), directory.path().join("b"));
    let follower = secondary(&b).follow().unwrap();
    let mut desk = Desk::open(open(options(&a, &[follower.address()])), None, new_client());
    ["a", "b", "c"].iter().for_each(|name| desk.order(name));
    desk.exchange();
    assert_eq!(desk.told.len(), 3);
    let resting = desk.engine.exchange().resting();
    drop(desk);
    drop(follower);
    promote(&b).unwrap();
    for (directory, node) in [(&a, 1), (&b, 2)] {
        let alone = PrimaryOptions { degree: Degree::Local, node, ..options(directory, &[]) };
        let again = Engine::open(Settings::default(), open(alone), at(0)).unwrap();
        assert_eq!(again.exchange().resting(), resting, "node {node}");
    }
}

#[test]
fn a_client_that_lost_everything_gets_hundreds_of_reports_again() {
    let directory = tempfile::tempdir().unwrap();
    let follower = secondary(&directory.path().join("b")).follow().unwrap();
    let options = options(&directory.path().join("a"), &[follower.address()]);
    let mut desk = Desk::open(open(options), None, new_client());
    (0..600).for_each(|number: u32| desk.order(&number.to_string()));
    desk.exchange();
    assert_eq!(desk.told.len(), 600);
    let desk = desk.forget();
    assert_eq!(desk.told.len(), 600);
    assert!(desk.told.iter().map(|told| told.2).is_sorted());
}
