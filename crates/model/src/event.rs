use serde::{Deserialize, Serialize};

use crate::{CellId, Environment, Outcome};

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The run began.
    RunStarted {
        /// Name of the run.
        run: String,
        /// File that holds it.
        file: String,
        /// Trials planned.
        trials: u32,
        /// Expected length in seconds.
        expected_s: f64,
        /// Seed of the order.
        seed: u64,
        /// The set-up card: bare figures of the backing.
        card: Environment,
        /// The machine.
        environment: Environment,
    },
    /// Something long before the first trial: writing the image, filling a device.
    Preparing {
        /// What.
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
        /// Its cell.
        cell: CellId,
        /// The candidate's label.
        candidate: String,
        /// The levels in words.
        levels: String,
    },
    /// A trial goes on.
    TrialProgress {
        /// Its number.
        number: u32,
        /// What it does: `make`, `raw probe`, `warm-up`, `measure`, `verify`.
        phase: String,
        /// Laps so far.
        laps: u64,
        /// Largest service time so far in nanoseconds.
        max_ns: u64,
    },
    /// A trial ended.
    TrialFinished {
        /// Its number.
        number: u32,
        /// How it went.
        outcome: Outcome,
        /// Its headline: median of the first primary metric in nanoseconds.
        headline_ns: Option<u64>,
        /// Seconds left, as far as one can tell.
        left_s: f64,
    },
    /// Something that the user should know now.
    Noticed {
        /// In words.
        text: String,
    },
    /// The run ended.
    RunFinished {
        /// See [`crate::record::RunEnd`].
        how: String,
        /// Details.
        note: String,
    },
}
