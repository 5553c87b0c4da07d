use crate::store::StoreError;

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
