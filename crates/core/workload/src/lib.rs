//! `workload.rs` has the table: one row and one file or folder for each workload of the core; a program adds
//! those of the engines by [`add`]. Nothing here makes a file system, prints, or stores.

#![cfg_attr(test, allow(clippy::unwrap_used))]

#[macro_use]
pub mod param;

pub mod arrival;
pub mod bench;
pub mod column;
pub mod command;
pub mod drive;
pub mod fault;
mod files;
pub mod fio;
mod journal;
mod keepers;
pub mod measurement;
pub mod null;
pub mod phase;
pub mod placement;
mod recording;
pub mod role;
mod shared;
mod slow;
pub mod workload;

pub use bench::{Bench, LiveOperations, TimingError};
pub use drive::{Driven, Due, Pace, Span, Work, drive};
pub use fault::Fault;
pub use journal::{Appending, scrambled};
pub use keepers::KEEPER;
pub use measurement::{Measured, Measurement};
pub use null::Nothing;
pub use param::{Check, Literal, Param, ParamError, Resolved};
pub use placement::{NODES, pin, rank};
pub use recording::Recording;
pub use role::{MEASURING, roles_are_played_by};
pub use shared::reader_of_all;
pub use slow::{measurement_begins, write_slow_operations_to};

pub use workload::{Found, Length, Prepared, Scratch, Session, TooLarge, Workload, add, all, find};

/// The lab and its worker must agree on it.
pub const BUILD: &str = env!("PICKFS_BUILD");
