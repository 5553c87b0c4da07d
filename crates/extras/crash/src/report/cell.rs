use pickfs_record::{CandidateSpec, Durability};
use serde::Serialize;

use crate::explore::{Explored, Exposure, State};
use crate::log::{Log, Position, SECTOR, What};
use crate::model::Crash;

/// One kind of crash of one writer on one candidate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    pub candidate: CandidateSpec,
    /// Release of the kernel that wrote and recovered.
    pub kernel: String,
    /// `journal/pwrite/fdatasync/fallocate`, or the words of a command.
    pub subject: String,
    /// What the writer promises of a record that it has acknowledged, as far as the disk is honest.
    pub promised: Durability,
    pub crash: Crash,
    pub explored: Explored,
    /// Failing states with the fewest lost pieces that still fail.
    pub smallest: Vec<State>,
    /// Where the writer does not sync.
    pub exposure: Option<Exposure>,
    pub cost: Cost,
    pub seed: u64,
    /// States that were asked for, at most.
    pub asked: u64,
    pub image_bytes: u64,
    /// The command that looks at one of its states again, but for the state, where the recording was saved.
    pub again: Option<String>,
    /// Looks that went to the checker of the file system.
    pub checked: u64,
    /// Images that were mounted.
    pub per_s: f64,
}

/// What the disk was told while records were acknowledged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Cost {
    pub records: u64,
    pub flushes: u64,
    pub writes: u64,
    pub bytes: u64,
}

impl Cost {
    pub fn of(log: &Log, from: Position, to: Position, records: u64) -> Self {
        let told = || log.entries[from.0..to.0].iter();
        let written = || told().filter(|what| matches!(what, What::Write { .. }));
        let sectors = written().map(|what| what.sectors()).map(|of| of.end - of.start);
        Self {
            records,
            flushes: told().filter(|what| **what == What::Flush).count() as u64,
            writes: written().count() as u64,
            bytes: sectors.sum::<u64>() * SECTOR,
        }
    }

    /// Flushes, writes, bytes.
    pub fn each(&self) -> [f64; 3] {
        let records = self.records.max(1) as f64;
        [self.flushes, self.writes, self.bytes].map(|count| count as f64 / records)
    }
}

impl Cell {
    /// Whether the writer promises that an acknowledged record outlives this crash.
    pub fn is_promised(&self) -> bool {
        self.crash.least().is_some_and(|least| self.promised >= least)
    }

    /// That shows the smallest failure again.
    pub fn command(&self) -> Option<String> {
        let first = self.explored.failures.first().map(|failure| &failure.state);
        Some(format!("{} {}", self.again.as_ref()?, self.smallest.first().or(first)?))
    }

    pub fn kept_all(&self) -> bool {
        self.explored.tally.failed == 0
    }
}
