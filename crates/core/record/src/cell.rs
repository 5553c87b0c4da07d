use std::{collections::BTreeMap, fmt};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{CandidateSpec, quantity::grouped};

/// Name of a cell: sixteen hexadecimal digits, a hash of all that was asked of it.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct CellId(pub String);

impl fmt::Display for CellId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A workload's name, its version and its complete parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadSpec {
    /// Row in the table of workloads: `journal`, `null`.
    pub name: String,
    /// Version of the workload; rises when its numbers may move.
    pub version: u32,
    pub params: Map<String, Value>,
}

/// One value of one axis: `sync` = `fdatasync`.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct Level {
    pub axis: String,
    pub value: String,
}

/// What survives, weakest first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Durability {
    /// Not known: a program that pickfs starts decides it.
    Unknown,
    /// Nothing: data lives in the process.
    Nothing,
    /// The program may crash; the kernel has the data.
    ProcessCrash,
    /// The kernel may crash; the device has the data, perhaps in its cache.
    KernelCrash,
    /// The power may fail, if the device keeps its word about flushes.
    PowerLoss,
    /// One host may be lost.
    HostLoss,
}

impl fmt::Display for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Durability::Unknown => "durability not known",
            Durability::Nothing => "survives nothing",
            Durability::ProcessCrash => "survives a process crash",
            Durability::KernelCrash => "survives a kernel crash",
            Durability::PowerLoss => "survives a power loss, if the device keeps its word",
            Durability::HostLoss => "survives the loss of one host",
        })
    }
}

/// What crashes were seen to leave of a candidate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Survived {
    /// The strongest of whose crashes no state failed, nor any of a weaker one.
    pub class: Durability,
    /// States that were looked at, of that class, or of the one behind it where that failed.
    pub states: u64,
    /// Those that lost what had been acknowledged.
    pub failed: u64,
    /// The crash, or for a power loss the disk: `any-order/4096/honest`.
    pub of: String,
}

impl fmt::Display for Survived {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [failed, states] = [self.failed, self.states].map(|count| grouped(count as i64));
        write!(f, "measured: lost {failed} of {states} states of {}", self.of)
    }
}

/// Of which candidate it was seen, under which release of the kernel, and by which writer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    pub candidate: CandidateSpec,
    pub kernel: String,
    /// `journal/pwrite/fdatasync/fallocate`.
    pub writer: String,
    /// What the writer promises of a record that it has acknowledged.
    pub promised: Durability,
    pub survived: Survived,
}

/// Candidate x workload parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// Hash of candidate (with its label), backing, workload, version and parameters.
    pub id: CellId,
    pub candidate: CandidateSpec,
    pub workload: WorkloadSpec,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub knobs: BTreeMap<String, String>,
    /// The axes of the plan that tell this cell from its neighbours, in plan order.
    pub levels: Vec<Level>,
    pub durability: Durability,
    /// Where that rests on crashes that were tried here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub survived: Option<Survived>,
}

impl Cell {
    /// The levels as `sync=fdatasync, size=256`; empty when the plan has no axes.
    pub fn levels_text(&self) -> String {
        let parts: Vec<_> = self.levels.iter().map(|l| format!("{}={}", l.axis, l.value)).collect();
        parts.join(", ")
    }

    pub fn level(&self, axis: &str) -> Option<&str> {
        self.levels.iter().find(|level| level.axis == axis).map(|level| level.value.as_str())
    }
}
