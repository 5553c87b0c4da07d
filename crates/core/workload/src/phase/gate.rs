use std::sync::Arc;

use pickfs_sys::starting_gate::StartingGate;

use crate::fault::Fault;

/// How a lane words that another one has failed; not a reason of its own.
pub const GATE_BROKEN: &str = pickfs_sys::starting_gate::BROKEN_TEXT;

pub trait LabLine: Send + Sync {
    /// All that the measured work needs is there: waits for the word to begin, which is said once.
    fn begin(&self) -> Result<(), Fault> {
        Ok(())
    }

    fn phase_begins(&self, phase: &str, number: u32) -> Result<(), Fault>;

    /// Nothing of it may be open.
    fn make_cold(&self) -> Result<(), Fault>;
}

#[derive(Debug, Clone, Default)]
pub struct Gate(Option<Arc<StartingGate>>);

impl Gate {
    /// The gate that this process was handed, if any.
    pub fn new(gate: Option<StartingGate>) -> Gate {
        Gate(gate.map(Arc::new))
    }

    pub(crate) fn pass(&self) -> Result<(), Fault> {
        let passed = self.0.as_ref().map_or(Ok(()), |gate| gate.pass());
        passed.map_err(|error| Fault::Failed { reason: error.to_string() })
    }

    /// That all others have come to the next passage, or never will.
    pub fn others_wait(&self) -> bool {
        self.0.as_ref().is_none_or(|gate| gate.others_wait())
    }

    /// This lane cannot go on: nobody shall wait for it.
    pub fn break_open(&self) {
        if let Some(gate) = &self.0 {
            gate.break_open();
        }
    }
}
