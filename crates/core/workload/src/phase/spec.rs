use pickfs_record::phase::{Heat, PhaseRecord, WorkUnit};

#[derive(Debug, Clone, PartialEq)]
pub struct PhaseSpec {
    pub phase: String,
    pub label: String,
    pub suite: String,
    pub heat: Option<Heat>,
    pub is_high_impact: bool,
    pub unit: WorkUnit,
    pub threads: u32,
    /// Kinds of operation whose laps are kept; one, named as the phase, when empty.
    pub kinds: Vec<String>,
}

impl PhaseSpec {
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

    #[must_use]
    pub fn files(self) -> PhaseSpec {
        PhaseSpec { unit: WorkUnit::Files, ..self }
    }

    #[must_use]
    pub fn calls(self) -> PhaseSpec {
        PhaseSpec { unit: WorkUnit::Calls, ..self }
    }

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
