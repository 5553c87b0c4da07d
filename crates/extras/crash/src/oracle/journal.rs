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

/// As after a power cut: the header of a file that was filled before and the first record in it wait for one sync, so that
/// a disk may keep the record alone. What had been synced is refused all the same where it is missing.
pub(crate) fn look(dir: &Path, mut found: Found) -> Found {
    match recover_with(dir, Holes::CutUnsynced) {
        Err(error) => found.losses.push(Loss::Refused(error.to_string())),
        Ok(recovery) => found.is_torn = recovery.torn_tail.is_some(),
    }
    let mut reading = Reading::default();
    // Where recovery has refused, replay gives what stands before the damage, and refuses as well.
    let _ = replay(dir, 1, |record| reading.take(record.sequence, record.payload));
    reading.end(found)
}
