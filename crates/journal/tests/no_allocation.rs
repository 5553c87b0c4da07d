//! Appending allocates nothing, on any write path, also in batches and with syncs. The allocator of this
//! test counts for the thread that asks.
#![allow(unsafe_code, clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use pickfs_journal::{Framing, Journal, Options, Preallocation, Sync, WritePath, compatibility};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

fn count() {
    // A thread that is being taken down has no counter any more, and is not one that appends.
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: every call is handed to the system allocator unchanged; the counter allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, length: usize) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(memory, layout, length) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations_of(options: Options) -> u64 {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut journal = Journal::create(dir.path(), options).unwrap();
    let batch = [[2; 300].as_slice(); 9];
    journal.append(&[1; 500]).unwrap();
    let before = ALLOCATIONS.get();
    for _ in 0..8 {
        assert!(!journal.append(&[1; 256]).unwrap().rolled);
        assert!(!journal.append_batch(&batch).unwrap().rolled);
        journal.encode(&[3; 100]).unwrap();
        assert!(!journal.needs_roll());
        journal.write_encoded().unwrap();
        journal.sync().unwrap();
    }
    ALLOCATIONS.get() - before
}

#[test]
fn the_counter_counts() {
    let before = ALLOCATIONS.get();
    drop(std::hint::black_box(vec![1; 100]));
    assert!(ALLOCATIONS.get() > before);
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
