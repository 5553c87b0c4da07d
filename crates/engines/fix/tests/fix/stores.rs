//! Every store by itself: what was kept is there when it is opened again, and the file store writes as QuickFIX does.

use std::path::Path;

use crate::desk::{Desk, new_client};
use crate::peer::at;
use pickfs_fix::Client;
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

fn desk_of(profile: Profile, directory: &Path, client: Client) -> Desk {
    Desk::open(open(profile, directory), None, client)
}

#[test]
fn sessions_and_book_go_on_from_what_was_kept() {
    for profile in KEPT {
        let directory = tempfile::tempdir().unwrap();
        let mut desk = desk_of(profile, directory.path(), new_client());
        for name in ["a", "b", "c"] {
            desk.order(name);
        }
        desk.exchange();
        assert_eq!(desk.told.len(), 3, "{profile:?}");
        let Desk { engine: before, client, .. } = desk;
        let resting = before.exchange().resting();
        drop(before);
        let mut desk = desk_of(profile, directory.path(), client);
        let keeps_incoming = profile != Profile::FileStore;
        assert_eq!(desk.engine.exchange().resting(), if keeps_incoming { resting } else { 0 });
        desk.order("d");
        desk.exchange();
        assert_eq!(desk.told.len(), 1, "{profile:?}: numbers go on, and nothing comes twice");
        assert_eq!(desk.told[0].0, "d");
    }
}

#[test]
fn a_client_that_lost_everything_gets_thousands_of_reports_again() {
    for profile in KEPT {
        let directory = tempfile::tempdir().unwrap();
        let mut desk = desk_of(profile, directory.path(), new_client());
        for number in 0..1500 {
            desk.order(&number.to_string());
            desk.exchange();
        }
        let desk = desk.forget();
        assert_eq!(desk.told.len(), 1500, "{profile:?}");
        assert!(desk.told.iter().map(|told| told.2).is_sorted());
    }
}

#[test]
fn an_order_that_was_kept_and_not_answered_is_answered_once_after_a_restart() {
    for profile in [Profile::Queue, Profile::Journal, Profile::JournalFdatasync] {
        let directory = tempfile::tempdir().unwrap();
        let mut desk = desk_of(profile, directory.path(), new_client());
        desk.order("unanswered");
        let sent = std::mem::take(desk.client.outbox());
        let Desk { engine: before, client, .. } = desk;
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
        let desk = desk_of(profile, directory.path(), client);
        assert_eq!(desk.told, [("unanswered".to_string(), "0".to_string(), 2)], "{profile:?}");
    }
}

#[test]
fn a_store_whose_answers_are_not_ours_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let mut desk = desk_of(Profile::Queue, directory.path(), new_client());
    desk.order("a");
    desk.exchange();
    drop(desk);
    let mut store = open(Profile::Queue, directory.path());
    let mut answer = Vec::new();
    let mut take = |entry: &Entry<'_>| {
        if entry.kind == EntryKind::OutBusiness {
            answer = entry.message.to_vec();
        }
        Ok(())
    };
    store.replay(&mut take).unwrap();
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
        let mut desk = desk_of(profile, directory.path(), new_client());
        let before = writes();
        for number in 0..50 {
            desk.order(&number.to_string());
            desk.exchange();
        }
        assert_eq!(writes() - before, 50 * each, "{profile:?}");
    }
}
