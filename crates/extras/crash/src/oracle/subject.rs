//! Who writes, by words: `journal/pwrite/fdatasync`.

use std::{fmt, fs::File, path::Path, str::FromStr, time::Duration};

use pickfs_fix::store::Profile;
use pickfs_journal::{Journal, Preallocation, Sync, WritePath};
use pickfs_pair::Primary;
use pickfs_queue as queue;
use pickfs_record::Durability;

use super::{fix, journal, pair, queue as queues, save};
use crate::check::{Check, Found, Loss};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    Journal(WritePath, Sync, Preallocation),
    Queue(queue::Sync),
    Fix(Profile),
    /// The store of a primary alone: what it keeps without its secondaries.
    Pair(Sync),
    /// A file is written beside itself and renamed: whether the file is synced before, and the folder after.
    Save {
        syncs_file: bool,
        syncs_folder: bool,
    },
}

pub type SubjectError = Box<dyn std::error::Error + Send + std::marker::Sync>;

/// Appends one record after the other, from 1.
pub trait Writes {
    /// Returns when the writer's user would be told that the record is kept.
    fn append(&mut self, number: u64) -> Result<(), SubjectError>;
}

/// In the root of the mounted file system.
const FOLDER: &str = "kept";

const SUBJECTS: &str = "journal/PATH/SYNC[/PREALLOCATION], queue/SYNC, fix/STORE, pair/SYNC, \
                        save/both, save/file, save/folder or save/neither";
const NAMED: [(&str, Subject); 11] = [
    ("queue/none", Subject::Queue(queue::Sync::None)),
    ("queue/msync-async", Subject::Queue(queue::Sync::MsyncAsync)),
    ("queue/msync", Subject::Queue(queue::Sync::Msync)),
    ("queue/fdatasync", Subject::Queue(queue::Sync::Fdatasync)),
    ("fix/queue", Subject::Fix(Profile::Queue)),
    ("fix/journal", Subject::Fix(Profile::Journal)),
    ("fix/journal-fdatasync", Subject::Fix(Profile::JournalFdatasync)),
    ("save/both", Subject::Save { syncs_file: true, syncs_folder: true }),
    ("save/file", Subject::Save { syncs_file: true, syncs_folder: false }),
    ("save/folder", Subject::Save { syncs_file: false, syncs_folder: true }),
    ("save/neither", Subject::Save { syncs_file: false, syncs_folder: false }),
];

impl Subject {
    /// On a mounted file system that is empty. Everything before the first record is on the disk when this returns.
    ///
    /// # Errors
    /// What the file system refuses: no way is taken instead of another.
    pub fn begin(self, mounted: &Path) -> Result<Box<dyn Writes>, SubjectError> {
        let dir = mounted.join(FOLDER);
        std::fs::create_dir(&dir)?;
        let writes: Box<dyn Writes> = match self {
            Self::Journal(path, sync, made) => {
                Box::new(Journal::create(&dir, journal::options(path, sync, made))?)
            }
            Self::Queue(sync) => {
                Box::new(queue::Queue::create(&dir, queues::options(sync))?.appender()?)
            }
            Self::Fix(profile) => Box::new(fix::begin(&dir, profile)?),
            Self::Pair(sync) => Box::new(Primary::open(pair::options(&dir, sync))?),
            Self::Save { syncs_file, syncs_folder } => {
                Box::new(save::begin(&dir, syncs_file, syncs_folder))
            }
        };
        rustix::fs::syncfs(File::open(mounted)?)?;
        Ok(writes)
    }

    /// Fewer fill no second file, and a folder that is not synced shows at a second one.
    pub fn least_records(self) -> u64 {
        if matches!(self, Self::Queue(_) | Self::Fix(_)) { 240 } else { 60 }
    }

