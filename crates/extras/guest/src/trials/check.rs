//! Whether each file system works in a guest: made, mounted, five hundred files and sixteen mebibytes
//! written, mounted again, every byte compared. Nothing is measured; needs no root.

use std::{path::Path, str::FromStr, time::Instant};

use pickfs_candidate::fs::{self, FileSystem};
use pickfs_record::{BackingSpec, CandidateSpec};

use super::tour::{Means, Tour, TourError};

/// The image that every file system is made on: XFS wants 300 MiB.
const IMAGE_BYTES: u64 = 320 << 20;

#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    pub fs: String,
    pub result: CheckResult,
    /// Seconds from making it to its last unmount, with the boot of its guest where it was the first.
    pub took_s: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub enum CheckResult {
    Kept {
        files: u64,
        bytes: u64,
        driver: String,
        /// Its block size in bytes, as text.
        block_bytes: String,
    },
    Skipped(String),
    Failed(String),
}

/// Of all file systems where none is named; the image lies in `folder`.
pub fn check(
    means: Means<'_>,
    names: &[String],
    folder: &Path,
    tell: &mut dyn FnMut(&Checked),
) -> Result<Vec<Checked>, TourError> {
    let asked = |row: &&FileSystem| names.is_empty() || names.iter().any(|name| name == row.name);
    let mut rows: Vec<&'static FileSystem> = fs::FILE_SYSTEMS.iter().filter(asked).collect();
    // Those have a guest of their own, when the shared one is over.
    rows.sort_by_key(|row| row.is_made_inside());
    let backing = BackingSpec::Loop { size_bytes: IMAGE_BYTES, directory: None };
    let mut tour = Tour::prepare(means, &rows, (&backing, folder), &mut |_| {})?;
    let mut all = Vec::new();
    for row in rows.into_iter().take_while(|_| !means.interrupt.is_raised()) {
        let began = Instant::now();
        let result = checked(&mut tour, means, row).unwrap_or_else(CheckResult::Failed);
        let took_s = began.elapsed().as_secs_f64();
        all.push(Checked { fs: row.name.into(), result, took_s });
        all.iter().last().into_iter().for_each(&mut *tell);
    }
    tour.end()?;
    Ok(all)
}

fn checked(
    tour: &mut Tour<'_>,
    means: Means<'_>,
    row: &'static FileSystem,
) -> Result<CheckResult, String> {
    if let Some((reason, remedy)) = tour.gap(row) {
        return Ok(CheckResult::Skipped(format!("{reason}; {remedy}")));
    }
    let candidate = CandidateSpec::from_str(row.name).map_err(|error| error.to_string())?;
    tour.visit(&candidate, row, &mut |guest, inside| {
        let fact = |key: &str| guest.facts().get(key).unwrap_or_default().to_owned();
        let (driver, block_bytes) = (fact("mount.driver"), fact("mount.block_size_bytes"));
        let kept = guest.check(inside.needs_disk, &|| means.interrupt.is_raised());
        let (files, bytes) = kept.map_err(|error| error.to_string())?;
        Ok(CheckResult::Kept { files, bytes, driver, block_bytes })
    })
}
