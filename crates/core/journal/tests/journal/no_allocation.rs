//! Appending allocates nothing, on any write path, also in batches and with syncs. The allocator of this
//! test counts for the thread that asks.

use pickfs_journal::{Framing, Journal, Options, Preallocation, Sync, WritePath, compatibility};
use pickfs_testkit::{Counting, allocated};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations_of(options: Options) -> u64 {
    let dir = crate::on_disk();
    let mut journal = Journal::create(dir.path(), options).unwrap();
    journal.append(&[1; 500]).unwrap();
    let before = allocated();
    for _ in 0..8 {
        assert!(!journal.append(&[1; 256]).unwrap().rolled);
        (0..9).for_each(|_| journal.encode(&[2; 300]).unwrap());
        assert!(!journal.commit_encoded().unwrap().rolled);
        journal.encode(&[3; 100]).unwrap();
        assert!(!journal.needs_roll());
        journal.write_encoded().unwrap();
        journal.sync().unwrap();
    }
    allocated() - before
}

#[test]
fn appending_allocates_nothing_on_any_path() {
    for &write_path in WritePath::ALL {
        for &sync in Sync::ALL {
            for &framing in Framing::ALL {
                let options = Options {
                    preallocation: Preallocation::Fallocate,
                    write_path,
                    sync,
                    framing,
                    file_bytes: 1 << 20,
                    ..Options::default()
                };
                if compatibility::check(&options).is_ok() {
                    assert_eq!(allocations_of(options), 0, "{write_path} {sync} {framing}");
                }
            }
        }
    }
}
