use crate::desk::{Serving, memory};
use crate::peer::Peer;
use pickfs_fix::Wait;
use pickfs_fix::codec::Version;
use pickfs_fix::store::Profile;

#[test]
fn an_order_is_answered_over_a_socket_in_every_version() {
    for version in Version::ALL {
        let serving = Serving::start(memory(), Wait::Spin);
        let mut peer = Peer::new(version, "CLIENT");
        assert!(peer.log_on(serving.address));
        peer.order("one", "1", 100, "7.25");
        assert!(peer.until(|peer| !peer.told.is_empty()));
        assert_eq!(peer.told, [("one".to_string(), "0".to_string(), 2)]);
    }
}

#[test]
fn two_clients_trade_and_one_that_was_away_gets_its_fill_later() {
    let directory = tempfile::tempdir().unwrap();
    let store = Profile::Queue.open(&directory.path().join("store"), 1 << 20).unwrap();
    let serving = Serving::start(store, Wait::Sleep);
    let (mut ann, mut bob) = (Peer::new(Version::Fix44, "ANN"), Peer::new(Version::Fix44, "BOB"));
    assert!(ann.log_on(serving.address) && bob.log_on(serving.address));
    ann.order("sell", "2", 10, "5");
    assert!(ann.until(|ann| ann.told.len() == 1));
    ann.cut();
    bob.order("buy", "1", 4, "5");
    assert!(bob.until(|bob| bob.told.len() == 2));
    assert_eq!(bob.told[1], ("buy".into(), "F".into(), 3));
    assert!(ann.log_on(serving.address));
    assert!(ann.until(|ann| ann.told.len() == 2));
    assert_eq!(ann.told[1], ("sell".into(), "F".into(), 3));
}

#[test]
fn a_second_connection_of_a_session_is_ended_and_the_first_lives_on() {
    let serving = Serving::start(memory(), Wait::Sleep);
    let [mut first, mut second] = ["ANN", "ANN"].map(|name| Peer::new(Version::Fix44, name));
    assert!(first.log_on(serving.address));
    assert!(!second.log_on(serving.address));
    first.order("one", "1", 1, "1");
    assert!(first.until(|peer| peer.told.len() == 1));
}
