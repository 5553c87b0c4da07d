use crate::market::Limits;
use crate::session::Timing;

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
