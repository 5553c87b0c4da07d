//! What a phase is called and what it counts.

use pickfs_model::phase::{Heat, PhaseRecord, WorkUnit};

/// A phase before it runs.
#[derive(Debug, Clone, PartialEq)]
pub struct PhaseSpec {
    /// Unique in the trial.
    pub phase: String,
    /// As the field's tables print it.
    pub label: String,
    /// The group that it belongs to.
    pub suite: String,
    /// Hot or cold, where that makes a difference.
    pub heat: Option<Heat>,
    /// It belongs to the table that is looked at first.
    pub is_high_impact: bool,
    /// What is counted.
    pub unit: WorkUnit,
    /// Threads that it uses.
    pub threads: u32,
    /// Kinds of operation whose laps are kept; one, named as the phase, when empty.
    pub kinds: Vec<String>,
}

impl PhaseSpec {
    /// A phase that counts bytes, on one thread.
    pub fn new(phase: impl Into<String>, suite: impl Into<String>) -> PhaseSpec {
        let phase = phase.into();
        PhaseSpec {
            label: phase.clone(),
            phase,
            suite: suite.into(),
            heat: None,
            is_high_impact: false,
            unit: WorkUnit::Bytes,
            threads: 1,
            kinds: Vec::new(),
        }
    }

    /// The same, counting files.
    #[must_use]
    pub fn files(self) -> PhaseSpec {
        PhaseSpec { unit: WorkUnit::Files, ..self }
    }

    /// The same, counting calls.
    #[must_use]
    pub fn calls(self) -> PhaseSpec {
        PhaseSpec { unit: WorkUnit::Calls, ..self }
    }

    /// The same, counting seeks.
    #[must_use]
    pub fn seeks(self) -> PhaseSpec {
        PhaseSpec { unit: WorkUnit::Seeks, ..self }
    }

    /// Names under which the laps of its operations are kept: `seeks: read`, or the phase's own.
    pub fn ops(&self) -> Vec<String> {
        match self.kinds.as_slice() {
            [] => vec![self.phase.clone()],
            kinds => kinds.iter().map(|kind| format!("{}: {kind}", self.phase)).collect(),
        }
    }

    /// A record with these names and nothing done.
    pub(crate) fn record(&self) -> PhaseRecord {
        PhaseRecord {
            label: self.label.clone(),
            suite: self.suite.clone(),
            heat: self.heat,
            is_high_impact: self.is_high_impact,
            unit: self.unit,
            threads: self.threads,
            ..PhaseRecord::named(&self.phase)
        }
    }
}
