//! Where a node keeps its messages: a journal or a queue, alike.
//!
//! A record of the store is the body of an entry on the wire: epoch, sequence, payload. The sequence of the pair
//! is its own; a queue leaves a number out where an appender died, and the pair does not.

use std::ops::ControlFlow;
use std::path::Path;

use pickfs_journal::{Directory, Error as JournalError, Holes, Journal, SyncEvery, replay};
use pickfs_queue as queue;

use crate::epoch::Position;
use crate::error::{Error, Result};
use crate::wire::{RECORD_HEAD_BYTES, record};

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
            (Ends::Journal(journal), true) => at(dir, journal.written_sequence())?,
            (Ends::Queue { .. }, true) => last_of_queue(dir)?,
        };
        Ok(Store { ends, last, is_dirty: false, record: Vec::new() })
    }

    pub(crate) fn last(&self) -> Position {
        self.last
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
    // A batch is synced at once, so that a power cut may keep a later message of it and lose an earlier. What had been
    // synced is refused all the same where it is missing.
    let holes = match options.sync.outlives_power_loss() {
        true => Holes::CutUnsynced,
        false => Holes::Refuse,
    };
    let opened = match dir.exists() {
        true => {
            let storage = Directory::open(dir).map_err(Error::io("open", dir.display()))?;
            Journal::open_in(storage, options, holes)
        }
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

/// What a reading came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Read {
    Done,
    /// The message is not kept any more; the oldest that is.
    Gone {
        oldest: u64,
    },
}

/// Of a journal or a queue, whichever is there, from number `from` on. [`Error::Foreign`] where a record is not of a pair.
pub fn read(
    dir: &Path,
    from: u64,
    mut callback: impl FnMut(Position, &[u8]) -> ControlFlow<()>,
) -> Result<Read> {
    let mut before = None;
    let mut failed = None;
    let mut outcome = Read::Done;
    let mut take = |stored: u64, bytes: &[u8]| match checked(dir, stored, bytes, before) {
        Err(error) => {
            failed = Some(error);
            ControlFlow::Break(())
        }
        Ok((at, _)) if at.sequence < from => {
            before = Some(at);
            ControlFlow::Continue(())
        }
        Ok((at, _)) if before.is_none() && at.sequence > from => {
            outcome = Read::Gone { oldest: at.sequence };
            ControlFlow::Break(())
        }
        Ok((at, payload)) => {
            before = Some(at);
            callback(at, payload)
        }
    };
    match queue::Queue::open_read_only(dir) {
        // In a journal of a pair both numbers are the same.
        Err(queue::Error::Absent { .. }) => {
            replay(dir, from, |record| take(record.sequence, record.payload))?;
        }
        opened => queue_from(&opened?, from, take)?,
    }
    failed.map_or(Ok(outcome), Err)
}

/// The numbers of a queue are the pair's or higher, so `from` leads to the message or before it.
fn queue_from(
    queue: &queue::Queue,
    from: u64,
    mut take: impl FnMut(u64, &[u8]) -> ControlFlow<()>,
) -> Result<()> {
    let mut tailer = queue.tailer()?;
    match tailer.seek_sequence(from) {
        Err(queue::Error::Retired { .. }) => tailer.seek_start()?,
        sought => sought?,
    }
    while let Some(message) = tailer.poll()? {
        if take(message.sequence, message.payload).is_break() {
            break;
        }
    }
    Ok(())
}

fn checked<'a>(
    dir: &Path,
    stored: u64,
    bytes: &'a [u8],
    before: Option<Position>,
) -> Result<(Position, &'a [u8])> {
    let foreign = |reason| Error::Foreign { path: dir.to_path_buf(), sequence: stored, reason };
    let (at, payload) = record(bytes).ok_or_else(|| foreign("it is too short"))?;
    let follows =
        before.is_none_or(|before| at.sequence == before.sequence + 1 && at.epoch >= before.epoch);
    match follows {
        true => Ok((at, payload)),
        false => Err(foreign("it does not follow the one before")),
    }
}

/// Nothing for the number 0.
pub(crate) fn at(dir: &Path, sequence: u64) -> Result<Position> {
    let mut found = Position::default();
    if sequence > 0 {
        read(dir, sequence, |at, _| {
            found = at;
            ControlFlow::Continue(())
        })?;
    }
    Ok(found)
}

/// The last message of a queue; nothing where it holds none.
///
/// Looks back from the end, further each time: numbers that were left out have no message.
pub(crate) fn last_of_queue(dir: &Path) -> Result<Position> {
    let queue = queue::Queue::open_read_only(dir)?;
    let mut tailer = queue.tailer()?;
    tailer.seek_end()?;
    let end = tailer.next_sequence();
    let mut back = 1;
    loop {
        let start = end.saturating_sub(back).max(1);
        match tailer.seek_sequence(start) {
            Err(queue::Error::Retired { .. }) => tailer.seek_start()?,
            sought => sought?,
        }
        let mut last = None;
        while let Some(message) = tailer.poll()? {
            last = record(message.payload).map(|(at, _)| at);
        }
        match last {
            Some(last) => return Ok(last),
            None if start == 1 || back > end => return Ok(Position::default()),
            None => back *= 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use pickfs_journal::{Options, layout};

    use super::*;

    /// As a power cut may leave it: of two messages of a batch the first is torn.
    #[test]
    fn a_torn_message_before_a_whole_one_keeps_no_node_from_starting() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { file_bytes: 64 << 10, ..Options::default() };
        let options = StoreOptions::Journal(options);
        let dir = folder.path().join("store");
        let mut store = Store::open(&dir, &options).unwrap();
        for sequence in 1..=3 {
            store.add(Position { sequence, ..Position::default() }, &[7; 84]).unwrap();
            if sequence != 2 {
                store.commit().unwrap();
            }
        }
        drop(store);
        let mut files = std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path());
        let path = files.find(|path| path.extension().is_some_and(|of| of == "journal")).unwrap();
        let second = layout::FILE_HEADER_BYTES + layout::record_bytes(100) as u64;
        let file = std::fs::File::options().write(true).open(path).unwrap();
        file.write_all_at(&[0; 8], second + 60).unwrap();
        assert_eq!(Store::open(&dir, &options).unwrap().last().sequence, 1);
    }
}
