use std::{
    net::SocketAddr,
    ops::ControlFlow,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use pickfs_pair::{
    Event, Followed, Follower, Position, Primary, PrimaryOptions, Secondary, SecondaryOptions,
    StoreOptions, read_store,
};
use pickfs_queue as queue;

pub const LONG: Duration = pickfs_testkit::PATIENCE;

pub fn journal(sync: pickfs_journal::Sync) -> StoreOptions {
    let options = pickfs_journal::Options { sync, file_bytes: 1 << 20, ..Default::default() };
    StoreOptions::Journal(options)
}

pub fn plain_journal() -> StoreOptions {
    journal(pickfs_journal::Sync::None)
}

pub fn durable_journal() -> StoreOptions {
    journal(pickfs_journal::Sync::Fdatasync)
}

pub fn queue_store(sync: queue::Sync) -> StoreOptions {
    let options = queue::Options { segment_bytes: 1 << 20, sync, ..Default::default() };
    StoreOptions::Queue(options)
}

pub fn anywhere() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

pub fn primary_options(dir: &Path, store: StoreOptions, peers: &[SocketAddr]) -> PrimaryOptions {
    PrimaryOptions {
        store,
        timeout: Duration::from_secs(3),
        ..PrimaryOptions::new(dir, peers.to_vec())
    }
}

pub fn secondary_options(dir: &Path, store: StoreOptions) -> SecondaryOptions {
    SecondaryOptions {
        store,
        timeout: Duration::from_secs(3),
        ..SecondaryOptions::new(dir, anywhere())
    }
}

pub fn follow(options: SecondaryOptions) -> Follower {
    Secondary::open(options).unwrap().follow().unwrap()
}

/// With the secondaries that it waits for.
pub fn ready(options: PrimaryOptions) -> Primary {
    let mut primary = Primary::open(options).unwrap();
    primary.wait_ready(LONG).unwrap();
    primary
}

pub fn payload(number: u64) -> Vec<u8> {
    let length = 8 + (number * 37 % 400) as usize;
    number.to_le_bytes().into_iter().cycle().take(length).collect()
}

pub fn send(primary: &mut Primary, numbers: std::ops::RangeInclusive<u64>) {
    for number in numbers {
        let ticket = primary.append(&payload(number)).unwrap();
        assert_eq!(ticket.sequence, number);
        primary.wait(ticket, LONG).unwrap();
        assert!(primary.is_safe(ticket));
    }
}

pub fn last_in(dir: &Path) -> Position {
    let mut last = Position::default();
    let store: PathBuf = dir.join("store");
    read_store(&store, 1, |at, bytes| {
        assert_eq!(bytes, payload(at.sequence), "message {at:?}");
        assert_eq!(at.sequence, last.sequence + 1);
        last = at;
        ControlFlow::Continue(())
    })
    .unwrap();
    last
}

pub fn until(primary: &mut Primary, what: &str, fits: impl Fn(&Event) -> bool) -> Event {
    let began = Instant::now();
    let mut seen = Vec::new();
    while began.elapsed() < LONG {
        let _ = primary.poll();
        while let Some(event) = primary.next_event() {
            if fits(&event) {
                return event;
            }
            seen.push(event);
        }
        // SLEEP: between two looks.
        thread::sleep(Duration::from_millis(1));
    }
    panic!("no event `{what}`, but {seen:?}");
}

pub fn events(secondary: &mut Secondary) -> Vec<Followed> {
    std::iter::from_fn(|| secondary.next_event()).collect()
}
