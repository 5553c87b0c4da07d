//! The one large file: made by us, never in the place of another, and removed only while it is the
//! same that we made.

use std::{os::fd::OwnedFd, path::PathBuf};

use rustix::fs::{OFlags, fstat, lstat};

use super::calls::{self, fsync_and_close};
use crate::fault::Fault;

pub(super) struct ScratchFile {
    path: PathBuf,
    /// Device and inode of the file that we made.
    made: Option<(u64, u64)>,
}

impl ScratchFile {
    pub(super) fn at(path: PathBuf) -> ScratchFile {
        ScratchFile { path, made: None }
    }

    pub(super) fn create(&mut self, flags: OFlags) -> Result<OwnedFd, Fault> {
        self.remove();
        let file = calls::open(&self.path, flags | OFlags::CREATE | OFlags::EXCL)?;
        let facts = fstat(&file).map_err(calls::fault("stat", &self.path))?;
        self.made = Some((facts.st_dev, facts.st_ino));
        Ok(file)
    }

    /// Makes it and closes it empty: what the original does where it skips the characters.
    pub(super) fn touch(&mut self, flags: OFlags) -> Result<(), Fault> {
        fsync_and_close(self.create(OFlags::RDWR | flags)?, &self.path)
    }

    pub(super) fn remove(&mut self) {
        let Some(made) = self.made.take() else { return };
        let is_ours = lstat(&self.path).is_ok_and(|facts| (facts.st_dev, facts.st_ino) == made);
        if is_ours {
            let _ = rustix::fs::unlink(&self.path);
        }
    }
}

impl Drop for ScratchFile {
    fn drop(&mut self) {
        self.remove();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_with_us_and_a_file_that_took_its_place_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scratch");
        let mut file = ScratchFile::at(path.clone());
        file.touch(OFlags::empty()).unwrap();
        assert!(path.exists());
        drop(file);
        assert!(!path.exists());

        let mut file = ScratchFile::at(path.clone());
        file.touch(OFlags::empty()).unwrap();
        // The old one keeps its inode until the new one has one.
        std::fs::rename(&path, folder.path().join("old")).unwrap();
        std::fs::write(&path, "theirs").unwrap();
        drop(file);
        assert_eq!(std::fs::read(&path).unwrap(), b"theirs");
    }

    #[test]
    fn a_file_that_is_there_is_not_touched() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scratch");
        std::fs::write(&path, "theirs").unwrap();
        let error = ScratchFile::at(path.clone()).touch(OFlags::empty()).unwrap_err().to_string();
        assert!(error.contains("File exists"), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), b"theirs");
    }
}
