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

/// First word of the program that makes it a worker.
pub const WORKER: &str = "worker";

/// Everything that one worker process needs for one trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialSpec {
    /// See [`crate::FORMAT`].
    pub format: u32,
    /// Build that the lab expects to talk to.
    pub build: String,
    /// What to do.
    pub workload: WorkloadSpec,
    /// The mounted candidate: a directory that the worker may fill.
    pub directory: PathBuf,
    /// What this process does in the trial: `appender`, `reader`.
    pub role: String,
    /// Which one of several that do the same, from 0.
    pub lane: u32,
    /// How many do the same.
    #[serde(default = "one")]
    pub lanes: u32,
    /// Seed of every random choice in the worker.
    pub seed: u64,
    /// Shortest warm-up in nanoseconds.
    pub warmup_ns: u64,
    /// Bytes that the warm-up must write.
    pub warmup_bytes: u64,
    /// Measured time in nanoseconds.
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
}

fn one() -> u32 {
    1
}

/// What a worker says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum WorkerMessage {
    /// First line: who speaks.
    Hello {
        /// See [`crate::FORMAT`].
        format: u32,
        /// Build identity.
        build: String,
    },
    /// Prepared and warmed up; waiting for `go`.
    Ready {
        /// What the workload wants told: fallbacks it took, sizes it chose.
        notes: Vec<String>,
        /// Length of the warm-up in nanoseconds.
        warmup_ns: u64,
    },
    /// One operation's laps.
    Op(Box<OpRecord>),
    /// One phase, as this lane ran it.
    Phase(Box<LanePhase>),
    /// A phase is about to begin; said by the first lane only, between two phases.
    PhaseBegins {
        /// Its name.
        phase: String,
        /// Its place among the phases, from 1.
        number: u32,
    },
    /// The caches of the mount are to be dropped, and nothing of it is open: the lab does it and
    /// answers with the line `go`. Said by the first lane only, between two phases.
    ColdAsked,
    /// What was offered and kept.
    Load(LoadRecord),
    /// A counted fact: mixed reads, bytes written, syncs made.
    Count {
        /// Name with its unit last: `reads_mixed`, `bytes_written`.
        name: String,
        /// Its value.
        value: f64,
    },
    /// A number in a unit of its own: what a program told of itself, bytes, calls.
    Figure {
        /// Its name: `tps`, `written bytes`.
        name: String,
        /// Its value; the mean where the trial has several.
        value: f64,
    },
    /// Why calls of a program were slow, where the worker itself watched.
    Stalls(Box<crate::StallRecord>),
    /// Something that should be told: a size that was reduced, a way that was taken instead.
    Note {
        /// In words.
        text: String,
    },
    /// What was written is there.
    Verified {
        /// Records or files that were read back and compared.
        checked: u64,
    },
    /// The trial failed; nothing follows.
    Failed {
        /// What went wrong, with operation, path and errno.
        reason: String,
    },
    /// The trial could not be run as asked (the file system refuses a way).
    Skipped {
        /// Why.
        reason: String,
    },
    /// Last line.
    Finished,
}

/// One phase of one lane.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LanePhase {
    /// What this lane did; its rate is that of this lane alone, its skew is unknown.
    pub record: PhaseRecord,
    /// How long it waited at the gate for others, ready to begin, in nanoseconds.
    pub waited_before_ns: u64,
    /// When it began, on the CLOCK_MONOTONIC line.
    pub began_ns: u64,
    /// When it ended, on the same line.
    pub ended_ns: u64,
    /// How long it waited at the gate behind it, until the last lane had ended, in nanoseconds.
    pub waited_after_ns: u64,
}
