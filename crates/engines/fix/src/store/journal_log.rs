//! Records in an append journal. Where its options name a sync, it is made once before answers leave: it then
//! covers the order and its reports.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use pickfs_journal::{Journal, Options, SyncEvery, replay};

use super::{Gate, Log, StoreError};

pub struct JournalLog {
    directory: PathBuf,
    journal: Journal,
    last: u64,
}

impl JournalLog {
    /// After recovery; made where there is none. When to sync is the gate's to say, whatever the
    /// options hold.
    pub fn open(directory: &Path, options: Options) -> Result<Self, StoreError> {
        let options = Options { sync_every: SyncEvery::GroupCommit, ..options };
        let is_there = directory.is_dir()
            && std::fs::read_dir(directory)
                .map_err(StoreError::io("list", directory))?
                .next()
                .is_some();
        let journal = match is_there {
            true => Journal::open(directory, options)?,
            false => {
                std::fs::create_dir_all(directory).map_err(StoreError::io("make", directory))?;
                Journal::create(directory, options)?
            }
        };
        let last = journal.recovery().map_or(0, |recovery| recovery.last_sequence);
        Ok(JournalLog { directory: directory.into(), journal, last })
    }
}

impl Log for JournalLog {
    #[inline]
    fn append(&mut self, record: &[u8]) -> Result<u64, StoreError> {
        self.last = self.journal.append(record)?.sequence;
        Ok(self.last)
    }

    #[inline]
    fn wait(&mut self, gate: Gate) -> Result<(), StoreError> {
        if gate == Gate::Reply {
            self.journal.sync()?;
        }
        Ok(())
    }

    fn read(
        &mut self,
        from: u64,
        each: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let last = self.last;
        if from > last {
            return Ok(());
        }
        // To look for more behind the last one would read all of the file's reserve.
        replay(&self.directory, from, |record| match each(record.sequence, record.payload) {
            ControlFlow::Continue(()) if record.sequence < last => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        })?;
        Ok(())
    }
}
