//! A file that is saved: written beside itself, renamed over itself. After a crash there is the old one or the new one,
//! and the new one from when the save has returned.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::record::record;
use super::subject::{SubjectError, Writes};
use crate::check::{Found, Loss};

const NAME: &str = "settings";
/// More than a page, so that a save is several.
const REPEATS: usize = 60;

pub(crate) struct Saves {
    dir: PathBuf,
    syncs_file: bool,
    syncs_folder: bool,
}

pub(crate) fn begin(dir: &Path, syncs_file: bool, syncs_folder: bool) -> Saves {
    Saves { dir: dir.into(), syncs_file, syncs_folder }
}

fn version(number: u64) -> Vec<u8> {
    [number.to_le_bytes().to_vec(), record(number).repeat(REPEATS)].concat()
}

impl Writes for Saves {
    fn append(&mut self, number: u64) -> Result<(), SubjectError> {
        let beside = self.dir.join(format!("{NAME}.new"));
        let mut file = File::create(&beside)?;
        file.write_all(&version(number))?;
        if self.syncs_file {
            file.sync_all()?;
        }
        fs::rename(&beside, self.dir.join(NAME))?;
        if self.syncs_folder {
            File::open(&self.dir)?.sync_all()?;
        }
        Ok(())
    }
}

pub(crate) fn look(dir: &Path, mut found: Found) -> Found {
    let Ok(bytes) = fs::read(dir.join(NAME)) else { return found };
    let number = bytes.first_chunk().map_or(0, |first| u64::from_le_bytes(*first));
    if number > 0 && bytes == version(number) {
        found.survived = number;
    } else {
        let words = format!("{NAME} has {} bytes that are no version of it", bytes.len());
        found.losses.push(Loss::Refused(words));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_version_is_said_to_be_none() {
        let dir = tempfile::tempdir().unwrap();
        let mut saves = begin(dir.path(), true, true);
        (1..=3).for_each(|number| saves.append(number).unwrap());
        assert_eq!(look(dir.path(), Found::default()).survived, 3);
        for wrong in [Vec::new(), vec![0; version(1).len()], version(3)[..9000].to_vec()] {
            fs::write(dir.path().join(NAME), wrong).unwrap();
            let found = look(dir.path(), Found::default());
            assert!(matches!(found.losses[..], [Loss::Refused(_)]) && found.survived == 0);
        }
    }
}
