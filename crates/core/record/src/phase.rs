//! Workloads that are a list of tests rather than one loop are made of them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Outcome, record::Flag};

/// Where the data of a phase was when it began.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Heat {
    /// On the device only.
    Cold,
    /// In the page cache.
    Hot,
}

/// What a phase counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WorkUnit {
    /// Bytes.
    Bytes,
    /// Files.
    Files,
    /// Seeks.
    Seeks,
    /// Calls.
    #[default]
    Calls,
}

impl WorkUnit {
    /// The word that follows a number: `bytes`, `files`.
    pub fn word(self) -> &'static str {
        match self {
            WorkUnit::Bytes => "bytes",
            WorkUnit::Files => "files",
            WorkUnit::Seeks => "seeks",
            WorkUnit::Calls => "calls",
        }
    }
}

/// One phase of one trial: of one lane as it comes from there, of all of them in a file. Times are
/// nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseRecord {
    /// Its name, unique in the trial and known to plans: `random read 4k cold`.
    pub phase: String,
    /// Its name in the field's tables: `random read 4k`.
    pub label: String,
    /// The group that it belongs to: `write`, `random read`.
    pub suite: String,
    /// Hot or cold, where that makes a difference.
    pub heat: Option<Heat>,
    /// It belongs to the table that is looked at first.
    pub is_high_impact: bool,
    /// Computed from other phases of the trial; nothing ran for it.
    pub is_derived: bool,
    pub unit: WorkUnit,
    /// Work of all lanes, as the field counts it.
    pub work: f64,
    /// Bytes that went to or came from files, of all lanes.
    pub real_bytes: u64,
    /// Sum over the lanes of work / own elapsed time, per second.
    pub rate_per_s: f64,
    /// Elapsed time of the slowest lane.
    pub elapsed_ns: u64,
    /// Elapsed time, mean over the lanes.
    pub elapsed_mean_ns: u64,
    /// When the first lane began it, on the CLOCK_MONOTONIC line; 0 in old files.
    #[serde(default)]
    pub began_ns: u64,
    /// When the last lane had ended it.
    #[serde(default)]
    pub ended_ns: u64,
    /// How long a lane waited at the gate for others, ready to begin; the longest.
    #[serde(default)]
    pub waited_before_ns: u64,
    /// How long a lane waited behind it, until the last one had ended; the longest.
    #[serde(default)]
    pub waited_after_ns: u64,
    /// From the first lane's start to the last lane's.
    pub start_skew_ns: u64,
    /// From the first lane's start to the median lane's.
    pub start_skew_p50_ns: u64,
    /// Processes that ran it, each in its own directory.
    pub lanes: u32,
    pub threads: u32,
    pub cpu_user_ns: u64,
    pub cpu_system_ns: u64,
    pub outcome: Outcome,
    /// Doubts: `not-cold`, `not-hot`, `under-dirty-limit`.
    pub flags: Vec<Flag>,
    /// Counted facts, by name with the unit last.
    pub values: BTreeMap<String, f64>,
}

impl PhaseRecord {
    /// A finished phase of one lane and one thread that did nothing yet.
    pub fn named(phase: &str) -> PhaseRecord {
        let (phase, label) = (phase.to_string(), phase.to_string());
        PhaseRecord { phase, label, lanes: 1, threads: 1, ..PhaseRecord::default() }
    }

    pub fn is_finished(&self) -> bool {
        self.outcome == Outcome::Finished
    }
}
