use pickfs_record::phase::{PhaseRecord, WorkUnit};

#[derive(Debug, Clone, PartialEq)]
pub struct PhaseSpec {
    /// The phase before anything was done.
    pub record: PhaseRecord,
    /// Kinds of operation whose operations are kept; one, named as the phase, when empty.
    pub kinds: Vec<String>,
}

impl PhaseSpec {
    pub fn new(phase: &str, suite: &str, unit: WorkUnit) -> PhaseSpec {
        let record = PhaseRecord { suite: suite.into(), unit, ..PhaseRecord::named(phase) };
        PhaseSpec { record, kinds: Vec::new() }
    }

    /// Names under which the times of its operations are kept: `seeks: read`, or the phase's own.
    pub fn ops(&self) -> Vec<String> {
        let phase = &self.record.phase;
        match self.kinds.as_slice() {
            [] => vec![phase.clone()],
            kinds => kinds.iter().map(|kind| format!("{phase}: {kind}")).collect(),
        }
    }
}
