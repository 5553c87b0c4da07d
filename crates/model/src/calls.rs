//! The file-system calls of a program, as a probe counted and timed them. Plain data; who is traced,
//! and how, is in crate `probe`.
//!
//! All times are nanoseconds.

use serde::{Deserialize, Serialize};

use crate::record::Distribution;

/// All file-system calls of some processes while they were watched.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CallsRecord {
    /// One row for each call that was made, greatest total time first.
    pub calls: Vec<CallRow>,
    /// What was seen and lost.
    pub counts: CallCounts,
    /// What tracing added to each call, measured on this machine just before; 0 where it was not.
    pub cost_ns: f64,
    /// When the watch began, on the CLOCK_MONOTONIC line.
    pub began_ns: u64,
    /// How long it was.
    pub watched_ns: u64,
}

/// One kind of call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CallRow {
    /// `pwrite64`.
    pub call: String,
    /// From entering the kernel to leaving it; of calls that came back.
    pub service: Distribution,
    /// Sum of these times.
    pub total_ns: u64,
    /// Bytes that calls said to have read.
    #[serde(default)]
    pub bytes_read: u64,
    /// Bytes that calls said to have written.
    #[serde(default)]
    pub bytes_written: u64,
    /// Calls that failed, by their error, most frequent first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<CallError>,
    /// Calls that had not come back when the watch or their thread ended; not in `service`.
    #[serde(default)]
    pub unended: u64,
}

/// How often a call failed with an error.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallError {
    /// Its number.
    pub errno: i32,
    /// Its name: `ENOENT`.
    pub name: String,
    /// How often.
    pub count: u64,
}

/// What was seen of calls and what was lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallCounts {
    /// Processes that were met.
    pub processes: u64,
    /// Threads that were met, those of `processes` too.
    pub threads: u64,
    /// Calls that came back.
    pub calls: u64,
    /// Calls that were open while events may have been lost, or of which one end is missing for that; in no
    /// row. A ring that was full to the last record may have lost none: then it is not 0 though
    /// `events_lost` is.
    pub cut: u64,
    /// Events that arrived.
    pub events: u64,
    /// Events that the kernel could not hand over.
    pub events_lost: u64,
}

impl CallsRecord {
    /// The row of a call; `None` where it was not made.
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
    /// How many failed.
    pub fn failed(&self) -> u64 {
        self.errors.iter().map(|error| error.count).sum()
    }
}
