use serde::{Deserialize, Serialize};

use crate::{CellId, Environment, Metric, Outcome, phase::WorkUnit};

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The run began.
    RunStarted {
        run: String,
        file: String,
        trials: u32,
        expected_s: f64,
        /// Seed of the order.
        seed: u64,
        card: Environment,
        environment: Environment,
    },
    /// Something long before the first trial: writing the image, filling a device.
    Preparing {
        what: String,
        /// Done, in [0, 1].
        share: f64,
    },
    /// A trial began.
    TrialStarted {
        /// Its number, from 1.
        number: u32,
        /// Its block, from 1.
        block: u32,
        cell: CellId,
        candidate: String,
        levels: String,
    },
    /// A trial goes on.
    TrialProgress {
        number: u32,
        /// What it does: `make`, `raw probe`, `warm-up`, `measure`, `verify`.
        phase: String,
        operations: u64,
        /// Largest service time so far in nanoseconds.
        max_ns: u64,
    },
    /// A trial ended.
    TrialFinished { number: u32, outcome: Outcome, headline: Option<Box<Headline>>, left_s: f64 },
    /// Something that the user should know now.
    Noticed { text: String },
    /// The run ended.
    RunFinished {
        /// See [`crate::record::RunEnd`].
        how: String,
        note: String,
    },
}

/// What a reader looks at first of a trial: the first primary metric that the plan asks of its cell, or the median of its
/// first operation where it does not hold that.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Headline {
    pub metric: Metric,
    /// Nanoseconds; work per second for a rate; a figure in the unit of its program.
    pub value: f64,
    /// What a rate counts, where a phase says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<WorkUnit>,
}
