//! What both ends of a line say.

use pickfs_record::{Event, Plan};
use serde::{Deserialize, Serialize};

/// Longest line: facts of a machine, or a plan with its job files.
pub(crate) const LINE_BYTES_MAX: u64 = 4 << 20;
/// What a login may print before the program speaks.
pub(crate) const GREETING_BYTES_MAX: usize = 64 << 10;

/// The first line to a host. Behind it come beats: empty lines.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Request {
    pub build: String,
    pub plan: Plan,
}

/// A line from a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Said {
    Hello {
        build: String,
    },
    Event(Box<Event>),
    Beat,
    /// So many bytes follow, and nothing behind them.
    File {
        bytes: u64,
    },
}

impl Said {
    pub(crate) fn line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}
