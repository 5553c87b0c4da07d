//! What stands behind a hole: the evidence that tells a torn tail from damage.

use std::fmt;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LaterRecords {
    pub count: u64,
    pub first_sequence: Option<u64>,
    /// Highest sequence that any of them, or a later file's header, says was synced.
    pub durable_through: u64,
}

impl LaterRecords {
    pub(crate) fn absorb(&mut self, other: Self) {
        self.count += other.count;
        self.first_sequence = self.first_sequence.or(other.first_sequence);
        self.durable_through = self.durable_through.max(other.durable_through);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0 && self.durable_through == 0
    }

    /// Whether `sequence` was synced once.
    pub fn prove_durable(&self, sequence: u64) -> bool {
        self.durable_through >= sequence
    }
}

impl fmt::Display for LaterRecords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.first_sequence {
            Some(first) => write!(f, ", and {} whole records follow from {first} on", self.count),
            None => Ok(()),
        }
    }
}
