//! Records in memory: what the engine costs without a file. Nothing survives the process.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use pickfs_journal::{Directory, Holes, Journal, Options, SyncEvery, replay};
use pickfs_queue::{Appender, Queue};

use super::{EachRecord, Gate, Log, Result, StoreError};

const CHUNK_BYTES: usize = 16 << 20;

#[derive(Debug, Default)]
pub struct MemoryLog {
    chunks: Vec<Vec<u8>>,
    current: usize,
    records: u64,
}

impl MemoryLog {
    pub fn with_room(bytes: usize) -> Self {
        let chunks = (0..bytes.div_ceil(CHUNK_BYTES)).map(|_| {
            // Written once, so that the first records meet no page faults.
            let mut chunk = vec![1; CHUNK_BYTES];
            chunk.clear();
            chunk
        });
        MemoryLog { chunks: chunks.collect(), ..Self::default() }
    }
}

impl Log for MemoryLog {
    fn append(&mut self, record: &[u8]) -> Result<u64> {
        let bytes = 4 + record.len();
        let fits = |chunk: &Vec<u8>| chunk.capacity() - chunk.len() >= bytes;
        while self.chunks.get(self.current).is_some_and(|chunk| !fits(chunk)) {
            self.current += 1;
        }
        if self.current == self.chunks.len() {
            self.chunks.push(Vec::with_capacity(CHUNK_BYTES.max(bytes)));
        }
        let chunk = &mut self.chunks[self.current];
        chunk.extend_from_slice(&(record.len() as u32).to_le_bytes());
        chunk.extend_from_slice(record);
        self.records += 1;
        Ok(self.records)
    }

    fn read(&mut self, from: u64, each: &mut EachRecord<'_>) -> Result {
        let mut number = 0;
        for chunk in &self.chunks {
            let mut rest = &chunk[..];
            while let Some((length, behind)) = rest.split_first_chunk::<4>() {
                let (record, next) = behind.split_at(u32::from_le_bytes(*length) as usize);
                rest = next;
                number += 1;
                if number >= from && each(number, record).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

// Records in an append journal. Where its options name a sync, it is made once before answers leave: it then
// covers the order and its reports.

pub struct JournalLog {
    directory: PathBuf,
    journal: Journal,
    last: u64,
}

impl JournalLog {
    /// After recovery; made where there is none. When to sync is the gate's to say, whatever the
    /// options hold.
    pub fn open(directory: &Path, options: Options) -> Result<Self> {
        let options = Options { sync_every: SyncEvery::GroupCommit, ..options };
        let is_there = directory.is_dir()
            && std::fs::read_dir(directory)
                .map_err(StoreError::io("list", directory))?
                .next()
                .is_some();
        // An order and its answers are synced at once, so that a power cut may keep a later one of them and lose an
        // earlier. What had been synced is refused all the same where it is missing.
        let holes = match options.sync.outlives_power_loss() {
            true => Holes::CutUnsynced,
            false => Holes::Refuse,
        };
        let journal = match is_there {
            true => {
                let opened = Directory::open(directory);
                let storage = opened.map_err(StoreError::io("open", directory))?;
                Journal::open_in(storage, options, holes)?
            }
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
    fn append(&mut self, record: &[u8]) -> Result<u64> {
        self.last = self.journal.append(record)?.sequence;
        Ok(self.last)
    }

    #[inline]
    fn wait(&mut self, gate: Gate) -> Result {
        if gate == Gate::Reply {
            self.journal.sync()?;
        }
        Ok(())
    }

    fn read(&mut self, from: u64, each: &mut EachRecord<'_>) -> Result {
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

// Records in a memory-mapped queue: a record outlives the process when its append has returned.

#[derive(Debug)]
pub struct QueueLog {
    queue: Queue,
    appender: Appender,
}

impl QueueLog {
    pub fn open(directory: &Path, options: pickfs_queue::Options) -> Result<Self> {
        let queue = Queue::open_or_create(directory, options)?;
        let appender = queue.appender()?;
        Ok(QueueLog { queue, appender })
    }

    pub fn rolls(&self) -> u64 {
        self.appender.rolls()
    }
}

impl Log for QueueLog {
    #[inline]
    fn append(&mut self, record: &[u8]) -> Result<u64> {
        Ok(self.appender.append(record)?.sequence)
    }

    fn read(&mut self, from: u64, each: &mut EachRecord<'_>) -> Result {
        let mut tailer = self.queue.tailer()?;
        if from > 1 {
            tailer.seek_sequence(from)?;
        }
        while let Some(message) = tailer.poll()? {
            if each(message.sequence, message.payload).is_break() {
                break;
            }
        }
        Ok(())
    }

    #[inline]
    fn idle(&mut self) -> Result {
        self.appender.idle()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use pickfs_journal::{Sync, layout};

    use super::*;

    /// As a power cut may leave it: of two records that no sync covered the first is torn.
    #[test]
    fn a_torn_record_before_a_whole_one_keeps_no_engine_from_starting() {
        let dir = tempfile::tempdir().unwrap();
        let options = |sync| Options { sync, file_bytes: 64 << 10, ..Options::default() };
        let open = |sync| JournalLog::open(dir.path(), options(sync));
        let mut log = open(Sync::Fdatasync).unwrap();
        log.append(&[1; 100]).unwrap();
        log.wait(Gate::Reply).unwrap();
        log.append(&[2; 100]).unwrap();
        log.append(&[3; 100]).unwrap();
        drop(log);
        let mut files = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path());
        let path = files.find(|path| path.extension().is_some_and(|of| of == "journal")).unwrap();
        let second = layout::FILE_HEADER_BYTES + layout::record_bytes(100) as u64;
        let file = std::fs::File::options().write(true).open(path).unwrap();
        file.write_all_at(&[0; 8], second + 40).unwrap();
        assert!(open(Sync::None).is_err(), "without syncs a hole is nothing to cut");
        let mut log = open(Sync::Fdatasync).unwrap();
        let mut read = Vec::new();
        log.read(1, &mut |number, record| {
            read.push((number, record[0]));
            ControlFlow::Continue(())
        })
        .unwrap();
        assert_eq!(read, [(1, 1)]);
    }
}
