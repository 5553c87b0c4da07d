use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{BackingKind, Cell, CellId, Environment, PhaseRecord, Plan, StepRecord, plan::View};

pub const QUANTILES: &[f64] = &[
    0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995,
    0.9998, 0.9999, 0.99995, 0.99999,
];

/// All trials of one plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RunRecord {
    /// See [`crate::FORMAT`].
    pub format: u32,
    /// Name of the run, unique in its folder.
    pub name: String,
    /// Start, RFC 3339.
    pub started: String,
    pub build: String,
    pub plan: Plan,
    pub environment: Environment,
    /// The set-up card: bare figures of the backing, by key.
    pub card: Environment,
    /// The cells, in plan order.
    pub cells: Vec<Cell>,
    /// Cells that were not run, with the reason.
    pub skipped: Vec<SkippedCell>,
    /// The trials, in the order in which they ran.
    pub trials: Vec<TrialRecord>,
    pub ended: Option<RunEnd>,
}

impl RunRecord {
    /// The last block that began; 0 before the first.
    pub fn last_block(&self) -> u32 {
        self.trials.iter().map(|trial| trial.block).max().unwrap_or(0)
    }

    /// Blocks with a trial that nobody stopped.
    pub fn blocks(&self) -> u32 {
        let whole = self.trials.iter().filter(|trial| !trial.is_interrupted());
        whole.map(|trial| trial.block).collect::<BTreeSet<_>>().len() as u32
    }

    /// Blocks in which every cell has such a trial; a race that dropped a cell has few.
    pub fn complete_blocks(&self) -> u32 {
        let whole = |block: u32, cell: &CellId| {
            let mut trials = self.trials.iter().filter(|trial| !trial.is_interrupted());
            trials.any(|trial| trial.block == block && trial.cell == *cell)
        };
        let complete = |block: &u32| self.cells.iter().all(|cell| whole(*block, &cell.id));
        (1..=self.last_block()).filter(complete).count() as u32
    }
}

/// A cell that was not run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SkippedCell {
    pub cell: Cell,
    pub reason: String,
    /// What would help: a package, a kernel module, a privilege.
    pub remedy: String,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RunEnd {
    /// End, RFC 3339.
    pub at: String,
    /// `completed`, `decided`, `budget-spent`, `disturbed`, `interrupted` or `failed`.
    pub how: String,
    pub note: String,
}

/// One execution of a cell on a freshly made file system.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TrialRecord {
    /// Position in the run, from 1.
    pub number: u32,
    pub cell: CellId,
    /// The block, from 1.
    pub block: u32,
    /// 1, or 2 where a disturbed trial was repeated.
    pub attempt: u32,
    /// Seconds from the start of the run.
    pub started_s: f64,
    pub elapsed_s: f64,
    pub outcome: Outcome,
    pub backing: BackingKind,
    pub steps: Vec<StepRecord>,
    /// Facts of this trial: driver, mount options in force, block size, device.
    pub environment: Environment,
    /// Extents of the image, before and after; absent without an image.
    pub image: Option<ImageRecord>,
    pub raw: Option<RawProbe>,
    /// The wait before the trial.
    pub settle: Option<SettleRecord>,
    pub ops: Vec<OpRecord>,
    /// Phases, in the order in which they ran; empty where the workload is one loop.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseRecord>,
    /// Hosts of the lanes, where they are ranks; that of the first lane is the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostShare>,
    pub load: Option<LoadRecord>,
    pub counts: BTreeMap<String, f64>,
    /// Numbers in units of their own, by name: what a program told of itself, bytes and calls. Over
    /// several runs in the trial their mean.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<String, f64>,
    #[serde(alias = "robbery")]
    pub disturbance: Option<Disturbance>,
    /// Why operations were slow; absent where nobody asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalls: Option<crate::StallRecord>,
    pub warmup_s: f64,
    pub notes: Vec<String>,
    pub flags: Vec<Flag>,
}

/// Why a trial failed that somebody asked to end.
pub const INTERRUPTED: &str = "interrupted";

impl TrialRecord {
    /// It says nothing about its candidate, and its block may be incomplete.
    pub fn is_interrupted(&self) -> bool {
        matches!(&self.outcome, Outcome::Failed { reason } if reason == INTERRUPTED)
    }

    pub fn op(&self, name: &str) -> Option<&OpRecord> {
        self.ops.iter().find(|op| op.op == name)
    }

    pub fn phase(&self, name: &str) -> Option<&PhaseRecord> {
        self.phases.iter().find(|phase| phase.phase == name)
    }
}

/// A host of a trial whose lanes are ranks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HostShare {
    pub name: String,
    /// Release of its kernel.
    pub kernel: String,
    pub ranks: u32,
    /// Type and source of the mount in which its lanes measured: `nfs4 server:/export`.
    pub mount: String,
    /// The clock of the first host less that of this one lies between these two all the time, in nanoseconds.
    pub offset_ns_min: i64,
    pub offset_ns_max: i64,
    /// From the beginning of the first lane of all to that of the last lane of this host.
    pub start_skew_ns: u64,
}

