//! What is asked of each state, and what came of it.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::log::Position;

/// Looks at a state on its mounted file system. It may write there: the writes are dropped with the state.
pub trait Check {
    /// So many of the first records must be there.
    fn look(&mut self, mounted: &Path, due: u64) -> Found;
}

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

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// Records that were acknowledged before the crash.
    pub due: u64,
    /// Records that are there, in order and whole, from the first one on.
    pub survived: u64,
    /// Empty where all is as it was promised.
    pub losses: Vec<Loss>,
    /// Behind what survived something is there in part, which breaks no promise.
    pub is_torn: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what", content = "words")]
pub enum Loss {
    /// Acknowledged, and not there.
    Lost(String),
    /// Bytes that are neither ours nor zero.
    Foreign(String),
    /// The file system cannot be mounted.
    Unmountable(String),
    /// The checker of the file system finds it damaged after its own recovery.
    Damaged(String),
    /// The application's own recovery or reader refuses it.
    Refused(String),
}

impl std::fmt::Display for Loss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Lost(words) => f.write_str(words),
            Self::Foreign(words) => write!(f, "foreign bytes: {words}"),
            Self::Unmountable(words) => write!(f, "not mounted: {words}"),
            Self::Damaged(words) => write!(f, "damaged: {words}"),
            Self::Refused(words) => write!(f, "recovery refused: {words}"),
        }
    }
}

impl Found {
    pub fn is_fault(&self) -> bool {
        !self.losses.is_empty()
    }

    /// What is lost.
    pub fn words(&self) -> String {
        let words: Vec<_> = self.losses.iter().map(Loss::to_string).collect();
        if words.is_empty() { "nothing is lost".into() } else { words.join("; ") }
    }

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
