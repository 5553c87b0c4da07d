//! One plan on many hosts at once, each for itself, and their runs in one folder.
//!
//! ```text
//! here                          there, started by ssh or srun: `pickfs run --as-host`
//! gather.rs  one for all hosts
//! line.rs    one for each       host.rs
//!      | <------------------------ hello: the build
//!      | request: build, plan ---> runs it; events come back as lines
//!      | beat, each 10 s --------> beat back
//!      | <------------------------ file: so many bytes, then the run's own file
//! ```
//!
//! No port is opened, and nothing is left to the shell of a host but the name of the program. What comes from a host is
//! a stranger's: lines and files are bounded, and a run is read as any that somebody sent. Each side ends by itself
//! where it hears nothing of the other: a host whose line is gone interrupts its run in order.

mod error;
mod gather;
pub mod host;
mod hosts;
mod line;
mod spoken;

pub use error::FleetError;
pub use gather::{Ask, End, Heard, Limits, gather};
pub use hosts::Way;