impl HostShare {
    /// By how much its clock may be wrong beside that of the first host.
    pub fn clock_error_ns(&self) -> u64 {
        self.offset_ns_max.abs_diff(self.offset_ns_min).div_ceil(2)
    }
}

/// How a trial went.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Outcome {
    /// Measured and verified.
    #[default]
    Finished,
    /// Tried and failed.
    Failed { reason: String },
    /// Could not be tried as asked.
    Skipped { reason: String },
}

/// A doubt about a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Flag {
    /// `disturbed`, `throttled`, `not-steady`, `holes`, `not-direct`, `rate-missed`,
    /// `period-not-covered`, `settle-timeout`, `raw-out-of-band`, `not-cold`, `not-hot`, `late-start`, `clock-loose`,
    /// `records-lost`.
    #[serde(deserialize_with = "kind_of_today")]
    pub kind: String,
    pub text: String,
}

/// Old files call disturbed trials robbed.
fn kind_of_today<'de, D: serde::Deserializer<'de>>(reader: D) -> Result<String, D::Error> {
    let kind = String::deserialize(reader)?;
    Ok(if kind == "robbed" { "disturbed".into() } else { kind })
}

/// Times of one operation in one trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct OpRecord {
    /// `append`, `sync`, `durable`, `roll`, `read`.
    pub op: String,
    /// End minus start.
    pub service: Times,
    /// End minus due without the driver's stalls; absent where no schedule exists.
    pub response: Option<Times>,
    /// End minus due, with the driver's stalls; absent where no schedule exists, and in old files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_response: Option<Times>,
    /// One row per second.
    pub intervals: Vec<Second>,
    pub spikes: Vec<Operation>,
    /// HdrHistogram interval log (tags `service` and `response`); empty unless asked for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub interval_log: String,
}

impl OpRecord {
    /// A few times, kept exactly: those of a workload whose every operation is a whole program.
    pub fn exact(op: &str, times_ns: &[u64]) -> OpRecord {
        let mut sorted = times_ns.to_vec();
        sorted.sort_unstable();
        let count = sorted.len();
        let mean_ns = sorted.iter().sum::<u64>() as f64 / count.max(1) as f64;
        let squares: f64 = sorted.iter().map(|time| (*time as f64 - mean_ns).powi(2)).sum();
        let row = |&q: &f64| -> Option<QuantileRow> {
            let place = ((q * count as f64).ceil() as usize).clamp(1, count.max(1)) - 1;
            let value_ns = *sorted.get(place)?;
            let is_above = |at: usize| times_ns[at] > value_ns;
            let starts = (0..count).filter(|at| is_above(*at) && (*at == 0 || !is_above(at - 1)));
            Some(QuantileRow { q, value_ns, episodes: starts.count() as u64 })
        };
        let service = Times {
            count: count as u64,
            mean_ns,
            sd_ns: (squares / (count.max(2) - 1) as f64).sqrt(),
            min_ns: sorted.first().copied().unwrap_or(0),
            max_ns: sorted.last().copied().unwrap_or(0),
            quantiles: QUANTILES.iter().filter_map(row).collect(),
            ..Times::default()
        };
        OpRecord { op: op.into(), service, ..OpRecord::default() }
    }

    /// All its times stand in its operations, beside no histogram.
    pub(crate) fn is_exact(&self) -> bool {
        let Times { count, histogram, .. } = &self.service;
        *count > 0 && histogram.is_empty() && *count == self.spikes.len() as u64
    }

    pub fn view(&self, view: View) -> Option<&Times> {
        match view {
            View::Service => Some(&self.service),
            View::Response => self.response.as_ref(),
            View::RawResponse => self.raw_response.as_ref(),
        }
    }
}

/// Operations as numbers. Times are nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Times {
    pub count: u64,
    /// Arithmetic mean.
    pub mean_ns: f64,
    /// Standard deviation (n - 1).
    pub sd_ns: f64,
    /// Smallest, exact.
    pub min_ns: u64,
    /// Largest, exact.
    pub max_ns: u64,
    /// One entry per [`QUANTILES`].
    pub quantiles: Vec<QuantileRow>,
    /// Operations longer than the histogram holds (60 s); counted at its edge.
    pub overflow: u64,
    /// HdrHistogram V2 + DEFLATE, base64; empty where it was not kept.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub histogram: String,
}

impl Times {
    pub fn quantile(&self, q: f64) -> Option<&QuantileRow> {
        self.quantiles.iter().find(|row| (row.q - q).abs() < 1e-9)
    }
}

/// One quantile of one trial.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct QuantileRow {
    /// Share of the operations at or below, in (0, 1).
    pub q: f64,
    /// The value in nanoseconds (histogram precision: 0.1 %).
    pub value_ns: u64,
    /// Runs of adjacent operations above the value: independent episodes, not samples. Over several lanes or
    /// threads a lower bound, those of the one that saw most: a stall that hits all of them is one.
    pub episodes: u64,
}

