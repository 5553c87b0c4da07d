//! First everything is written out, for dirty pages cannot be dropped; then each lane asks the
//! kernel to forget its files; then the lab drops the caches of the mount, as far as that was
//! consented to; and in the end the pages that are still there are counted. Nothing is believed.

use std::{
    fs::{File, OpenOptions},
    path::{Path, PathBuf},
};

use pickfs_sys::{
    files::sync_file_system,
    residency::{forget, resident_pages},
};

use crate::fault::Fault;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Residency {
    pub resident_bytes: u64,
    pub total_bytes: u64,
}

impl Residency {
    /// A file that is not there counts as nothing.
    pub fn of(files: &[PathBuf]) -> Result<Residency, Fault> {
        let page_bytes = rustix::param::page_size() as u64;
        let mut sum = Residency::default();
        for path in files.iter().filter(|path| path.exists()) {
            let pages = resident_pages(&open(path)?)
                .map_err(|error| Fault::Failed { reason: error.to_string() })?;
            sum.resident_bytes += pages.resident_count as u64 * page_bytes;
            sum.total_bytes += pages.page_count as u64 * page_bytes;
        }
        Ok(sum)
    }

    pub fn share(&self) -> f64 {
        self.resident_bytes as f64 / self.total_bytes.max(1) as f64
    }

    /// A share that rounding and the head of a file may leave: one part in a hundred. Where there was
    /// nothing to look at, nobody knows.
    pub fn is_cold(&self) -> bool {
        self.total_bytes > 0 && self.share() <= 0.01
    }

    /// At least ninety-nine parts in a hundred are there.
    pub fn is_hot(&self) -> bool {
        self.total_bytes == 0 || self.share() >= 0.99
    }
}

/// Opened for writing where that is allowed: the kernel tells residency only to who may write.
fn open(path: &Path) -> Result<File, Fault> {
    let writable = OpenOptions::new().read(true).write(true).open(path);
    writable.or_else(|_| File::open(path)).map_err(Fault::io("open", path))
}

pub(crate) fn write_out(directory: &Path) -> Result<(), Fault> {
    let folder = File::open(directory).map_err(Fault::io("open", directory))?;
    sync_file_system(&folder).map_err(|error| Fault::Failed { reason: error.to_string() })
}

pub(crate) fn forget_all(files: &[PathBuf]) -> Result<(), Fault> {
    for path in files.iter().filter(|path| path.exists()) {
        let file = File::open(path).map_err(Fault::io("open", path))?;
        forget(&file).map_err(|error| Fault::Failed { reason: error.to_string() })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_neither_cold_nor_known() {
        let nothing = Residency::of(&["/nowhere".into()]).unwrap();
        assert!(!nothing.is_cold());
        assert!(Residency { resident_bytes: 0, total_bytes: 4096 }.is_cold());
        assert!(!Residency { resident_bytes: 4096, total_bytes: 8192 }.is_cold());
    }
}
