use serde::{Deserialize, Serialize};

use crate::check::{Found, Loss};
use crate::log::Position;

/// When the writer was told that a record is kept. Positions and times rise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acknowledged {
    /// Of the log when the call had returned.
    pub position: Position,
    /// Of CLOCK_MONOTONIC.
    pub at_ns: u64,
}

/// The n-th is of record n, from 1.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Due(pub Vec<Acknowledged>);

impl Due {
    /// Records that a crash there must leave.
    pub fn at(&self, crash: Position) -> u64 {
        self.0.partition_point(|one| one.position <= crash) as u64
    }

    pub fn until(&self, at_ns: u64) -> u64 {
        self.0.partition_point(|one| one.at_ns <= at_ns) as u64
    }

    pub fn all(&self) -> u64 {
        self.0.len() as u64
    }
}

impl Found {
    /// The same sight where so many records are due: whatever else is wrong stays wrong.
    #[must_use]
    pub fn judged(mut self, due: u64) -> Self {
        self.due = due;
        self.losses.retain(|loss| !matches!(loss, Loss::Lost(_)));
        if self.survived < due {
            let first = self.survived + 1;
            let lost = format!("acknowledged records {first} to {due} are not there");
            self.losses.insert(0, Loss::Lost(lost));
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_due_from_its_acknowledgement_on() {
        let told = |position, at_ns| Acknowledged { position: Position(position), at_ns };
        let due = Due(vec![told(3, 10), told(3, 20), told(7, 30)]);
        assert_eq!([2, 3, 6, 7].map(|at| due.at(Position(at))), [0, 2, 2, 3]);
        assert_eq!([9, 20, 99].map(|at_ns| due.until(at_ns)), [0, 2, 3]);
    }

    #[test]
    fn a_sight_is_judged_by_what_is_due() {
        let refused = Loss::Refused("damage".into());
        let seen = Found { survived: 4, losses: vec![refused.clone()], ..Found::default() };
        let lost = Loss::Lost("acknowledged records 5 to 6 are not there".into());
        assert_eq!(seen.clone().judged(6).losses, [lost, refused.clone()]);
        assert_eq!(seen.judged(6).judged(4).losses, [refused]);
    }
}
