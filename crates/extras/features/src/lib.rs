//! What a mounted file system can do, asked of it and never assumed: one small probe per
//! capability, each in a folder of its own.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod answers;
mod class;
mod document;
mod figures;
mod kernel;
mod probe;
mod probes;
mod refusal;
mod room;
mod survey;
mod table;
mod view;

pub use document::{Detail, features_document};
pub use room::TORN_TIME;
pub use survey::{Asked, Listener, Request, survey};
pub use table::capabilities;
