//! Plain data; the rules that name causes, and the join, are in crate `probe`.
//! All times are nanoseconds, moments are on the CLOCK_MONOTONIC line.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a probe of this machine can see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeTier {
    /// Switches of threads and the function they wait in; needs no privilege.
    Switches,
    /// Scheduler trace points with both stacks.
    Scheduler,
}

/// All slow operations of one trial, joined with what the kernel was doing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StallRecord {
    pub tier: ProbeTier,
    /// What was read, in words; empty in records of before it was kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<String>,
    /// What could not be seen and how to get it; empty when all could.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// An operation is slow when its service time is above this.
    pub above_ns: u64,
    pub ops: Vec<OpStalls>,
    /// Causes that occur in `ops`, with their words.
    pub causes: Vec<CauseWords>,
    /// Kernel stacks that are referred to by their place here; innermost frame first.
    pub stacks: Vec<Vec<String>>,
    pub counts: StallCounts,
}

/// What a probe saw and lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StallCounts {
    pub events: u64,
    /// Events that the kernel could not hand over.
    pub events_lost: u64,
    /// Slow operations that were not joined, as they came faster than they were read.
    #[serde(alias = "laps_missed")]
    pub operations_missed: u64,
    /// Slow operations of a thread that was not watched yet.
    #[serde(alias = "laps_unwatched")]
    pub operations_unwatched: u64,
    pub threads: u64,
    /// How long they waited for a processor in all, by the scheduler's own sums; read where nothing else
    /// tells it, else 0.
    #[serde(default)]
    pub run_delay_ns: u64,
    /// Samples of where threads were on a processor, in slow operations; 0 where none were asked for.
    #[serde(default)]
    pub samples: u64,
    /// Context events that arrived: commits, write-back, device requests; 0 where they were not asked for.
    #[serde(default)]
    pub context_events: u64,
    /// Context events that the kernel could not hand over.
    #[serde(default)]
    pub context_lost: u64,
}

/// The slow times of one operation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpStalls {
    /// `append`, `sync`, `read`.
    pub op: String,
    #[serde(alias = "laps")]
    pub operations: u64,
    pub total_ns: u64,
    /// Part of it on a processor (or in a pause of the whole machine, which looks the same).
    pub on_cpu_ns: u64,
    pub blocked_ns: u64,
    /// Part of it ready to run, while another program had the processor.
    pub cpu_wait_ns: u64,
    pub unexplained_ns: u64,
    /// The ledger, greatest total first. Its totals sum to `total_ns`.
    pub causes: Vec<CauseRow>,
    /// Where threads were on a processor in slow operations, by samples, most first; empty where none were
    /// asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<SampledIn>,
    pub worst: Vec<OpenOperation>,
}

/// A function that threads were in while they had a processor.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SampledIn {
    /// The innermost function, with the one of the file system that led to it: `memcpy in
    /// xfs_file_buffered_write`.
    pub function: String,
    pub samples: u64,
    /// One stack of it: a place in [`StallRecord::stacks`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<u32>,
}

/// What else went on while an operation lasted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextNote {
    /// What: `ext4 journal commit`, `device write`.
    pub what: String,
    /// Of which device, as `major:minor`; may be empty.
    pub device: String,
    pub who: String,
    pub times: u64,
    pub start_ns: u64,
    /// When that one ended; 0 where it had not.
    pub end_ns: u64,
    /// Time of the operation in which at least one went on.
    pub overlap_ns: u64,
}

/// One line of the ledger.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CauseRow {
    /// Name of the cause; its words are in [`StallRecord::causes`].
    pub cause: String,
    /// Who held it or had the processor: a thread with its function, `device completion`; may be
    /// empty.
    pub who: String,
    #[serde(alias = "laps")]
    pub operations: u64,
    pub times: u64,
    pub total_ns: u64,
    pub max_ns: u64,
    /// Where the thread slept, in its longest one: a place in [`StallRecord::stacks`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<u32>,
    /// Where it was woken from, then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waker_stack: Option<u32>,
}

/// A cause in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CauseWords {
    /// Its name: `xfs-inode-lock`.
    pub cause: String,
    pub title: String,
    pub advice: String,
}

/// What a part of an operation was spent with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PartKind {
    /// On a processor.
    #[default]
    OnCpu,
    /// Asleep until somebody woke the thread.
    Blocked,
    /// Ready, while another had the processor.
    CpuWait,
    /// Not known: events were lost, or the thread was not watched yet.
    Unexplained,
}

/// A part of an operation. The parts of an operation follow each other without a gap.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperationPart {
    pub kind: PartKind,
    pub length_ns: u64,
    pub cause: String,
    /// Who held it or had the processor; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub who: String,
    /// Where the thread slept: a place in [`StallRecord::stacks`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<u32>,
    /// Where it was woken from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waker_stack: Option<u32>,
}

/// A slow operation with its parts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpenOperation {
    pub start_ns: u64,
    pub end_ns: u64,
    /// Offset in the file, or 0.
    pub offset_bytes: u64,
    pub thread: String,
    /// Its parts from start to end. Beyond a few dozen the shortest are put together.
    pub parts: Vec<OperationPart>,
    /// What else went on meanwhile, the longest overlap first; empty where it was not asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<ContextNote>,
}

impl OpenOperation {
    pub fn length_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    /// The cause that most of the operation's time went into, its longest holder, and the time of the cause.
    pub fn leading(&self) -> Option<(&str, &str, u64)> {
        let of = |cause: &str| {
            let same = self.parts.iter().filter(|part| part.cause == cause);
            same.map(|part| part.length_ns).sum::<u64>()
        };
        let causes = self.parts.iter().map(|part| part.cause.as_str());
        let cause = causes.max_by_key(|cause| of(cause))?;
        let held = |who: &str| {
            let same = self.parts.iter().filter(|part| part.cause == cause && part.who == who);
            same.map(|part| part.length_ns).sum::<u64>()
        };
        let holders = self.parts.iter().filter(|part| part.cause == cause);
        let who = holders.map(|part| part.who.as_str()).max_by_key(|who| held(who))?;
        Some((cause, who, of(cause)))
    }
}

impl StallRecord {
    pub fn words(&self, cause: &str) -> Option<&CauseWords> {
        self.causes.iter().find(|words| words.cause == cause)
    }

    pub fn stack(&self, place: Option<u32>) -> &[String] {
        place.and_then(|place| self.stacks.get(place as usize)).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holders_of_one_cause_are_added_before_one_leads() {
        let part = |cause: &str, who: &str, length_ns| OperationPart {
            cause: cause.into(),
            who: who.into(),
            length_ns,
            ..OperationPart::default()
        };
        let parts = vec![part("a", "x", 4), part("b", "y", 5), part("a", "z", 3)];
        let operation = OpenOperation { parts, ..OpenOperation::default() };
        assert_eq!(operation.leading(), Some(("a", "x", 7)));
        assert_eq!(OpenOperation::default().leading(), None);
    }
}
