//! The engine: sessions, store and market put together; bytes of connections go in and out.
//!
//! It has no sockets and reads no clock, so it runs whole in tests. The order of things is the point of it: a message
//! is kept before the business sees it, an answer is kept before it leaves, and after a crash whatever was kept and
//! not answered is answered once.

use crate::market::Limits;
use crate::session::Timing;
use crate::store::{Gate, StoreError};

pub use connection::{Inbox, Outbox};

pub use self::core::{ConnectionNumber, Engine, Now};

mod connection;
mod core;
mod recovery;
mod sending;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// TargetCompID of what comes in.
    pub comp_id: String,
    /// Who may log on; empty lets everybody, up to `sessions_max`.
    pub peers: Vec<String>,
    pub sessions_max: usize,
    pub connections_max: usize,
    pub message_bytes_max: usize,
    /// Those that may wait for a connection before it is ended.
    pub outbox_bytes_max: usize,
    pub timing: Timing,
    pub market: Limits,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            comp_id: "PICKFS".into(),
            peers: Vec::new(),
            sessions_max: 64,
            connections_max: 64,
            message_bytes_max: 16 << 10,
            outbox_bytes_max: 4 << 20,
            timing: Timing::default(),
            market: Limits::default(),
        }
    }
}

pub type Result<T = ()> = std::result::Result<T, EngineError>;

#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("store: {0}")]
    Store(#[from] StoreError),
    /// What the store holds does not follow from what came in.
    #[error(
        "session {session}: what was sent as number {sequence} is not what its orders give; the store is of another engine"
    )]
    Differs { session: u32, sequence: u64 },
    #[error("{connections} connections are open, and more are not allowed; raise connections_max")]
    Full { connections: usize },
    #[error("{verb}: {source}")]
    Io { verb: &'static str, source: std::io::Error },
}

// What an engine tells whoever measures it. By default nobody listens, and it costs nothing.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    In,
    Out,
}

/// Called on the engine's thread, around the steps of an order. Between the two calls of a step stands nothing but
/// the step.
pub trait Observer: Send {
    /// Bytes were read from a connection; what follows is of them, until the next call.
    fn read(&mut self, _connection: usize) {}
    fn checking(&mut self) {}
    fn checked(&mut self) {}
    fn keeping(&mut self, _way: Way) {}
    fn kept(&mut self, _way: Way) {}
    /// A gate is about to be waited at: before the business sees what came in, or before answers leave.
    fn waiting(&mut self, _gate: Gate) {}
    fn waited(&mut self, _gate: Gate) {}
    /// A NewOrderSingle of a connection was answered; its reports wait to be sent.
    fn answered(&mut self, _connection: usize) {}
    fn sending(&mut self, _connection: usize) {}
    fn sent(&mut self, _connection: usize) {}
}

impl Observer for () {}
