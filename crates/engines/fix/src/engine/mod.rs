//! The engine: sessions, store and market put together; bytes of connections go in and out.
//!
//! It has no sockets and reads no clock, so it runs whole in tests. The order of things is the point of it: a message
//! is kept before the business sees it, an answer is kept before it leaves, and after a crash whatever was kept and
//! not answered is answered once.

mod connection;
mod core;
mod deciding;
mod error;
mod member;
mod recovery;
mod sending;
mod settings;

pub use self::core::{ConnectionNumber, Engine, Now};
pub use connection::{Inbox, Outbox};
pub use error::EngineError;
pub use settings::Settings;
