//! A primary that starts again without its last messages takes them back from its secondary, and none that do not
//! follow what it has.

use std::path::Path;

use crate::nodes::*;
use pickfs_pair::{
    Event, Followed, Follower, OnLoss, Primary, PrimaryOptions, SecondaryOptions, StoreOptions,
};
use pickfs_queue as queue;

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to.join(entry.file_name())),
            false => drop(std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap()),
        }
    }
}

/// A pair whose primary runs three times, and loses what it wrote in the second and the third.
struct Forgetful {
    dir: tempfile::TempDir,
    store: StoreOptions,
    secondary: SecondaryOptions,
    follower: Option<Follower>,
}

impl Forgetful {
    fn new(store: StoreOptions) -> Forgetful {
        let dir = tempfile::tempdir().unwrap();
        let mut secondary = secondary_options(&dir.path().join("b"), store.clone());
        let follower = follow(secondary.clone());
        secondary.listen = follower.address();
        Forgetful { dir, store, secondary, follower: Some(follower) }
    }

    fn options(&self) -> PrimaryOptions {
        primary_options(&self.dir.path().join("a"), self.store.clone(), &[self.secondary.listen])
    }

    fn run(&self, numbers: std::ops::RangeInclusive<u64>) {
        let mut primary = ready(self.options());
        send(&mut primary, numbers);
    }

    fn store_dir(&self) -> std::path::PathBuf {
        self.dir.path().join("a/store")
    }

    /// The store is as it was after message 10; the node remembers its reigns.
    fn forget(&self, runs: impl FnOnce()) {
        let kept = self.dir.path().join("kept");
        copy(&self.store_dir(), &kept);
        runs();
        std::fs::remove_dir_all(self.store_dir()).unwrap();
        copy(&kept, &self.store_dir());
    }
}

#[test]
fn a_primary_that_lost_its_last_messages_takes_them_back() {
    for store in [plain_journal(), queue_store(queue::Sync::None)] {
        let mut pair = Forgetful::new(store.clone());
        pair.run(1..=10);
        pair.forget(|| {
            pair.run(11..=20);
            pair.run(21..=5_000);
        });
        let mut primary = Primary::open(pair.options()).unwrap();
        assert_eq!(primary.status().appended, 10);
        let back =
            until(&mut primary, "inherited", |event| matches!(event, Event::Inherited { .. }));
        assert!(matches!(back, Event::Inherited { from: 11, .. }), "{back}");
        primary.wait_ready(LONG).unwrap();
        assert_eq!(primary.status().appended, 5_000);
        send(&mut primary, 5_001..=5_050);
        drop(primary);
        // It is its own past now: another start knows it, and so does the secondary.
        pair.run(5_051..=5_060);
        drop(pair.follower.take());
        let dirs = ["a", "b"].map(|node| pair.dir.path().join(node));
        assert_eq!(last_in(&dirs[0]), last_in(&dirs[1]));
    }
}

#[test]
fn a_primary_that_lost_all_takes_all_back() {
    let pair = Forgetful::new(plain_journal());
    pair.run(1..=300);
    std::fs::remove_dir_all(pair.store_dir()).unwrap();
    let mut primary = ready(pair.options());
    send(&mut primary, 301..=310);
}

#[test]
fn a_primary_that_has_gone_on_without_them_takes_none_back() {
    let mut pair = Forgetful::new(plain_journal());
    pair.run(1..=10);
    pair.forget(|| pair.run(11..=20));
    drop(pair.follower.take());
    let alone = PrimaryOptions { on_loss: OnLoss::Degrade, ..pair.options() };
    let mut primary = Primary::open(alone).unwrap();
    until(&mut primary, "degraded", |event| matches!(event, Event::Degraded { .. }));
    send(&mut primary, 11..=12);
    let _follower = follow(pair.secondary.clone());
    let absent = until(
        &mut primary,
        "ahead",
        |event| matches!(event, Event::Absent { reason, .. } if reason.contains("promote that node")),
    );
    assert!(absent.to_string().contains("holds messages up to 20"), "{absent}");
    assert_eq!(primary.status().appended, 12);
}

#[test]
fn messages_that_were_sent_and_not_kept_are_there_after_a_restart() {
    let pair = Forgetful::new(plain_journal());
    let mut primary = ready(pair.options());
    send(&mut primary, 1..=5);
    primary.append(&payload(6)).unwrap();
    primary.append(&payload(7)).unwrap();
    while primary.copied() < 7 {
        primary.send();
        primary.hear().unwrap();
    }
    assert_eq!(primary.status().local, 5);
    drop(primary);
    pair.run(8..=9);
}

fn first_file(store: &Path) -> std::path::PathBuf {
    let files = std::fs::read_dir(store).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.filter(|path| path.is_file()).collect();
    files.sort();
    files.remove(0)
}

#[test]
fn a_secondary_that_does_not_keep_them_any_more_says_so() {
    let mut pair = Forgetful::new(plain_journal());
    pair.run(1..=10);
    pair.forget(|| pair.run(11..=8_000));
    drop(pair.follower.take());
    std::fs::remove_file(first_file(&pair.dir.path().join("b/store"))).unwrap();
    let follower = follow(pair.secondary.clone());
    let mut primary = Primary::open(pair.options()).unwrap();
    let absent = until(
        &mut primary,
        "ahead",
        |event| matches!(event, Event::Absent { reason, .. } if reason.contains("promote that node")),
    );
    assert!(absent.to_string().contains("holds messages up to 8000"), "{absent}");
    assert_eq!(primary.status().appended, 10);
    drop(primary);
    let told = events(&mut follower.end().unwrap());
    let says = |event: &Followed| event.to_string().contains("asks for message 10, and the oldest");
    assert!(told.iter().any(says), "{told:?}");
}
