use serde::{Deserialize, Serialize};

use crate::record::Times;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CallsRecord {
    pub calls: Vec<CallRow>,
    pub counts: CallCounts,
    /// What tracing added to each call, measured on this machine just before; 0 where it was not.
    pub cost_ns: f64,
    /// When the watch began, on the CLOCK_MONOTONIC line.
    pub began_ns: u64,
    pub watched_ns: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CallRow {
    pub call: String,
    /// From entering the kernel to leaving it; of calls that came back.
    pub service: Times,
    pub total_ns: u64,
    #[serde(default)]
    pub bytes_read: u64,
    #[serde(default)]
    pub bytes_written: u64,
    /// Calls that failed, by their error, most frequent first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<CallError>,
    /// Calls that had not come back when the watch or their thread ended; not in `service`.
    #[serde(default)]
    pub unended: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CallError {
    pub errno: i32,
    pub name: String,
    pub count: u64,
}

#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct CallCounts {
    pub processes: u64,
    /// Threads that were met, those of `processes` too.
    pub threads: u64,
    pub calls: u64,
    /// Calls that were open while events may have been lost, or of which one end is missing for that; in no
    /// row. A ring that was full to the last record may have lost none: then it is not 0 though
    /// `events_lost` is.
    pub cut: u64,
    pub events: u64,
    /// Events that the kernel could not hand over.
    pub events_lost: u64,
}

impl CallsRecord {
    pub fn row(&self, call: &str) -> Option<&CallRow> {
        self.calls.iter().find(|row| row.call == call)
    }

    /// Share of the time of all calls that tracing them may have added, in [0, 1].
    pub fn cost_share(&self) -> f64 {
        let total_ns: u64 = self.calls.iter().map(|row| row.total_ns).sum();
        let cost_ns = self.cost_ns * self.counts.calls as f64;
        if total_ns == 0 { 0.0 } else { (cost_ns / total_ns as f64).min(1.0) }
    }
}

impl CallRow {
    pub fn failed(&self) -> u64 {
        self.errors.iter().map(|error| error.count).sum()
    }
}
