//! Undo records: what outlives this process and its namespaces (a pool of the
//! kernel's ZFS, a changed tunable, a kept image) is written down before it is
//! done, and `clean` undoes what is written down and nothing else.
//!
//! One record is one JSON file in the state folder: `/var/lib/pickfs/undo`, or
//! `$PICKFS_STATE_DIR/undo`. It carries the boot id: after a reboot a tunable
//! is as the system sets it and a pool is not imported, so such records are
//! dropped, not acted on; an image is removed in any boot, while it is still
//! the same file.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::carry_out;
use crate::identity::boot_id;

const FORMAT: u32 = 1;
const DEFAULT_FOLDER: &str = "/var/lib/pickfs";
/// Every pool that we make has a name that begins so.
const OWN_PREFIX: &str = "pickfs-";

#[derive(Debug, Error)]
pub enum UndoError {
    #[error("cannot {what} undo record {}: {cause}", .path.display())]
    Record { what: &'static str, path: PathBuf, cause: io::Error },
    #[error("cannot look at {}: {cause}", .path.display())]
    Subject { path: PathBuf, cause: io::Error },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Undo {
    Zpool {
        name: String,
    },
    Tunable {
        path: PathBuf,
        before: String,
    },
    Image {
        path: PathBuf,
        /// Of its file system.
        device: u64,
        inode: u64,
    },
}

impl Undo {
    /// Holds what it holds now.
    pub fn tunable(path: impl Into<PathBuf>) -> Result<Self, UndoError> {
        let path = path.into();
        match fs::read_to_string(&path) {
            Ok(before) => Ok(Undo::Tunable { path, before: before.trim_end().to_owned() }),
            Err(cause) => Err(UndoError::Subject { path, cause }),
        }
    }

    pub fn image(path: impl Into<PathBuf>) -> Result<Self, UndoError> {
        let path = path.into();
        match fs::symlink_metadata(&path) {
            Ok(facts) => Ok(Undo::Image { path, device: facts.dev(), inode: facts.ino() }),
            Err(cause) => Err(UndoError::Subject { path, cause }),
        }
    }

    pub fn undo_now(&self) -> Result<(), String> {
        match undo(self, true) {
            CleanOutcome::Failed(why) => Err(why),
            _ => Ok(()),
        }
    }
}

impl std::fmt::Display for Undo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Undo::Zpool { name } => write!(f, "pool {name}"),
            Undo::Tunable { path, before } => write!(f, "{} was {before}", path.display()),
            Undo::Image { path, .. } => write!(f, "image {}", path.display()),
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Record {
    format: u32,
    boot_id: String,
    undo: Undo,
}

/// While it lives, the record is locked: nobody takes it for one that was left behind.
#[derive(Debug)]
pub struct Note {
    path: PathBuf,
    _held: File,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cleaned {
    /// The record's own words, or its file name where it could not be read.
    pub what: String,
    pub outcome: CleanOutcome,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CleanOutcome {
    Undone,
    /// The record was removed.
    AlreadyGone(String),
    /// By a run that is going on; the record stays.
    InUse,
    /// The record stays.
    Failed(String),
}

/// What outlives a run; it need not exist.
pub fn state_folder() -> PathBuf {
    std::env::var_os("PICKFS_STATE_DIR").map_or_else(|| DEFAULT_FOLDER.into(), PathBuf::from)
}

#[derive(Debug, Clone)]
pub struct UndoLog {
    folder: PathBuf,
}

impl UndoLog {
    pub fn open_default() -> Self {
        Self::at(state_folder().join("undo"))
    }

    /// Made when the first record is written.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Durably, before the thing is done.
    pub fn note(&self, undo: &Undo) -> Result<Note, UndoError> {
        // Names rise with time: records are undone in the order in which they were written.
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let name = format!("{:020}-{:016x}.json", now.as_nanos(), fastrand::u64(..));
        let path = self.folder.join(name);
        let record = Record { format: FORMAT, boot_id: boot_id(), undo: undo.clone() };
        match self.write(&path, &record) {
            Ok(held) => Ok(Note { path, _held: held }),
            Err(cause) => Err(UndoError::Record { what: "write", path, cause }),
        }
    }

    /// Under another name first, so that no half record is ever read.
    fn write(&self, path: &Path, record: &Record) -> io::Result<File> {
        fs::create_dir_all(&self.folder)?;
        let draft = path.with_extension("draft");
        let mut file = File::create(&draft)?;
        // The lock ends with the process, whatever ends it.
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        file.write_all(&serde_json::to_vec_pretty(record)?)?;
        file.sync_all()?;
        fs::rename(&draft, path)?;
        File::open(&self.folder)?.sync_all()?;
        Ok(file)
    }

    /// The thing was undone.
    pub fn forget(&self, note: &Note) -> Result<(), UndoError> {
        remove(&note.path)
    }

    /// Each record once, the oldest first. What fails with one record is its outcome.
    pub fn clean(&self) -> Result<Vec<Cleaned>, UndoError> {
        Ok(self.records()?.iter().filter_map(|path| self.clean_one(path)).collect())
    }

    /// Those that a killed run left changed, and nothing else.
    pub fn put_back_settings(&self) -> Result<Vec<Cleaned>, UndoError> {
        let is_setting = |path: &&PathBuf| {
            let record = fs::read(path).map(|bytes| serde_json::from_slice::<Record>(&bytes));
            matches!(record, Ok(Ok(Record { undo: Undo::Tunable { .. }, .. })))
        };
        let records = self.records()?;
        Ok(records.iter().filter(is_setting).filter_map(|path| self.clean_one(path)).collect())
    }

    fn records(&self) -> Result<Vec<PathBuf>, UndoError> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(cause) => {
                let path = self.folder.clone();
                return Err(UndoError::Record { what: "list", path, cause });
            }
        };
        let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
        paths.sort();
        Ok(paths)
    }

    /// Nothing of a record that another run has taken away meanwhile: that run has undone it.
    fn clean_one(&self, path: &Path) -> Option<Cleaned> {
        if is_held(path) {
            let what = fs::read(path).ok().and_then(|b| serde_json::from_slice::<Record>(&b).ok());
            let what = what.map_or_else(String::new, |record| record.undo.to_string());
            return Some(Cleaned { what, outcome: CleanOutcome::InUse });
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let record = match fs::read(path).map(|bytes| serde_json::from_slice::<Record>(&bytes)) {
            Ok(Ok(record)) if record.format <= FORMAT => record,
            Ok(Ok(_)) => {
                return Some(failed(name, "written by a newer pickfs; use that one".into()));
            }
            Ok(Err(error)) => return Some(failed(name, error.to_string())),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return None,
            Err(cause) => return Some(failed(name, cause.to_string())),
        };
        let same_boot = record.boot_id == boot_id();
        let outcome = undo(&record.undo, same_boot);
        if !matches!(outcome, CleanOutcome::Failed(_)) {
            let _ = remove(path);
        }
        Some(Cleaned { what: record.undo.to_string(), outcome })
    }
}

fn remove(path: &Path) -> Result<(), UndoError> {
    match fs::remove_file(path) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
            Err(UndoError::Record { what: "remove", path: path.to_owned(), cause })
        }
        _ => Ok(()),
    }
}

/// Whether the process that wrote the record still lives. A child of another thread holds what it inherited until
/// it begins its program.
fn is_held(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let is_locked = || flock(&file, FlockOperation::NonBlockingLockExclusive).is_err();
    (0..INHERITED_LOOKS).all(|_| {
        let is_held = is_locked();
        if is_held {
            std::thread::sleep(INHERITED_LOOK_EACH);
        }
        is_held
    })
}

/// Looks at a lock that may only be inherited: a quarter of a second in all.
const INHERITED_LOOKS: u32 = 10;
const INHERITED_LOOK_EACH: Duration = Duration::from_millis(25);

fn failed(what: String, why: String) -> Cleaned {
    Cleaned { what, outcome: CleanOutcome::Failed(why) }
}

fn undo(undo: &Undo, same_boot: bool) -> CleanOutcome {
    match undo {
        Undo::Zpool { .. } | Undo::Tunable { .. } if !same_boot => {
            CleanOutcome::AlreadyGone("the machine was restarted since".into())
        }
        Undo::Zpool { name } => destroy_pool(name),
        Undo::Tunable { path, before } => outcome_of(fs::write(path, before)),
        Undo::Image { path, device, inode } => remove_image(path, *device, *inode),
    }
}

fn destroy_pool(name: &str) -> CleanOutcome {
    if !name.starts_with(OWN_PREFIX) {
        return CleanOutcome::Failed(format!("pool {name} is not one of ours"));
    }
    let run = |words: &[&str]| {
        let args: Vec<String> = words.iter().map(|word| word.to_string()).collect();
        carry_out::run("zpool", &args)
    };
    if run(&["list", "-H", "-o", "name", name]).is_err() {
        return CleanOutcome::AlreadyGone("no such pool is imported".into());
    }
    outcome_of(run(&["destroy", "-f", name]))
}

fn remove_image(path: &Path, device: u64, inode: u64) -> CleanOutcome {
    let facts = match fs::symlink_metadata(path) {
        Ok(facts) => facts,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
            return CleanOutcome::AlreadyGone("no such file".into());
        }
        Err(cause) => return CleanOutcome::Failed(cause.to_string()),
    };
    if !facts.is_file() || facts.dev() != device || facts.ino() != inode {
        return CleanOutcome::AlreadyGone("another file has its name; left alone".into());
    }
    outcome_of(fs::remove_file(path))
}

