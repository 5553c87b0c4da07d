//! The risk check: the book never sees an order that it refuses, its session goes on, and a restart goes by the same
//! verdicts although the limits are others.

use std::path::Path;

use crate::peer::{at, order};
use pickfs_fix::Client;
use pickfs_fix::codec::{Message, Version, tag};
use pickfs_fix::engine::{Engine, Settings};
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

fn engine(directory: &Path, orders: u64) -> Engine {
    let store = Profile::Queue.open(directory, 256 << 10).unwrap();
    Engine::observed(Settings::default(), store, at(0), (), Some(Box::new(AtMost(orders)))).unwrap()
}

/// ClOrdID, ExecType and words.
fn told(message: &Message<'_>) -> [String; 3] {
    [tag::CL_ORD_ID, tag::EXEC_TYPE, tag::TEXT]
        .map(|tag| String::from_utf8(message.get(tag).unwrap_or_default().to_vec()).unwrap())
}

fn exchange(engine: &mut Engine, client: &mut Client) -> Vec<[String; 3]> {
    let mut reports = Vec::new();
    loop {
        let sent = std::mem::take(client.outbox());
        engine.receive(0, &sent, at(1)).unwrap();
        engine.idle(at(1)).unwrap();
        let outbox = engine.outbox(0).unwrap();
        let bytes = outbox.waiting().to_vec();
        outbox.pass(bytes.len());
        client.receive(&bytes, at(1), |message| reports.push(told(message)));
        if bytes.is_empty() && client.outbox().is_empty() {
            return reports;
        }
    }
}

fn log_on(engine: &mut Engine, client: &mut Client) -> Vec<[String; 3]> {
    client.disconnected();
    client.connected(at(1));
    engine.connect(at(1)).unwrap();
    exchange(engine, client)
}

fn send(client: &mut Client, names: &[&str]) {
    for name in names {
        client.send(b"D", at(1), |message| order(message, name, "1", 5, "7", at(1)));
    }
}

fn types(reports: &[[String; 3]]) -> Vec<(&str, &str)> {
    reports.iter().map(|[name, exec_type, _]| (name.as_str(), exec_type.as_str())).collect()
}

#[test]
fn an_order_that_is_refused_is_rejected_and_rests_nowhere() {
    let directory = tempfile::tempdir().unwrap();
    let (mut engine, mut client) = (engine(directory.path(), 2), new_client());
    log_on(&mut engine, &mut client);
    send(&mut client, &["a", "b", "c", "d"]);
    let reports = exchange(&mut engine, &mut client);
    assert_eq!(types(&reports), [("a", "0"), ("b", "0"), ("c", "8"), ("d", "8")]);
    assert_eq!(reports[2][2], "refused by the risk check");
    assert_eq!(engine.exchange().resting(), 2);
}

fn new_client() -> Client {
    Client::new(Version::Fix44, "CLIENT", "PICKFS", true)
}

#[test]
fn a_restart_goes_by_the_verdicts_that_were_kept_and_knows_what_was_used_up() {
    let directory = tempfile::tempdir().unwrap();
    let mut client = new_client();
    let mut before = engine(directory.path(), 2);
    log_on(&mut before, &mut client);
    send(&mut client, &["a", "b", "c"]);
    exchange(&mut before, &mut client);
    drop(before);
    // Three are allowed now, of which two are used up: "c" stays refused.
    let mut again = engine(directory.path(), 3);
    assert_eq!(again.exchange().resting(), 2);
    assert!(log_on(&mut again, &mut client).is_empty(), "nothing is answered twice");
    send(&mut client, &["d", "e"]);
    assert_eq!(types(&exchange(&mut again, &mut client)), [("d", "0"), ("e", "8")]);
}
