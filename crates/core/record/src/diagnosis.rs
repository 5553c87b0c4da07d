use serde::{Deserialize, Serialize};

use crate::Environment;

/// What this machine can test and what it lacks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Diagnosis {
    pub environment: Environment,
    /// One row per file system of the table.
    pub file_systems: Vec<FileSystemDiagnosis>,
    pub needs: Vec<Need>,
    pub clock: ClockDiagnosis,
    /// Packages, as this distribution calls them, that would make more of the table run.
    pub packages: Vec<String>,
}

/// Whether a file system runs here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FileSystemDiagnosis {
    pub name: String,
    pub origin: String,
    pub ready: bool,
    /// Why not; empty when ready.
    pub reason: String,
    /// What would help; empty when ready.
    pub remedy: String,
    /// The first way that works: `native`, or the engine of a guest; empty where none does.
    #[serde(default)]
    pub route: String,
    /// What that way needs and is not there yet: a package of guests, fetched without installing it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub route_needs: String,
}

/// Something that a run needs of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Need {
    pub what: String,
    pub met: bool,
    pub text: String,
}

/// The clock and the noise of the machine, seen by a thread that does nothing else.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ClockDiagnosis {
    /// Cost of one reading in nanoseconds, median of many.
    pub read_ns: f64,
    /// Smallest step seen between two readings that differ, in nanoseconds.
    pub step_ns: u64,
    pub watched_s: f64,
    /// Gaps of more than 10 us in which the thread did not run, per second.
    pub gaps_per_s: f64,
    /// Longest such gap in nanoseconds.
    pub gap_ns_max: u64,
    /// Share of the time that was lost in such gaps, in [0, 1].
    pub gap_share: f64,
}
