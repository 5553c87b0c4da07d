//! Where a node keeps its messages: a journal or a queue, alike.
//!
//! A record of the store is the body of an entry on the wire: epoch, sequence, payload. The sequence of the pair
//! is its own; a queue leaves a number out where an appender died, and the pair does not.

mod reading;

pub use reading::{Read, read};

use std::path::Path;

use pickfs_journal::{Error as JournalError, Journal, SyncEvery};
use pickfs_queue as queue;

use crate::epoch::Position;
use crate::error::{Error, Result};
use crate::wire::RECORD_HEAD_BYTES;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreOptions {
    /// An append journal. `sync` says whether and how each batch is synced; `sync_every` is the pair's: once a
    /// batch. Framing must be `record`.
    Journal(pickfs_journal::Options),
    /// A memory-mapped queue, which other processes of the host may read. Synced once a batch, unless
    /// `sync` is none.
    Queue(queue::Options),
}

impl Default for StoreOptions {
    /// A journal in the page cache: it outlives its process.
    fn default() -> Self {
        let sync = pickfs_journal::Sync::None;
        StoreOptions::Journal(pickfs_journal::Options { sync, ..Default::default() })
    }
}

impl StoreOptions {
    /// Whether what was written and synced outlives a power cut, on a disk that keeps its word.
    pub fn is_durable(&self) -> bool {
        match self {
            StoreOptions::Journal(options) => options.sync.outlives_power_loss(),
            StoreOptions::Queue(options) => {
                matches!(options.sync, queue::Sync::Fdatasync | queue::Sync::Msync)
            }
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        match self {
            StoreOptions::Journal(_) => Kind::Journal,
            StoreOptions::Queue(_) => Kind::Queue,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Journal,
    Queue,
}

/// With one writer: us.
pub(crate) struct Store {
    ends: Ends,
    last: Position,
    is_dirty: bool,
    record: Vec<u8>,
}

enum Ends {
    Journal(Box<Journal>),
    Queue { appender: Box<queue::Appender>, syncs: bool },
}

impl Store {
    /// Recovered where it was left by a crash; made where there is none.
    pub(crate) fn open(dir: &Path, options: &StoreOptions) -> Result<Store> {
        let is_there = dir.exists();
        let ends = match options {
            StoreOptions::Journal(options) => Ends::Journal(Box::new(journal(dir, options)?)),
            StoreOptions::Queue(options) => {
                let syncs = options.sync != queue::Sync::None;
                // The pair syncs once a batch, whatever is in it.
                let sync_every = queue::SyncEvery::Messages(u32::MAX);
                let options = queue::Options { sync_every, ..options.clone() };
                let queue = queue::Queue::open_or_create(dir, options)?;
                Ends::Queue { appender: Box::new(queue.appender()?), syncs }
            }
        };
        let last = match (&ends, is_there) {
            (_, false) => Position::default(),
            (Ends::Journal(journal), true) => reading::at(dir, journal.written_sequence())?,
            (Ends::Queue { .. }, true) => reading::last_of_queue(dir)?,
        };
        Ok(Store { ends, last, is_dirty: false, record: Vec::new() })
    }

    pub(crate) fn last(&self) -> Position {
        self.last
    }

    pub(crate) fn kind(&self) -> Kind {
        match self.ends {
            Ends::Journal(_) => Kind::Journal,
            Ends::Queue { .. } => Kind::Queue,
        }
    }

    pub(crate) fn payload_bytes_max(&self) -> usize {
        let record = match &self.ends {
            Ends::Journal(journal) => journal.payload_bytes_max(),
            Ends::Queue { appender, .. } => appender.payload_bytes_max(),
        };
        record - RECORD_HEAD_BYTES
    }

    /// Adds the record of a message to the batch. A journal writes when the batch is [`Self::commit`]ted, or when
    /// its buffer is full; a queue at once.
    pub(crate) fn add_record(&mut self, at: Position, record: &[u8]) -> Result<()> {
        match &mut self.ends {
            Ends::Journal(journal) => match journal.encode(record) {
                Err(JournalError::BufferFull { .. }) => {
                    journal.commit_encoded()?;
                    journal.encode(record)?;
                }
                other => other?,
            },
            Ends::Queue { appender, .. } => drop(appender.append(record)?),
        }
        self.last = at;
        self.is_dirty = true;
        Ok(())
    }

    pub(crate) fn add(&mut self, at: Position, payload: &[u8]) -> Result<()> {
        let mut record = std::mem::take(&mut self.record);
        record.clear();
        record.extend_from_slice(&at.epoch.bits().to_le_bytes());
        record.extend_from_slice(&at.sequence.to_le_bytes());
        record.extend_from_slice(payload);
        let added = self.add_record(at, &record);
        self.record = record;
        added
    }

    /// Syncs what was there before we came, where the options sync at all; a journal has done it in recovery.
    pub(crate) fn sync_past(&mut self) -> Result<()> {
        match &mut self.ends {
            Ends::Queue { appender, syncs: true } => Ok(appender.sync()?),
            _ => Ok(()),
        }
    }

    pub(crate) fn commit(&mut self) -> Result<()> {
        if !self.is_dirty {
            return Ok(());
        }
        match &mut self.ends {
            Ends::Journal(journal) => {
                journal.commit_encoded()?;
                journal.sync()?;
            }
            Ends::Queue { appender, syncs } if *syncs => appender.sync()?,
            Ends::Queue { .. } => {}
        }
        self.is_dirty = false;
        Ok(())
    }

    pub(crate) fn idle(&mut self) -> Result<()> {
        match &mut self.ends {
            Ends::Queue { appender, .. } => appender.idle().map(|_| ()).map_err(Error::from),
            Ends::Journal(_) => Ok(()),
        }
    }

    /// Lets go what no one needs: whole files with messages up to `sequence`. A queue goes by its own retention.
    pub(crate) fn retire_through(&mut self, sequence: u64) -> Result<u32> {
        match &mut self.ends {
            Ends::Journal(journal) => Ok(journal.retire_through(sequence)?),
            Ends::Queue { .. } => Ok(0),
        }
    }
}

fn journal(dir: &Path, options: &pickfs_journal::Options) -> Result<Journal> {
    let options = pickfs_journal::Options { sync_every: sync_every(options), ..options.clone() };
    let opened = match dir.exists() {
        true => Journal::open(dir, options),
        false => Journal::create(dir, options),
    };
    opened.map_err(Error::from)
}

/// Group commit, so that the pair says when, but where the sync is part of the write.
fn sync_every(options: &pickfs_journal::Options) -> SyncEvery {
    match options.sync.is_write_through() || options.sync == pickfs_journal::Sync::None {
        true => options.sync_every,
        false => SyncEvery::GroupCommit,
    }
}