    /// Nothing is due yet: [`Found::judged`] says what is lost. May change files.
    pub fn look(self, mounted: &Path) -> Found {
        // A process that was just forked has all locks of this one, until it runs its program.
        let is_held =
            |loss: &Loss| matches!(loss, Loss::Refused(words) if words.contains(" elsewhere; "));
        for _ in 0..200 {
            let found = self.look_once(mounted);
            if !found.losses.iter().any(is_held) {
                return found;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.look_once(mounted)
    }

    fn look_once(self, mounted: &Path) -> Found {
        let dir = mounted.join(FOLDER);
        if !dir.symlink_metadata().is_ok_and(|facts| facts.is_dir()) {
            return Found::default();
        }
        let mut found = super::record::foreign_bytes(&dir, 0);
        found.losses.extend(queues::boot(&dir).err().map(|it| Loss::Refused(it.to_string())));
        let is_closed = |loss: &Loss| matches!(loss, Loss::Damaged(_) | Loss::Refused(_));
        match self {
            _ if found.losses.iter().any(is_closed) => found,
            Self::Journal(..) => journal::look(&dir, found),
            Self::Queue(sync) => queues::look(&dir, sync, found),
            Self::Fix(profile) => fix::look(&dir, profile, found),
            Self::Pair(sync) => pair::look(&dir, sync, found),
            Self::Save { .. } => save::look(&dir, found),
        }
    }

    /// What is declared of a record that was acknowledged.
    pub fn promised(self) -> Durability {
        let is_synced = match self {
            Self::Journal(path, sync, made) => match pickfs_journal::durability(made, path, sync) {
                pickfs_journal::Durability::ProcessCrash => false,
                pickfs_journal::Durability::KernelCrash => return Durability::KernelCrash,
                pickfs_journal::Durability::PowerLoss => true,
            },
            Self::Pair(sync) => sync.outlives_power_loss(),
            Self::Fix(profile) => profile == Profile::JournalFdatasync,
            Self::Queue(sync) => matches!(sync, queue::Sync::Msync | queue::Sync::Fdatasync),
            Self::Save { syncs_file, syncs_folder } => syncs_file && syncs_folder,
        };
        if is_synced { Durability::PowerLoss } else { Durability::ProcessCrash }
    }
}

impl Check for Subject {
    fn look(&mut self, mounted: &Path, due: u64) -> Found {
        Self::look(*self, mounted).judged(due)
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Journal(path, sync, made) => write!(f, "journal/{path}/{sync}/{made}"),
            Self::Pair(sync) => write!(f, "pair/{sync}"),
            _ => {
                let named = NAMED.iter().find(|(_, known)| known == self);
                f.write_str(named.map_or("", |(word, _)| word))
            }
        }
    }
}

impl FromStr for Subject {
    type Err = SubjectError;

    fn from_str(text: &str) -> Result<Self, SubjectError> {
        if let Some((_, subject)) = NAMED.iter().find(|(word, _)| *word == text) {
            return Ok(*subject);
        }
        match text.split('/').collect::<Vec<_>>()[..] {
            ["journal", path, _] => {
                let made = if path == "append" { "none" } else { "fallocate" };
                format!("{text}/{made}").parse()
            }
            ["journal", path, sync, made] => {
                let (path, sync, made) = (path.parse()?, sync.parse()?, made.parse()?);
                journal::options(path, sync, made).validate()?;
                Ok(Self::Journal(path, sync, made))
            }
            ["pair", sync] => {
                let sync = sync.parse()?;
                journal::options(WritePath::Pwrite, sync, Preallocation::Fallocate).validate()?;
                Ok(Self::Pair(sync))
            }
            _ => {
                let word: String = text.chars().take(80).collect();
                Err(format!("writer {word:?} is not known; use {SUBJECTS}").into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const ALL: &str = "journal/pwrite/fdatasync/fallocate journal/append/fsync/none \
        journal/seek-write/o-dsync/zero-filled journal/pwritev/rwf-dsync/recycled \
        journal/mmap/msync/fallocate journal/pwrite/sync-file-range/sparse \
        journal/pwrite/none/precreated queue/none queue/msync queue/fdatasync fix/queue fix/journal \
        fix/journal-fdatasync pair/fdatasync save/both save/neither";

    #[test]
    fn every_subject_reads_back_as_it_was_printed() {
        for text in ALL.split(' ').chain(["queue/msync-async", "save/file", "save/folder"]) {
            assert_eq!(text.parse::<Subject>().unwrap().to_string(), text);
        }
        let short: Subject = "journal/append/fsync".parse().unwrap();
        assert_eq!(short.to_string(), "journal/append/fsync/none");
        let wrong = " journal journal/pwrite/msync fix/pair fix/memory save/none queue/fsync";
        for wrong in wrong.split(' ') {
            assert!(wrong.parse::<Subject>().is_err(), "{wrong}");
        }
    }

    fn files(dir: &Path) -> usize {
        let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
        entries.map(|path| if path.is_dir() { files(&path) } else { 1 }).sum()
    }

    /// As after a process kill: each finds all of its records, over a roll, and one record less where one is gone.
    #[test]
    fn what_each_subject_writes_it_finds_again() {
        for text in ALL.split(' ') {
            let dir = tempfile::tempdir().unwrap();
            let subject: Subject = text.parse().unwrap();
            let mut writes = subject.begin(dir.path()).unwrap();
            writes.append(1).unwrap();
            let (before, count) = (files(dir.path()), subject.least_records());
            for number in 2..=count {
                writes.append(number).unwrap();
            }
            drop(writes);
            let is_small = matches!(subject, Subject::Queue(_) | Subject::Fix(_));
            assert!(!is_small || files(dir.path()) > before, "{text} did not roll");
            let found = subject.look(dir.path()).judged(count);
            assert_eq!((found.survived, found.losses.len()), (count, 0), "{text}: {found:?}");
            let again = subject.look(dir.path()).judged(count + 1);
            assert!(matches!(again.losses[..], [Loss::Lost(_)]), "{text}: {again:?}");
            fs::remove_dir_all(dir.path().join(FOLDER)).unwrap();
            let gone = subject.look(dir.path()).judged(1);
            assert!(matches!(gone.losses[..], [Loss::Lost(_)]), "{text}: {gone:?}");
        }
    }
}
