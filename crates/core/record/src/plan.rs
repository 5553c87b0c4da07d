use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use crate::metric::{Better, Metric, Statistic, View};
use crate::{BackingSpec, CandidateSpec, Cpus, ExplainAlso};

/// Candidates x workload x levels, with repeats, order and seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// See [`crate::FORMAT`].
    pub format: u32,
    pub name: String,
    pub question: String,
    /// What its author expected before it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expects: Option<String>,
    /// What an article saw and what to look at, where the plan reproduces one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub article: Option<ArticleNote>,
    /// The file systems, in the order of the tables.
    pub candidates: Vec<CandidateSpec>,
    pub backing: BackingSpec,
    pub workload: String,
    /// Parameters that every cell shares; what is absent takes its default.
    pub params: Map<String, Value>,
    pub axes: Vec<Axis>,
    /// Parameters that change with certain levels: a durable append has another rate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adjust: Vec<Adjustment>,
    /// Candidates left out under certain levels, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<Exclusion>,
    /// Search for the highest rate instead of running at the plan's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<CapacitySearch>,
    pub design: Design,
    pub timing: Timing,
    /// Operations above this many nanoseconds are joined with what the kernel was doing; none when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explain_above_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "ExplainAlso::is_nothing")]
    pub explain_also: ExplainAlso,
    /// Processors that measure and that help; chosen by the lab when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<Cpus>,
    /// Lanes on other hosts: ranks of MPI; workers of this machine when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<RanksSpec>,
    /// What the user consented to.
    pub consent: Consent,
    /// The words that began the run, as they were typed; empty where nobody typed any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub typed: Vec<String>,
}

/// Each rank that a launcher of MPI starts is a lane of every trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RanksSpec {
    /// The launcher and its own words: `mpirun`, `-np`, `6`.
    pub launcher: Vec<String>,
    /// How long the others are waited for when one has come.
    pub patience_s: f64,
}

/// What a plan reproduces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArticleNote {
    pub source: String,
    pub saw: String,
    /// What to look at in the result.
    pub look_at: String,
    #[serde(default)]
    pub cannot_tell: String,
}

/// A parameter with its levels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Axis {
    pub name: String,
    /// Its values, in the order of the tables.
    pub levels: Vec<Value>,
}

/// Parameters that hold where certain levels do, or for one candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Adjustment {
    /// Label of the candidate; every one when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate: Option<String>,
    #[serde(default)]
    pub levels: Map<String, Value>,
    pub params: Map<String, Value>,
}

/// Within each trial: the highest rate at which the schedule is still held. Every rate that
/// is tried is measured for the plan's time; the trial keeps the operations of the highest held one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacitySearch {
    /// First rate that is tried, in arrivals per second.
    pub start_per_s: f64,
    /// No rate above this is tried.
    pub limit_per_s: f64,
    /// The search ends when held and missed rate are this ratio apart, above 1.
    pub precision: f64,
    /// A quantile of the response time that must hold as well.
    pub bound: Option<ResponseBound>,
}

/// A bound on the response time of the first operation of the workload.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResponseBound {
    /// One of [`crate::record::QUANTILES`].
    pub quantile: f64,
    /// Largest value allowed, in nanoseconds.
    pub value_ns_max: f64,
}

/// A corner of the product that is not run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Exclusion {
    /// Label of the candidate; every one when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate: Option<String>,
    pub levels: Map<String, Value>,
    /// Why; shown where the cell would stand.
    pub reason: String,
}

/// Repeats, comparisons and stopping.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Design {
    /// Blocks: each cell once, in random order.
    pub blocks: u32,
    pub seed: u64,
    /// What is compared: `candidate`, or the name of an axis.
    pub compare: String,
    /// Label (or level) that the others are compared with.
    pub reference: String,
    /// What gets an answer; all else is exploratory.
    pub primary: Vec<Metric>,
    pub stop: StopRule,
    /// Which combinations of candidates and levels become cells.
    #[serde(default, skip_serializing_if = "Combine::is_every")]
    pub combine: Combine,
}

/// Which combinations of candidates and levels become cells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Combine {
    /// All of them.
    #[default]
    Every,
    /// The base, and each level that leaves it alone. The base is the reference of what is compared,
    /// the first candidate and the first level of everything else.
    OneAtATime,
}

impl Combine {
    pub fn is_every(&self) -> bool {
        *self == Combine::Every
    }
}

/// When a run ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "rule", rename_all = "kebab-case")]
pub enum StopRule {
    /// After the planned blocks.
    Blocks {
        /// As below.
        #[serde(default = "tie_margin")]
        tie_margin: f64,
    },
    /// When the always-valid test has settled the choice, or the budget is spent.
    Decided {
        budget_s: f64,
        /// Ratios closer to 1 than this count as a tie (0.05 = five per cent).
        tie_margin: f64,
    },
}

/// Where a plan says nothing.
pub fn tie_margin() -> f64 {
    0.05
}

impl StopRule {
    pub fn is_race(&self) -> bool {
        matches!(self, StopRule::Decided { .. })
    }

    pub fn tie_margin(&self) -> f64 {
        match self {
            StopRule::Blocks { tie_margin } | StopRule::Decided { tie_margin, .. } => *tie_margin,
        }
    }
}

/// Durations within a trial.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Timing {
    /// Raw device probe before each trial, in seconds (2 by validity rule 4).
    pub raw_probe_s: f64,
    /// Shortest warm-up, in seconds; it goes on until the warm-up bytes are written.
    pub warmup_s: f64,
    pub warmup_bytes: u64,
    pub measure_s: f64,
    /// The same operations back to back after it, in seconds; 0 for none.
    #[serde(default)]
    pub sustain_s: f64,
    /// Longest wait for the machine to settle between trials, in seconds.
    pub settle_s: f64,
}

/// What the user consented to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Consent {
    /// The page cache of the whole machine may be dropped.
    #[serde(default)]
    pub drop_caches: bool,
    /// Settings that reach every program of the machine may be changed for a trial.
    #[serde(default)]
    pub system_tuning: bool,
    /// SCHED_FIFO may be asked for.
    #[serde(default)]
    pub realtime: bool,
    /// The command `fault` may be run; no plan file can say so.
    #[serde(default)]
    pub fault: bool,
}
