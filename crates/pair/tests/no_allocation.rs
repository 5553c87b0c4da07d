//! Appending, sending, keeping and hearing allocate nothing, over journal and queue. The allocator of this test
//! counts for the thread that asks.
#![allow(unsafe_code, clippy::unwrap_used)]

mod nodes;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use nodes::*;
use pickfs_pair::{Primary, Waiting};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

fn count() {
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

#[test]
fn a_message_on_its_way_allocates_nothing() {
    for store in [plain_journal(), queue(pickfs_journal::queue::Sync::None)] {
        for waiting in [Waiting::Block, Waiting::Spin] {
            let dir = tempfile::tempdir().unwrap();
            let follower = Follower::start(secondary_options(&dir.path().join("b"), store.clone()));
            let mut options =
                primary_options(&dir.path().join("a"), store.clone(), &[follower.address]);
            options.waiting = waiting;
            let mut primary = Primary::open(options).unwrap();
            primary.wait_ready(LONG).unwrap();
            let message = [7; 256];
            let mut send = |count: u32| {
                for _ in 0..count {
                    let first = primary.append(&message).unwrap();
                    let ticket = primary.append(&message).unwrap();
                    primary.wait(ticket, LONG).unwrap();
                    assert!(primary.is_safe(first));
                }
            };
            send(10);
            let before = ALLOCATIONS.get();
            send(500);
            assert_eq!(ALLOCATIONS.get() - before, 0, "{waiting:?}");
        }
    }
}
