//! [`WORKLOADS`] is the table: one row and one file or folder for each workload. Nothing here makes
//! a file system, prints, or stores.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod arrival;
mod bench;
pub mod column;
pub mod command;
mod drive;
mod fault;
mod files;
pub mod fio;
mod fix;
mod followers;
mod hosts;
mod journal;
mod measurement;
mod null;
mod pair;
mod param;
pub mod phase;
mod placement;
mod queue;
mod recording;
mod role;
mod slow;
mod usage;
mod workload;

pub use bench::{Bench, LiveLaps, TimingError};
pub use drive::{Driven, Pace, Span, Turn, Work, drive};
pub use fault::Fault;
pub use files::{Files, limits_markdown};
pub use fix::Fix;
pub use journal::{Appending, Journal};
pub use measurement::{Measured, Measurement};
pub use null::{Nothing, Null};
pub use pair::Pair;
pub use param::{Check, Literal, Param, ParamError, Resolved, params_markdown};
pub use placement::{pin, rank};
pub use queue::Queue;
pub use recording::{Recording, RecordingError};
pub use role::{MEASURING, roles_are_played_by};
pub use slow::{measurement_begins, write_slow_laps_to};
pub use usage::Usage;
pub use workload::{Prepared, Scratch, Session, TooLarge, WORKLOADS, Workload, find};

/// The lab and its worker must agree on it.
pub const BUILD: &str = env!("PICKFS_BUILD");