fn outcome_of<T>(undone: Result<T, impl ToString>) -> CleanOutcome {
    undone.map_or_else(|why| CleanOutcome::Failed(why.to_string()), |_| CleanOutcome::Undone)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log() -> (tempfile::TempDir, UndoLog) {
        let folder = tempfile::tempdir().unwrap();
        let log = UndoLog::at(folder.path().join("undo"));
        (folder, log)
    }

    fn outcomes(log: &UndoLog) -> Vec<CleanOutcome> {
        log.clean().unwrap().into_iter().map(|cleaned| cleaned.outcome).collect()
    }

    #[test]
    fn a_tunable_is_set_back_once() {
        let (folder, log) = log();
        let tunable = folder.path().join("dirty_ratio");
        fs::write(&tunable, "20\n").unwrap();
        let note = log.note(&Undo::tunable(&tunable).unwrap()).unwrap();
        fs::write(&tunable, "5\n").unwrap();
        assert_eq!(outcomes(&log), [CleanOutcome::InUse], "its run is going on");
        drop(note);
        assert_eq!(outcomes(&log), [CleanOutcome::Undone]);
        assert_eq!(fs::read_to_string(&tunable).unwrap(), "20");
        assert!(outcomes(&log).is_empty());
    }

    #[test]
    fn what_was_forgotten_is_not_undone() {
        let (folder, log) = log();
        let image = folder.path().join("image");
        fs::write(&image, b"x").unwrap();
        let note = log.note(&Undo::image(&image).unwrap()).unwrap();
        log.forget(&note).unwrap();
        log.forget(&note).unwrap();
        assert!(outcomes(&log).is_empty() && image.exists());
    }

    #[test]
    fn an_image_is_removed_only_while_it_is_the_same_file() {
        let (folder, log) = log();
        let (ours, theirs) = (folder.path().join("ours"), folder.path().join("theirs"));
        fs::write(&ours, b"x").unwrap();
        fs::write(&theirs, b"x").unwrap();
        log.note(&Undo::image(&ours).unwrap()).unwrap();
        fs::rename(&theirs, &ours).unwrap();
        assert!(matches!(outcomes(&log)[..], [CleanOutcome::AlreadyGone(_)]));
        assert!(ours.exists());
        log.note(&Undo::image(&ours).unwrap()).unwrap();
        assert_eq!(outcomes(&log), [CleanOutcome::Undone]);
        assert!(!ours.exists());
    }

    #[test]
    fn a_record_that_another_run_takes_away_meanwhile_is_nothing() {
        let (folder, log) = log();
        assert!(log.clean_one(&folder.path().join("gone.json")).is_none());
    }

    #[test]
    fn a_tunable_of_another_boot_is_left_alone() {
        let (folder, log) = log();
        let tunable = folder.path().join("swappiness");
        fs::write(&tunable, "60").unwrap();
        let undo = Undo::Tunable { path: tunable.clone(), before: "10".into() };
        let record = Record { format: FORMAT, boot_id: "another".into(), undo };
        log.write(&log.folder.join("1.json"), &record).unwrap();
        assert!(matches!(outcomes(&log)[..], [CleanOutcome::AlreadyGone(_)]));
        assert_eq!(fs::read_to_string(&tunable).unwrap(), "60");
    }

    #[test]
    fn a_damaged_or_newer_record_stays_and_says_why() {
        let (_folder, log) = log();
        let undo = Undo::Zpool { name: "tank".into() };
        let newer = Record { format: FORMAT + 1, boot_id: boot_id(), undo: undo.clone() };
        log.write(&log.folder.join("1.json"), &newer).unwrap();
        fs::write(log.folder.join("2.json"), b"{\"format\":1,").unwrap();
        log.write(&log.folder.join("3.json"), &Record { format: FORMAT, boot_id: boot_id(), undo })
            .unwrap();
        let reasons: Vec<String> = outcomes(&log)
            .into_iter()
            .map(|outcome| match outcome {
                CleanOutcome::Failed(why) => why,
                other => panic!("{other:?}"),
            })
            .collect();
        assert!(reasons[0].contains("newer") && reasons[1].contains("EOF"), "{reasons:?}");
        assert_eq!(reasons[2], "pool tank is not one of ours");
        assert_eq!(outcomes(&log).len(), 3);
    }
}
