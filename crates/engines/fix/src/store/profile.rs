use std::path::Path;

use pickfs_journal::{Options, Sync};
use pickfs_queue as queue;

use super::{FileStore, JournalLog, LogStore, MemoryLog, QueueLog, Result, Store, StoreError};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "programs", derive(clap::ValueEnum))]
pub enum Profile {
    /// Nothing is written.
    Memory,
    /// Outlives the process.
    Queue,
    /// By pwrite: outlives the process.
    Journal,
    /// One fdatasync before answers leave: outlives the power.
    JournalFdatasync,
    FileStore,
    /// In a journal here and on other hosts before anything is acted on: outlives the host.
    Pair,
}

/// Where nobody has a reason for others.
pub const FILE_BYTES: u64 = 64 << 20;

impl Profile {
    pub const ALL: [Profile; 6] = [
        Profile::Memory,
        Profile::Queue,
        Profile::Journal,
        Profile::JournalFdatasync,
        Profile::FileStore,
        Profile::Pair,
    ];

    pub const fn word(self) -> &'static str {
        match self {
            Profile::Memory => "memory",
            Profile::Queue => "queue",
            Profile::Journal => "journal",
            Profile::JournalFdatasync => "journal-fdatasync",
            Profile::FileStore => "file-store",
            Profile::Pair => "pair",
        }
    }

    pub fn of(word: &str) -> Option<Profile> {
        Profile::ALL.into_iter().find(|profile| profile.word() == word)
    }

    /// The directory belongs to it alone; what it holds is gone on with. Files have so many bytes:
    /// a multiple of 4096, at least 65536. The more, the rarer a roll, and the longer a journal
    /// takes to look for its end after a crash. A pair needs addresses: it is made by
    /// [`super::PairLog`].
    pub fn open(self, directory: &Path, file_bytes: u64) -> Result<Box<dyn Store>> {
        let journal = |sync| {
            let options = Options { sync, file_bytes, ..Options::default() };
            let log = JournalLog::open(directory, options)?;
            Ok(Box::new(LogStore::new(log)) as Box<dyn Store>)
        };
        match self {
            Profile::Memory => Ok(Box::new(LogStore::new(MemoryLog::default()))),
            Profile::Queue => {
                let (segment_bytes, chunk_bytes) = (file_bytes, file_bytes);
                let options = queue::Options { segment_bytes, chunk_bytes, ..Default::default() };
                let log = QueueLog::open(directory, options)?;
                Ok(Box::new(LogStore::new(log)))
            }
            Profile::Journal => journal(Sync::None),
            Profile::JournalFdatasync => journal(Sync::Fdatasync),
            Profile::FileStore => Ok(Box::new(FileStore::open(directory)?)),
            Profile::Pair => Err(StoreError::Other(
                "a pair has other hosts; open it with their addresses, by PairLog".into(),
            )),
        }
    }
}
