//! Whether each file system works in a guest: made, mounted, five hundred files and sixteen mebibytes
//! written, mounted again, every byte compared. Nothing is measured; needs no root.

use std::{path::Path, time::Instant};

use pickfs_guest::{Engine, GuestError, Kernel};
use pickfs_model::{BackingSpec, CandidateSpec};
use pickfs_target::{GuestImage, TargetError, fs};
use thiserror::Error;

use crate::{
    engines::row_gap,
    guest_boot::{GuestBoot, MOUNTED_AT},
    interrupt::Interrupt,
    kernels,
};

/// The image that every file system is made on: XFS wants 300 MiB.
const IMAGE_BYTES: u64 = 320 << 20;

/// A check that could not begin.
#[derive(Debug, Error)]
pub enum CheckError {
    /// The image.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// A folder for small files.
    #[error("no folder for the small files of guests: {0}; set TMPDIR")]
    Folder(#[from] std::io::Error),
}

/// What came of one file system.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// Its name.
    pub fs: String,
    /// How it went.
    pub result: CheckResult,
    /// Seconds from making it to the end of its guest.
    pub took_s: f64,
}

/// How it went.
#[derive(Debug, Clone, PartialEq)]
pub enum CheckResult {
    /// All came back.
    Kept {
        /// Files that were made and compared.
        files: u64,
        /// Bytes that were compared.
        bytes: u64,
        /// The driver, as the guest's kernel names it.
        driver: String,
        /// Its block size in bytes, as text.
        block_bytes: String,
    },
    /// It could not be tried, and why.
    Skipped(String),
    /// It was tried and went wrong.
    Failed(String),
}

/// Checks every file system of the table, or those in `names`, one guest each; tells of each one.
///
/// # Errors
/// When nothing can be checked at all.
pub fn check_guests(
    engine: &'static dyn Engine,
    kernel: &Kernel,
    worker: &Path,
    folder: &Path,
    names: &[String],
    interrupt: &Interrupt,
    tell: &mut dyn FnMut(&Checked),
) -> Result<Vec<Checked>, CheckError> {
    let backing = BackingSpec::Loop { size_bytes: IMAGE_BYTES, directory: None };
    let image = GuestImage::prepare(&backing, folder, &mut |_| {})?;
    let mut bench = Bench { engine, kernel, image, boots: GuestBoot::new(worker)?, interrupt };
    let mut all = Vec::new();
    for row in fs::FILE_SYSTEMS {
        let is_asked = names.is_empty() || names.iter().any(|name| name == row.name());
        if is_asked && !interrupt.is_raised() {
            let began = Instant::now();
            let result = bench.check(*row);
            let took_s = began.elapsed().as_secs_f64();
            all.push(Checked { fs: row.name().into(), result, took_s });
            all.iter().last().into_iter().for_each(&mut *tell);
        }
    }
    bench.image.remove()?;
    Ok(all)
}

struct Bench<'a> {
    engine: &'static dyn Engine,
    kernel: &'a Kernel,
    image: GuestImage,
    boots: GuestBoot,
    interrupt: &'a Interrupt,
}

impl Bench<'_> {
    fn check(&mut self, row: &dyn fs::FileSystem) -> CheckResult {
        let gap = row_gap(row, self.engine).or_else(|| kernels::gap(row.name(), self.kernel));
        if let Some((reason, remedy)) = gap {
            return CheckResult::Skipped(format!("{reason}; {remedy}"));
        }
        let Ok(candidate) = row.name().parse::<CandidateSpec>() else {
            return CheckResult::Skipped("no candidate has this name".into());
        };
        match self.kept(&candidate) {
            Ok(result) => result,
            Err(reason) => CheckResult::Failed(reason),
        }
    }

    fn kept(&mut self, candidate: &CandidateSpec) -> Result<CheckResult, String> {
        let disk = self.engine.disk_inside();
        let made = self.image.make(candidate, disk, MOUNTED_AT, &mut Vec::new());
        let inside = made.map_err(|error| error.to_string())?;
        let stop = || self.interrupt.is_raised();
        let text = |error: GuestError| error.to_string();
        let guest = self.boots.boot(self.engine, self.kernel, &self.image, &inside, &stop);
        let guest = guest.map_err(text)?;
        let fact = |key: &str| guest.facts().get(key).unwrap_or_default().to_owned();
        let (driver, block_bytes) = (fact("mount.driver"), fact("mount.block_size_bytes"));
        let (files, bytes) = guest.check(inside.needs_disk, &stop).map_err(text)?;
        guest.end(&stop).map_err(text)?;
        Ok(CheckResult::Kept { files, bytes, driver, block_bytes })
    }
}
