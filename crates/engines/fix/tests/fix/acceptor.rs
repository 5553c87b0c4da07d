use std::net::SocketAddr;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};
use std::thread::{self, JoinHandle};

use crate::peer::Peer;
use pickfs_fix::codec::Version;
use pickfs_fix::engine::{Engine, Settings};
use pickfs_fix::store::Profile;
use pickfs_fix::{Acceptor, Wait, now};

struct Running {
    address: SocketAddr,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

fn start(profile: Profile, directory: &std::path::Path, wait: Wait) -> Running {
    let store = profile.open(&directory.join("store"), 1 << 20).unwrap();
    let engine = Engine::open(Settings::default(), store, now()).unwrap();
    let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
    let mut acceptor = Acceptor::listen(engine, any_port, wait).unwrap();
    let address = acceptor.address().unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&over);
    let thread = thread::spawn(move || {
        while !told.load(Relaxed) {
            acceptor.round().unwrap();
        }
    });
    Running { address, over, thread: Some(thread) }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.over.store(true, Relaxed);
        let _ = self.thread.take().unwrap().join();
    }
}

#[test]
fn an_order_is_answered_over_a_socket_in_every_version() {
    for version in Version::ALL {
        let directory = tempfile::tempdir().unwrap();
        let running = start(Profile::Memory, directory.path(), Wait::Spin);
        let mut peer = Peer::new(version, "CLIENT");
        assert!(peer.log_on(running.address));
        peer.order("one", "1", 100, "7.25");
        assert!(peer.until(|peer| !peer.told.is_empty()));
        assert_eq!(peer.told, [("one".to_string(), "0".to_string(), 2)]);
    }
}

#[test]
fn two_clients_trade_and_one_that_was_away_gets_its_fill_later() {
    let directory = tempfile::tempdir().unwrap();
    let running = start(Profile::Queue, directory.path(), Wait::Sleep);
    let (mut ann, mut bob) = (Peer::new(Version::Fix44, "ANN"), Peer::new(Version::Fix44, "BOB"));
    assert!(ann.log_on(running.address) && bob.log_on(running.address));
    ann.order("sell", "2", 10, "5");
    assert!(ann.until(|ann| ann.told.len() == 1));
    ann.cut();
    bob.order("buy", "1", 4, "5");
    assert!(bob.until(|bob| bob.told.len() == 2));
    assert_eq!(bob.told[1], ("buy".into(), "F".into(), 3));
    assert!(ann.log_on(running.address));
    assert!(ann.until(|ann| ann.told.len() == 2));
    assert_eq!(ann.told[1], ("sell".into(), "F".into(), 3));
}

#[test]
fn a_second_connection_of_a_session_is_ended_and_the_first_lives_on() {
    let directory = tempfile::tempdir().unwrap();
    let running = start(Profile::Memory, directory.path(), Wait::Sleep);
    let (mut first, mut second) =
        (Peer::new(Version::Fix44, "ANN"), Peer::new(Version::Fix44, "ANN"));
    assert!(first.log_on(running.address));
    assert!(!second.log_on(running.address));
    first.order("one", "1", 1, "1");
    assert!(first.until(|peer| peer.told.len() == 1));
}
