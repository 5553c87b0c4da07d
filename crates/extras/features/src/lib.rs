//! What a mounted file system can do, asked of it and never assumed: one small probe per
//! capability, each in a folder of its own.
//!
//! ```text
//! survey   this machine mounts ─► table of probes, then again after a new mount
//! guests   a guest mounts ─► inside: this program again, the same probes, an answer a line
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod answers;
mod class;
mod document;
mod figures;
#[cfg(feature = "guest")]
pub mod guests;
pub mod inside;
mod kernel;
mod probe;
mod probes;
mod refusal;
mod room;
mod survey;
mod table;
mod view;

pub use document::{Detail, features_document};
pub use probes::KEEPS;
pub use room::TORN_TIME;
pub use survey::{Asked, Listener, Request, not_here, survey};
pub use table::capabilities;
