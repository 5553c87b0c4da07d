//! What ends an engine, or keeps one from beginning.

use crate::store::StoreError;

/// Why an engine cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The store failed: nothing may be answered any more.
    #[error("store: {0}")]
    Store(#[from] StoreError),
    /// What the store holds does not follow from what came in.
    #[error(
        "session {session}: what was sent as number {sequence} is not what its orders give; the store is of another engine"
    )]
    Differs {
        /// Number of the session.
        session: u32,
        /// MsgSeqNum.
        sequence: u64,
    },
    /// All connections are in use.
    #[error("{connections} connections are open, and more are not allowed; raise connections_max")]
    Full {
        /// How many.
        connections: usize,
    },
    /// A socket call failed.
    #[error("{verb}: {source}")]
    Io {
        /// What was being done.
        verb: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
}
