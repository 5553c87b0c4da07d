//! What survives a process kill, a kernel crash and a power loss: everything that a disk was told is recorded, the
//! states that a crash may leave are made again one by one, and each is mounted and looked at.
//!
//! ```text
//! recorder   a process: FUSE serves one file, a loop device makes a disk of it; mkfs, mount, workload on top, or a
//!            guest has it as its disk
//! log        what the disk was told, in order: write, flush, discard, mark ─► the dm-log-writes format
//! model      which of the writes that no flush covers may stay: cache, unit, an honest or a lying flush
//! explore    crash points ─► `Remains`, one by one, equal images once; a failure made as small as it can be
//! prober     a `Remains` is served, mounted, looked at by a `Check`, unmounted and dropped
//! oracle     checks: which records were due, which are there
//! witness    a real disk instead: what it acknowledged until its power went is known elsewhere
//! ```
//!
//! The border of the two halves: `model`, `explore` and `oracle` are pure and know [`log`] alone. They give
//! [`log::Remains`]; the prober gives each to a [`Check`] on a mounted file system and hands back [`Found`].

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod check;
pub mod explore;
pub mod ground;
pub mod image;
pub mod log;
pub mod log_writes;
pub mod model;
pub mod oracle;
mod program;
pub mod recording;
pub mod report;
mod request;
pub mod session;
pub mod witness;

use std::process::ExitCode;

pub use check::{Check, Found, Loss};

/// `None` where this process was started for something else; to be called before anything else.
pub fn run() -> Option<ExitCode> {
    ground::recorder::run().or_else(ground::run_inside)
}
