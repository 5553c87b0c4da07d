//! Recovery: finds the last whole record, cuts a torn tail, and refuses damage in the middle.
//!
//! A *torn tail* is what follows the last whole record when no whole record comes later: the trace of a
//! write that a crash cut short. A *hole* has whole records behind it. A killed process leaves no hole,
//! so by default one is reported as damage. After a power cut several unsynced records may have reached
//! the disk in any order; [`Holes::CutUnsynced`] accepts that, and still refuses where a later record
//! proves that the missing one had been synced.

use std::path::Path;

use crate::directory::Directory;
use crate::error::{DamageKind, Error, Result};
use crate::name;
use crate::storage::{Open, Storage, StorageFile};
use crate::survey::{Survey, claimed_index, indices, survey};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Holes {
    #[default]
    Refuse,
    /// Cut the journal there, unless a later record proves that what is missing had been synced. Right after a power
    /// cut, at a roll also where each record is synced; whole but unacknowledged records are given up.
    CutUnsynced,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovery {
    pub records: u64,
    /// Of the next one, where there is none.
    pub first_sequence: u64,
    /// Where there is none, the one before the next.
    pub last_sequence: u64,
    pub files: u64,
    pub unused_files: u64,
    pub torn_tail: Option<TornTail>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TornTail {
    pub file: String,
    /// Where the last whole record ends and the file was cut.
    pub offset_bytes: u64,
    /// From there to the last one that was not zero.
    pub bytes_cut: u64,
    /// Whole records behind the cut that were given up; 0 unless [`Holes::CutUnsynced`].
    pub records_cut: u64,
    pub reason: DamageKind,
    /// New names of later files, which were set aside.
    pub files_set_aside: Vec<String>,
}

/// Refuses any hole.
pub fn recover(dir: impl AsRef<Path>) -> Result<Recovery> {
    recover_with(dir, Holes::Refuse)
}

pub fn recover_with(dir: impl AsRef<Path>, holes: Holes) -> Result<Recovery> {
    recover_in(&open(dir.as_ref())?, holes)
}

pub fn recover_in<S: Storage>(storage: &S, holes: Holes) -> Result<Recovery> {
    crate::journal::lock(storage)?;
    Ok(recover_locked(storage, holes)?.0)
}

/// Says what [`recover`] would do, and does nothing. Not while a writer is appending.
pub fn inspect(dir: impl AsRef<Path>) -> Result<Recovery> {
    Ok(describe(&survey(&open(dir.as_ref())?, Holes::Refuse)?))
}

pub(crate) fn open(dir: &Path) -> Result<Directory> {
    Directory::open(dir).map_err(Error::io("open", dir.display().to_string()))
}

pub(crate) fn recover_locked<S: Storage>(storage: &S, holes: Holes) -> Result<(Recovery, Survey)> {
    restore_names(storage)?;
    let survey = survey(storage, holes)?;
    let recovery = describe(&survey);
    set_aside(storage, &survey)?;
    cut(storage, &survey)?;
    Ok((recovery, survey))
}

/// A file was recycled: renamed, then begun under its new name. If a power cut kept the new header and
/// lost the new name, the header is right, because the name was only changed for it.
fn restore_names<S: Storage>(storage: &S) -> Result<()> {
    for index in indices(storage)? {
        let name = name::of_index(index);
        let file = storage.open(&name, Open::Read).map_err(Error::io("open", name.clone()))?;
        let Some(claimed) = claimed_index(&file, index)? else {
            continue;
        };
        let right = name::of_index(claimed);
        let taken = storage.open(&right, Open::Read).is_ok();
        if claimed > index && !taken {
            storage.rename(&name, &right).map_err(Error::io("rename", name))?;
        }
    }
    Ok(())
}

fn describe(survey: &Survey) -> Recovery {
    let first_sequence = survey.files.first().map_or(1, |file| file.first_sequence);
    Recovery {
        records: survey.files.iter().map(|file| file.records).sum(),
        first_sequence,
        last_sequence: survey.files.last().map_or(0, |file| file.last_sequence()),
        files: survey.files.len() as u64,
        unused_files: survey.unused.len() as u64,
        torn_tail: survey.hole.map(|hole| TornTail {
            file: name::of_index(hole.index),
            offset_bytes: hole.offset_bytes,
            bytes_cut: survey.hole_bytes,
            records_cut: survey.later.count,
            reason: hole.kind,
            files_set_aside: survey.set_aside.iter().map(|index| aside(*index)).collect(),
        }),
    }
}

fn aside(index: u64) -> String {
    format!("{}.cut", name::of_index(index))
}

/// The last file first: a crash in between leaves a hole with fewer files behind it, and the next
/// recovery comes to the same end.
fn set_aside<S: Storage>(storage: &S, survey: &Survey) -> Result<()> {
    for index in survey.set_aside.iter().rev() {
        let name = name::of_index(*index);
        storage.rename(&name, &aside(*index)).map_err(Error::io("rename", name))?;
    }
    storage.sync_directory().map_err(Error::io("sync", storage.describe()))
}

/// Cuts the file at the hole and syncs every file that is kept, so that what recovery counted is really
/// on the device before anyone builds on it.
fn cut<S: Storage>(storage: &S, survey: &Survey) -> Result<()> {
    for used in &survey.files {
        let name = name::of_index(used.index);
        let mut file =
            storage.open(&name, Open::Repair).map_err(Error::io("open", name.clone()))?;
        if survey.hole.is_some_and(|hole| hole.index == used.index) {
            file.set_length(used.end_bytes).map_err(Error::io("cut", name.clone()))?;
        }
        file.sync_all().map_err(Error::io("sync", name))?;
    }
    Ok(())
}
