//! An allocator that counts what each thread asks for, for tests that a path allocates nothing.
//!
//! ```
//! use pickfs_testkit::{Counting, allocated};
//!
//! #[global_allocator]
//! static ALLOCATOR: Counting = Counting;
//!
//! let before = allocated();
//! drop(Box::new(7));
//! assert_eq!(allocated() - before, 1);
//! ```
#![allow(unsafe_code)]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

#[derive(Debug, Clone, Copy)]
pub struct Counting;

/// Allocations that this thread asked for since it began; growth of one counts too.
pub fn allocated() -> u64 {
    ALLOCATIONS.get()
}

fn count() {
    // A thread that is being taken down has no counter any more, and is not one that is asked about.
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
