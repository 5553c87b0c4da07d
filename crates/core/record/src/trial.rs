//! What a worker is told on standard input, and what it answers on standard output.
//!
//! Both are JSON, one value a line. The worker answers `ready`, waits for the
//! line `go`, and writes nothing while it measures. The first lane of a phased
//! workload speaks between two phases, when all lanes stand still.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{
    PhaseRecord, WorkloadSpec,
    record::{LoadRecord, OpRecord},
};

pub const WORKER: &str = "worker";
/// The role of a worker that reads what the lane of its trial wrote, on another host: it says `verified` with the
/// number of whole records.
pub const READ_BACK: &str = "read-back";
/// Ends the name of an operation whose times hold their share of the sync that ended the trial.
pub const WITH_FINAL_SYNC: &str = " with final sync";
/// Count of a trial: how long that sync took.
pub const FINAL_SYNC_KEY: &str = "final_sync_ns";
/// The operation of the closed loop at the end of a trial: its rate is what the candidate sustains.
pub const SUSTAINED: &str = "sustained";
/// Counts of a trial: the arrivals of that loop, and its time with the sync of what it put off.
pub const SUSTAINED_KEYS: [&str; 2] = ["sustained_turns", "sustained_ns"];

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TrialSpec {
    pub format: u32,
    pub build: String,
    pub workload: WorkloadSpec,
    /// The mounted candidate: a directory that the worker may fill.
    pub directory: PathBuf,
    /// What this process does in the trial: `appender`, `reader`.
    pub role: String,
    /// Which one of several that do the same, from 0.
    pub lane: u32,
    #[serde(default = "one")]
    pub lanes: u32,
    pub seed: u64,
    pub warmup_ns: u64,
    /// Bytes that the warm-up must write.
    pub warmup_bytes: u64,
    pub measure_ns: u64,
    /// CPU of the measuring thread; free choice when absent.
    pub cpu: Option<u32>,
    /// CPU of helper threads (readers, neighbours, roll-ahead); free choice when absent.
    pub helper_cpu: Option<u32>,
    /// Processors of the whole worker, where the user named some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpus: Vec<u32>,
    /// Size of the scratch in bytes, the same for every candidate; absent where nobody set one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scratch_bytes: Option<u64>,
    /// I/O priority of the worker: `realtime`, `best-effort`, `idle`; as it is when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_priority: Option<String>,
    /// Spikes kept per operation.
    pub spikes_max: u32,
    /// The machine's caches may be dropped.
    pub drop_caches: bool,
    /// Operations that have a row with their share of a sync at the end of the trial; without any
    /// there is no such sync.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub final_sync: Vec<String>,
    /// Longest time of the closed loop after the measurement; 0 for none.
    #[serde(default)]
    pub sustain_ns: u64,
    /// Where lanes are on several hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub among: Option<Among>,
}

/// A lane among those of other hosts.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct Among {
    /// Its host, from 0, and how many there are.
    pub host: u32,
    pub hosts: u32,
    /// It is the first lane of its host.
    pub leads: bool,
    /// The first host's clock less this one's, give or take the error.
    pub offset_ns: i64,
    pub error_ns: u64,
}

impl Among {
    /// A time of the own clock on the first host's.
    pub fn first_ns(self, own_ns: u64) -> u64 {
        own_ns.saturating_add_signed(self.offset_ns)
    }

    /// A time of the first host's clock on the own one.
    pub fn own_ns(self, first_ns: u64) -> u64 {
        first_ns.saturating_add_signed(self.offset_ns.saturating_neg())
    }
}

fn one() -> u32 {
    1
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum WorkerMessage {
    Hello {
        format: u32,
        build: String,
    },
    /// Prepared and warmed up; waiting for `go`.
    Ready {
        /// What the workload wants told: fallbacks it took, sizes it chose.
        notes: Vec<String>,
        warmup_ns: u64,
    },
    Op(Box<OpRecord>),
    Phase(Box<PhaseRecord>),
    /// A phase is about to begin; said by the first lane only, between two phases.
    PhaseBegins {
        phase: String,
        /// Its place among the phases, from 1.
        number: u32,
    },
    /// The caches of the mount are to be dropped, and nothing of it is open: the lab does it and
    /// answers with the line `go`. Said by the first lane only, between two phases.
    ColdAsked,
    Load(LoadRecord),
    Count {
        /// Name with its unit last: `reads_mixed`, `bytes_written`.
        name: String,
        value: f64,
    },
    Figure {
        /// Its name: `tps`, `written bytes`.
        name: String,
        value: f64,
    },
    Stalls(Box<crate::StallRecord>),
    /// Something that should be told: a size that was reduced, a way that was taken instead.
    Note {
        text: String,
    },
    Verified {
        checked: u64,
    },
    Failed {
        reason: String,
    },
    Skipped {
        reason: String,
    },
    Finished,
}
