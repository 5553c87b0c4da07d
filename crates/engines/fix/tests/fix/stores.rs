//! Every store by itself: what was kept is there when it is opened again, and the file store writes as QuickFIX does.

use std::ops::ControlFlow;
use std::path::Path;

use crate::peer::{at, order};
use pickfs_fix::Client;
use pickfs_fix::codec::Version;
use pickfs_fix::engine::{Engine, EngineError, Settings};
use pickfs_fix::store::{Entry, EntryKind, Gate, Profile, Store};

const KEPT: [Profile; 4] =
    [Profile::Queue, Profile::Journal, Profile::JournalFdatasync, Profile::FileStore];

fn open(profile: Profile, directory: &Path) -> Box<dyn Store> {
    profile.open(&directory.join(profile.word()), 256 << 10).unwrap()
}

fn engine(profile: Profile, directory: &Path) -> Result<Engine, EngineError> {
    Engine::open(Settings::default(), open(profile, directory), at(0))
}

struct Pair {
    engine: Engine,
    client: Client,
    number: usize,
    told: Vec<crate::peer::Told>,
}

impl Pair {
    fn new(engine: Engine, mut client: Client) -> Pair {
        client.disconnected();
        client.connected(at(1));
        let mut pair = Pair { engine, client, number: 0, told: Vec::new() };
        pair.number = pair.engine.connect(at(1)).unwrap();
        pair.exchange();
        pair
    }

    fn exchange(&mut self) {
        loop {
            let sent = std::mem::take(self.client.outbox());
            self.engine.receive(self.number, &sent, at(1)).unwrap();
            self.engine.idle(at(1)).unwrap();
            let outbox = self.engine.outbox(self.number).unwrap();
            let bytes = outbox.waiting().to_vec();
            outbox.pass(bytes.len());
            let told = &mut self.told;
            self.client.receive(&bytes, at(1), |message| told.push(crate::peer::told(message)));
            if bytes.is_empty() && self.client.outbox().is_empty() {
                return;
            }
        }
    }

    fn order(&mut self, name: &str) {
        self.client.send(b"D", at(1), |message| order(message, name, "1", 5, "7", at(1)));
    }
}

fn new_client() -> Client {
    Client::new(Version::Fix44, "CLIENT", "PICKFS", true)
}

#[test]
fn sessions_and_book_go_on_from_what_was_kept() {
    for profile in KEPT {
        let directory = tempfile::tempdir().unwrap();
        let mut pair = Pair::new(engine(profile, directory.path()).unwrap(), new_client());
        for name in ["a", "b", "c"] {
            pair.order(name);
        }
        pair.exchange();
        assert_eq!(pair.told.len(), 3, "{profile:?}");
        let Pair { engine: before, client, .. } = pair;
        let resting = before.exchange().resting();
        drop(before);
        let again = engine(profile, directory.path()).unwrap();
        let keeps_incoming = profile != Profile::FileStore;
        assert_eq!(again.exchange().resting(), if keeps_incoming { resting } else { 0 });
        let mut pair = Pair::new(again, client);
        pair.order("d");
        pair.exchange();
        assert_eq!(pair.told.len(), 1, "{profile:?}: numbers go on, and nothing comes twice");
        assert_eq!(pair.told[0].0, "d");
    }
}

#[test]
fn a_client_that_lost_everything_gets_thousands_of_reports_again() {
    for profile in KEPT {
        let directory = tempfile::tempdir().unwrap();
        let mut pair = Pair::new(engine(profile, directory.path()).unwrap(), new_client());
        for number in 0..1500 {
            pair.order(&number.to_string());
            pair.exchange();
        }
        let mut client = new_client();
        client.session().go_on(None, Some(pair.client.session().next_out()));
        pair.engine.disconnect(pair.number);
        let pair = Pair::new(pair.engine, client);
        assert_eq!(pair.told.len(), 1500, "{profile:?}");
        assert!(pair.told.iter().map(|told| told.2).is_sorted());
    }
}

#[test]
fn an_order_that_was_kept_and_not_answered_is_answered_once_after_a_restart() {
    for profile in [Profile::Queue, Profile::Journal, Profile::JournalFdatasync] {
        let directory = tempfile::tempdir().unwrap();
        let mut pair = Pair::new(engine(profile, directory.path()).unwrap(), new_client());
        pair.order("unanswered");
        let sent = std::mem::take(pair.client.outbox());
        let Pair { engine: before, client, .. } = pair;
        drop(before);
        // As if the engine had died between keeping the order and keeping its report.
        let mut store = open(profile, directory.path());
        store.replay(&mut |_| Ok(())).unwrap();
        let (kind, session) = (EntryKind::In, 0);
        store
            .keep(&Entry { kind, session, sequence: 2, next: 3, time_ns: 7, message: &sent })
            .unwrap();
        store.wait(Gate::Reply).unwrap();
        drop(store);
        for _ in 0..2 {
            drop(engine(profile, directory.path()).unwrap());
        }
        let pair = Pair::new(engine(profile, directory.path()).unwrap(), client);
        assert_eq!(pair.told, [("unanswered".to_string(), "0".to_string(), 2)], "{profile:?}");
    }
}

#[test]
fn a_store_whose_answers_are_not_ours_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let mut pair = Pair::new(engine(Profile::Queue, directory.path()).unwrap(), new_client());
    pair.order("a");
    pair.exchange();
    drop(pair);
    let mut store = open(Profile::Queue, directory.path());
    let mut answer = Vec::new();
    store
        .resend(0, 2..=2, &mut |_| ControlFlow::Continue(()))
        .and_then(|()| {
            store.replay(&mut |entry| {
                if entry.kind == EntryKind::OutBusiness {
                    answer = entry.message.to_vec();
                }
                Ok(())
            })
        })
        .unwrap();
    let (kind, session) = (EntryKind::OutBusiness, 0);
    store
        .keep(&Entry { kind, session, sequence: 3, next: 4, time_ns: 0, message: &answer })
        .unwrap();
    drop(store);
    let refused = engine(Profile::Queue, directory.path()).err().unwrap();
    assert!(matches!(refused, EngineError::Differs { session: 0, sequence: 3 }), "{refused}");
}

/// write(2) and its like of the calling thread so far (proc_pid_io(5)).
fn writes() -> u64 {
    let io = std::fs::read_to_string("/proc/thread-self/io").unwrap();
    let line = io.lines().find_map(|line| line.strip_prefix("syscw: ")).unwrap();
    line.parse().unwrap()
}

#[test]
fn the_file_store_makes_four_small_writes_for_an_order_and_its_report() {
    let directory = tempfile::tempdir().unwrap();
    for (profile, each) in [(Profile::FileStore, 4), (Profile::Journal, 2), (Profile::Queue, 0)] {
        let mut pair = Pair::new(engine(profile, directory.path()).unwrap(), new_client());
        let before = writes();
        for number in 0..50 {
            pair.order(&number.to_string());
            pair.exchange();
        }
        assert_eq!(writes() - before, 50 * each, "{profile:?}");
    }
}
