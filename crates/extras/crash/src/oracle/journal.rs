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

/// As after a power cut: the header of a new file and its first record go with one sync, so that the record may be there
/// without it.
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

#[cfg(test)]
mod tests {
    use std::{fs::File, os::unix::fs::FileExt};

    use crate::oracle::Subject;

    #[test]
    fn a_record_that_is_there_without_the_header_of_its_file_is_given_up() {
        let dir = tempfile::tempdir().unwrap();
        let subject: Subject = "journal/pwrite/fdatasync/zero-filled".parse().unwrap();
        let mut writes = subject.begin(dir.path()).unwrap();
        (1..=38).for_each(|number| writes.append(number).unwrap());
        drop(writes);
        assert_eq!(subject.look(dir.path()).survived, 38);
        let second = dir.path().join("kept/0000000002.journal");
        File::options().write(true).open(second).unwrap().write_all_at(&[0; 4096], 0).unwrap();
        let found = subject.look(dir.path());
        assert_eq!((found.survived, found.losses), (37, Vec::new()));
    }
}
