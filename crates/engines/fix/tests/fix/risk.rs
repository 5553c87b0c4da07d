//! The risk check: the book never sees an order that it refuses, its session goes on, and a restart goes by the same
//! verdicts although the limits are others.

use std::path::Path;

use crate::desk::{Desk, new_client};
use pickfs_fix::Client;
use pickfs_fix::market::{Order, Risk};
use pickfs_fix::store::{Profile, SessionNumber};

struct AtMost(u64);

impl Risk for AtMost {
    fn allows(&mut self, _session: SessionNumber, _order: &Order) -> bool {
        let is_allowed = self.0 > 0;
        self.0 = self.0.saturating_sub(1);
        is_allowed
    }
}

fn desk(directory: &Path, orders: u64, client: Client) -> Desk {
    let store = Profile::Queue.open(directory, 256 << 10).unwrap();
    Desk::open(store, Some(Box::new(AtMost(orders))), client)
}

fn news_of(desk: &mut Desk, names: &[&str]) -> Vec<(String, String)> {
    names.iter().for_each(|name| desk.order(name));
    desk.exchange();
    desk.news()
}

fn said(name: &str, exec_type: &str) -> (String, String) {
    (name.into(), exec_type.into())
}

#[test]
fn an_order_that_is_refused_is_rejected_and_rests_nowhere() {
    let directory = tempfile::tempdir().unwrap();
    let mut desk = desk(directory.path(), 2, new_client());
    let news = news_of(&mut desk, &["a", "b", "c"]);
    assert_eq!(news, [said("a", "0"), said("b", "0"), said("c", "8")]);
    desk.order("d");
    desk.send().unwrap();
    let reports = desk.engine.outbox(desk.number).unwrap().waiting().to_vec();
    assert!(String::from_utf8(reports).unwrap().contains("58=refused by the risk check\x01"));
    desk.exchange();
    assert_eq!(desk.news(), [said("d", "8")]);
    assert_eq!(desk.engine.exchange().resting(), 2);
}

#[test]
fn a_restart_goes_by_the_verdicts_that_were_kept_and_knows_what_was_used_up() {
    let directory = tempfile::tempdir().unwrap();
    let mut before = desk(directory.path(), 2, new_client());
    news_of(&mut before, &["a", "b", "c"]);
    let Desk { engine, client, .. } = before;
    drop(engine);
    // Three are allowed now, of which two are used up: "c" stays refused.
    let mut again = desk(directory.path(), 3, client);
    assert_eq!(again.engine.exchange().resting(), 2);
    assert!(again.told.is_empty(), "nothing is answered twice");
    assert_eq!(news_of(&mut again, &["d", "e"]), [said("d", "0"), said("e", "8")]);
}
