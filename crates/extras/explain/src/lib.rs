//! What the kernel was doing while an operation was slow.
//!
//! Scheduler events of the watched threads go into a time line; slow operations are joined with it and
//! split into parts that sum to the operation: on a processor, blocked (by a cause, with both stacks), and
//! waiting for a processor (with the program that had it). Causes come from ordered rules in
//! `causes.toml`. The operations of our own workloads are measured elsewhere, and nothing is hooked into the
//! path of a write; of other programs [`calls`] measures the system calls.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod calls;
pub mod cause;
pub mod context;
pub mod intern;
pub mod join;
pub mod kernel;
pub mod ledger;
pub mod loss;
pub mod naming;
pub mod observer;
pub mod own_records;
pub mod recorder;
pub mod run_delay;
pub mod sched;
pub mod switches;
pub mod threads;
pub mod tier;
pub mod timeline;

pub use observer::Observer;
