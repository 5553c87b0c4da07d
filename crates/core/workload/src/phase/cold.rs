//! First everything is written out, for dirty pages cannot be dropped; then each lane asks the
//! kernel to forget its files; then the lab drops the caches of the mount, as far as that was
//! consented to; and in the end the pages that are still there are counted. Nothing is believed.

use std::{
    fs::{File, OpenOptions},
    path::{Path, PathBuf},
};

use pickfs_sys::{
    files::sync_file_system,
    residency::{ResidentPages, forget, resident_pages},
};

use crate::fault::Fault;

/// A file that is not there counts as nothing.
pub fn resident(files: &[PathBuf]) -> Result<ResidentPages, Fault> {
    let mut sum = ResidentPages::default();
    for path in files.iter().filter(|path| path.exists()) {
        let pages = resident_pages(&open(path)?);
        sum += pages.map_err(|error| Fault::Failed { reason: error.to_string() })?;
    }
    Ok(sum)
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
