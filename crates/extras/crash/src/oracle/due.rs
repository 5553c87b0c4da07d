use serde::{Deserialize, Serialize};

use crate::log::Position;

/// Where the log was when the writer was told that a record is kept; the n-th is of record n, from 1. They rise.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Due(pub Vec<Position>);

impl Due {
    /// Records that a crash there must leave.
    pub fn at(&self, crash: Position) -> u64 {
        self.0.partition_point(|one| *one <= crash) as u64
    }

    pub fn all(&self) -> u64 {
        self.0.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Found, Loss};

    #[test]
    fn a_record_is_due_from_its_acknowledgement_on() {
        let due = Due([3, 3, 7].map(Position).into());
        assert_eq!([2, 3, 6, 7].map(|at| due.at(Position(at))), [0, 2, 2, 3]);
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
