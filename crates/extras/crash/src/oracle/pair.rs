//! The store of a primary without secondaries: started again in the place of its last reign.

use std::path::Path;
use std::time::Duration;

use pickfs_journal::{Preallocation, Sync, WritePath};
use pickfs_pair::{Degree, Primary, PrimaryOptions, StoreOptions};

use super::journal;
use super::record::{Reading, record};
use super::subject::{SubjectError, Writes};
use crate::check::{Found, Loss};

/// It waits for its own disk alone.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn options(dir: &Path, sync: Sync) -> PrimaryOptions {
    let store = journal::options(WritePath::Pwrite, sync, Preallocation::Fallocate);
    PrimaryOptions {
        store: StoreOptions::Journal(store),
        degree: Degree::Local,
        ..PrimaryOptions::new(dir.join("node"), Vec::new())
    }
}

impl Writes for Primary {
    fn append(&mut self, number: u64) -> Result<(), SubjectError> {
        let ticket = Primary::append(self, &record(number))?;
        self.wait(ticket, PATIENCE)?;
        Ok(())
    }
}

pub(crate) fn look(dir: &Path, sync: Sync, mut found: Found) -> Found {
    let mut reading = Reading::default();
    let read = Primary::open(options(dir, sync))
        .and_then(|mut primary| primary.read(1, |number, bytes| reading.take(number, bytes)));
    if let Err(error) = read {
        found.losses.push(Loss::Refused(error.to_string()));
    }
    reading.end(found)
}
