//! The gates of a store: what came in one round waits together, and nothing passes before.

use std::sync::{Arc, Mutex};

use crate::desk::{Desk, new_client};
use crate::peer::at;
use pickfs_fix::codec::tag;
use pickfs_fix::store::{EachRecord, Entry, EntryKind, Gate, Log, LogStore, MemoryLog, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Kept(EntryKind),
    Waited(Gate),
}

struct Remembering(MemoryLog, Arc<Mutex<Vec<Told>>>);

impl Log for Remembering {
    fn append(&mut self, record: &[u8]) -> Result<u64> {
        self.1.lock().unwrap().push(Told::Kept(Entry::decode(record).unwrap().kind));
        self.0.append(record)
    }

    fn wait(&mut self, gate: Gate) -> Result {
        self.1.lock().unwrap().push(Told::Waited(gate));
        Ok(())
    }

    fn read(&mut self, from: u64, each: &mut EachRecord<'_>) -> Result {
        self.0.read(from, each)
    }
}

fn told(send: impl Fn(&mut Desk)) -> (Vec<Told>, Desk) {
    let list = Arc::<Mutex<Vec<Told>>>::default();
    let log = Remembering(MemoryLog::default(), Arc::clone(&list));
    let mut desk = Desk::open(Box::new(LogStore::new(log)), None, new_client());
    list.lock().unwrap().clear();
    send(&mut desk);
    desk.exchange();
    let told = list.lock().unwrap().clone();
    (told, desk)
}

#[test]
fn orders_that_came_together_wait_once_before_the_book_and_once_before_their_reports() {
    let (told, mut desk) = told(|desk| ["a", "b", "c"].iter().for_each(|name| desk.order(name)));
    let (came, went) = (Told::Kept(EntryKind::In), Told::Kept(EntryKind::OutBusiness));
    let (business, reply) = (Told::Waited(Gate::Business), Told::Waited(Gate::Reply));
    assert_eq!(told, [came, came, came, business, went, went, went, reply]);
    let names: Vec<String> = desk.news().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["a", "b", "c"]);
}

#[test]
fn an_order_is_answered_before_what_the_session_says_behind_it() {
    let (told, _) = told(|desk| {
        desk.order("a");
        desk.client.send(b"1", at(1), |message| {
            message.text(tag::TEST_REQ_ID, "still there?");
        });
    });
    let kinds: Vec<Told> = told.into_iter().filter(|told| matches!(told, Told::Kept(_))).collect();
    let (came, went) = (Told::Kept(EntryKind::In), Told::Kept(EntryKind::OutBusiness));
    assert_eq!(kinds, [came, went, came, Told::Kept(EntryKind::OutAdministrative)]);
}
