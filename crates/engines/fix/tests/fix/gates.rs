//! The gates of a store: what came in one round waits together, and nothing passes before.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use crate::peer::{at, order};
use pickfs_fix::Client;
use pickfs_fix::codec::Version;
use pickfs_fix::engine::{Engine, Settings};
use pickfs_fix::store::{Entry, EntryKind, Gate, Log, LogStore, MemoryLog, StoreError};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Kept(EntryKind),
    Waited(Gate),
}

struct Remembering(MemoryLog, Arc<Mutex<Vec<Told>>>);

impl Log for Remembering {
    fn append(&mut self, record: &[u8]) -> Result<u64, StoreError> {
        self.1.lock().unwrap().push(Told::Kept(Entry::decode(record).unwrap().kind));
        self.0.append(record)
    }

    fn wait(&mut self, gate: Gate) -> Result<(), StoreError> {
        self.1.lock().unwrap().push(Told::Waited(gate));
        Ok(())
    }

    fn read(
        &mut self,
        from: u64,
        each: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        self.0.read(from, each)
    }
}

fn told(send: impl Fn(&mut Client)) -> (Vec<Told>, Vec<crate::peer::Told>) {
    let list = Arc::new(Mutex::new(Vec::new()));
    let log = Remembering(MemoryLog::default(), Arc::clone(&list));
    let store = Box::new(LogStore::new(log));
    let mut engine = Engine::open(Settings::default(), store, at(0)).unwrap();
    let mut client = Client::new(Version::Fix44, "CLIENT", "PICKFS", true);
    client.connected(at(1));
    engine.connect(at(1)).unwrap();
    let mut reports = Vec::new();
    let mut exchange = |client: &mut Client, engine: &mut Engine| {
        let sent = std::mem::take(client.outbox());
        engine.receive(0, &sent, at(1)).unwrap();
        let bytes = engine.outbox(0).unwrap().waiting().to_vec();
        engine.outbox(0).unwrap().pass(bytes.len());
        client.receive(&bytes, at(1), |message| reports.push(crate::peer::told(message)));
    };
    exchange(&mut client, &mut engine);
    list.lock().unwrap().clear();
    send(&mut client);
    exchange(&mut client, &mut engine);
    let told = list.lock().unwrap().clone();
    (told, reports)
}

fn send_order(client: &mut Client, name: &str) {
    client.send(b"D", at(1), |message| order(message, name, "1", 5, "7", at(1)));
}

#[test]
fn orders_that_came_together_wait_once_before_the_book_and_once_before_their_reports() {
    let (told, reports) =
        told(|client| ["a", "b", "c"].iter().for_each(|name| send_order(client, name)));
    let (came, went) = (Told::Kept(EntryKind::In), Told::Kept(EntryKind::OutBusiness));
    let (business, reply) = (Told::Waited(Gate::Business), Told::Waited(Gate::Reply));
    assert_eq!(told, [came, came, came, business, went, went, went, reply]);
    let names: Vec<&str> = reports.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
}

#[test]
fn an_order_is_answered_before_what_the_session_says_behind_it() {
    let (told, _) = told(|client| {
        send_order(client, "a");
        client.send(b"1", at(1), |message| {
            message.text(pickfs_fix::codec::tag::TEST_REQ_ID, "still there?");
        });
    });
    let kinds: Vec<Told> = told.into_iter().filter(|told| matches!(told, Told::Kept(_))).collect();
    let (came, went) = (Told::Kept(EntryKind::In), Told::Kept(EntryKind::OutBusiness));
    assert_eq!(kinds, [came, went, came, Told::Kept(EntryKind::OutAdministrative)]);
}
