//! The append journal: recovered as after a power cut, then replayed.

use std::path::Path;

use pickfs_journal::{
    Fallback, Holes, Journal, Options, Preallocation, Sync, WritePath, recover_with, replay,
};

use super::record::{Reading, record};
use super::subject::{SubjectError, Writes};
use crate::check::{Found, Loss};

/// Small, so that a recording of some hundred records rolls.
const FILE_BYTES: u64 = 16 << 10;

pub(crate) fn options(write_path: WritePath, sync: Sync, preallocation: Preallocation) -> Options {
    Options {
        write_path,
        sync,
        preallocation,
        file_bytes: FILE_BYTES,
        buffer_bytes: 16 << 10,
        fallback: Fallback::Refuse,
        ..Options::default()
    }
}

impl Writes for Journal {
    fn append(&mut self, number: u64) -> Result<(), SubjectError> {
        Journal::append(self, &record(number))?;
        Ok(())
    }
}

/// Where each record is synced no crash leaves a hole, so that none is to be cut.
pub(crate) fn look(dir: &Path, sync: Sync, mut found: Found) -> Found {
    let holes = if sync.outlives_power_loss() { Holes::Refuse } else { Holes::CutUnsynced };
    match recover_with(dir, holes) {
        Err(error) => found.losses.push(Loss::Refused(error.to_string())),
        Ok(recovery) => found.is_torn = recovery.torn_tail.is_some(),
    }
    let mut reading = Reading::default();
    // Where recovery has refused, replay gives what stands before the damage, and refuses as well.
    let _ = replay(dir, 1, |record| reading.take(record.sequence, record.payload));
    reading.end(found)
}