/// The operations of one second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Second {
    /// Second since the measurement began, from 0.
    pub second: u32,
    pub count: u64,
    pub service_min_ns: u64,
    /// Median service time.
    pub service_p50_ns: u64,
    pub service_max_ns: u64,
    /// Largest response time; 0 where no schedule exists.
    pub response_max_ns: u64,
}

/// One operation as it happened. Times are on the CLOCK_MONOTONIC line.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct Operation {
    /// When it was due; its start where no schedule exists.
    pub due_ns: u64,
    pub start_ns: u64,
    pub end_ns: u64,
    /// Offset in the file, or 0.
    pub offset_bytes: u64,
}

/// What was offered and what was kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LoadRecord {
    /// Arrivals per second that the schedule asked for; absent in a closed loop.
    pub asked_per_s: Option<f64>,
    /// Arrivals per second that were completed within the planned time.
    pub achieved_per_s: f64,
    /// Arrivals that were taken: all that were due in the planned time, those after its end too.
    #[serde(alias = "turns")]
    pub arrivals: u64,
    /// Of these, arrivals that ended after the planned time.
    #[serde(default)]
    pub drained: u64,
    /// Arrivals that were due and never began; each is a response of at least what it had waited.
    #[serde(default)]
    pub missed: u64,
    /// Arrivals that began late although the one before had ended: the machine.
    pub late_driver: u64,
    /// Arrivals that began late behind a slow one: the candidate.
    pub late_queue: u64,
    pub driver_stall_ns_max: u64,
    pub driver_stall_ns_sum: u64,
    pub measured_ns: u64,
    /// First operation on the CLOCK_MONOTONIC line.
    pub began_ns: u64,
    pub cpu_user_ns: u64,
    pub cpu_system_ns: u64,
    /// Involuntary context switches of the worker in the measured time.
    pub preemptions: u64,
}

/// Behind the name of a program that was seen elsewhere than on the CPU that measures.
pub const ON_OTHER_CPUS: &str = " (on other CPUs)";

/// What others took while the trial measured: of the CPU that measures, else of the machine, and of the disk.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Disturbance {
    /// Steal time in CPUs: 1.0 is all of one CPU's time.
    pub steal_share: f64,
    /// User time of foreign programs in CPUs: 1.0 is all of one CPU's time.
    pub foreign_user_share: f64,
    /// Time of the kernel for foreign programs in CPUs; 0 in old files.
    #[serde(default)]
    pub foreign_system_share: f64,
    /// Foreign programs that took most CPU time, with how many CPUs each, those on the CPU that measures first; empty
    /// in old files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub takers: Vec<(String, f64)>,
    /// Bytes a second that others moved on the disk under the candidate; 0 in old files and where nobody counts them.
    #[serde(default)]
    pub disk_foreign_bytes_per_s: f64,
    /// Of all that this disk moved, in [0, 1].
    #[serde(default)]
    pub disk_foreign_share: f64,
    /// Foreign programs that moved most on any disk, with how many bytes a second each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disk_takers: Vec<(String, f64)>,
    /// Whether nobody could tell what others moved on it: a directory, a guest; false in old files.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disk_unread: bool,
    /// Periods in which a CPU quota of our control group stopped us.
    #[serde(default)]
    pub throttled: u64,
    /// The same, second by second: (steal, foreign user).
    pub seconds: Vec<(f64, f64)>,
}

/// Extents of the image behind a trial.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct ImageRecord {
    /// Direct I/O of the loop device, read back.
    pub direct_io: bool,
    /// Bytes found unwritten or missing after mkfs and rewritten in place.
    pub repaired_bytes: u64,
    /// Unwritten or missing bytes when the trial began.
    pub holes_before_bytes: u64,
    /// Unwritten or missing bytes when the trial had ended.
    pub holes_after_bytes: u64,
    /// Extents when the trial began.
    pub extents_before: u64,
    /// Extents when the trial had ended.
    pub extents_after: u64,
}

impl ImageRecord {
    /// With the image as it was found at the end.
    pub fn ended_as(self, found: ImageRecord) -> ImageRecord {
        let holes_after_bytes = found.holes_before_bytes;
        ImageRecord { holes_after_bytes, extents_after: found.extents_before, ..self }
    }
}

/// Raw 4 KiB direct writes + flush on the backing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RawProbe {
    pub count: u64,
    /// Median of write + flush in nanoseconds.
    pub p50_ns: u64,
    /// 99th percentile of write + flush in nanoseconds.
    pub p99_ns: u64,
    pub max_ns: u64,
    pub elapsed_s: f64,
}

/// The wait for a quiet machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SettleRecord {
    /// Seconds waited.
    pub waited_s: f64,
    pub timed_out: bool,
    /// Dirty and write-back bytes of the machine when the wait ended.
    pub dirty_bytes: u64,
    pub raw_probes: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_files_called_disturbed_trials_robbed() {
        let flag = |kind: &str| serde_json::json!({ "kind": kind, "text": "" });
        let read = |kind: &str| serde_json::from_value::<Flag>(flag(kind)).expect("a flag").kind;
        assert_eq!((read("robbed"), read("holes")), ("disturbed".into(), "holes".into()));
    }
}
