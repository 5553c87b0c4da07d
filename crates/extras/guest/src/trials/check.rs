//! Whether each file system works in a guest: made, mounted, five hundred files and sixteen mebibytes
//! written, mounted again, every byte compared. Nothing is measured; needs no root.

use std::{path::Path, str::FromStr, time::Instant};

use crate::{
    Engine, Guest, GuestError, Kernel, PackageCache, engine::DISK_INSIDE, packages::PackageError,
};
use pickfs_candidate::{
    GuestImage, TargetError,
    fs::{self, FileSystem},
};
use pickfs_record::{BackingSpec, CandidateSpec};
use thiserror::Error;

use super::{
    boot::{MOUNTED_AT, Machinery, boot, order_of},
    kernels::{self, Tools},
    row_gap,
};
use pickfs_lab::{engines::Gap, interrupt::Interrupt};

/// The image that every file system is made on: XFS wants 300 MiB.
const IMAGE_BYTES: u64 = 320 << 20;

#[derive(Debug, Error)]
pub enum CheckError {
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(transparent)]
    Package(#[from] PackageError),
}

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

pub struct Check<'a> {
    pub engine: Engine,
    pub kernel: &'a Kernel,
    pub cache: &'a PackageCache,
    pub worker: &'a Path,
    pub folder: &'a Path,
    pub names: &'a [String],
    pub interrupt: &'a Interrupt,
}

impl Check<'_> {
    pub fn run(&self, tell: &mut dyn FnMut(&Checked)) -> Result<Vec<Checked>, CheckError> {
        let asked = |row: &&FileSystem| {
            self.names.is_empty() || self.names.iter().any(|name| name == row.name)
        };
        let mut rows: Vec<&FileSystem> = fs::FILE_SYSTEMS.iter().filter(asked).collect();
        // Those have a guest of their own, when the shared one is over.
        rows.sort_by_key(|row| row.is_made_inside());
        let mut tools = Tools::default();
        for row in rows.iter().filter(|row| self.gap(row).is_none()) {
            tools.want(self.cache, row)?;
        }
        let backing = BackingSpec::Loop { size_bytes: IMAGE_BYTES, directory: None };
        let mut image = GuestImage::prepare(&backing, self.folder, &mut |_| {})?;
        image.bring(tools.words());
        let shared = rows.iter().copied().filter(|row| self.gap(row).is_none());
        let shared = shared.filter(|row| tools.gap(row).is_none() && !row.is_made_inside());
        let shared = shared.collect();
        let mut bench = Bench { check: self, tools, image, shared, guest: None };
        let mut all = Vec::new();
        for row in rows.into_iter().take_while(|_| !self.interrupt.is_raised()) {
            let began = Instant::now();
            let result = bench.check(row).unwrap_or_else(CheckResult::Failed);
            let took_s = began.elapsed().as_secs_f64();
            all.push(Checked { fs: row.name.into(), result, took_s });
            all.iter().last().into_iter().for_each(&mut *tell);
        }
        bench.image.remove()?;
        Ok(all)
    }

    fn gap(&self, row: &FileSystem) -> Option<Gap> {
        row_gap(row, self.engine).or_else(|| kernels::gap(row, self.kernel))
    }
}

struct Bench<'a> {
    check: &'a Check<'a>,
    tools: Tools,
    image: GuestImage,
    shared: Vec<&'static FileSystem>,
    guest: Option<Guest>,
}

impl Bench<'_> {
    /// A guest in which something went wrong is not used again. One that makes its candidate itself finds
    /// the disk's partition when it boots, so it is a guest for that alone.
    fn check(&mut self, row: &'static FileSystem) -> Result<CheckResult, String> {
        if let Some((reason, remedy)) = self.check.gap(row).or_else(|| self.tools.gap(row)) {
            return Ok(CheckResult::Skipped(format!("{reason}; {remedy}")));
        }
        let candidate = &CandidateSpec::from_str(row.name).map_err(|error| error.to_string())?;
        let made = self.image.make(candidate, DISK_INSIDE, MOUNTED_AT, &mut Vec::new());
        let inside = made.map_err(|error| error.to_string())?;
        let text = |error: GuestError| error.to_string();
        let interrupt = self.check.interrupt;
        let stop = || interrupt.is_raised();
        let Check { engine, kernel, worker, .. } = *self.check;
        let own = [row];
        let rows = if row.is_made_inside() { &own[..] } else { &self.shared };
        let running = if row.is_made_inside() { None } else { self.guest.take() };
        // Two processors would spin for each other where this machine has others to serve.
        let (tools, image) = (&self.tools, &self.image);
        let machinery = Machinery { engine, kernel, tools, image, worker, processors: 1 };
        let booted = || boot(&machinery, rows, &stop);
        let mut guest = running.map_or_else(booted, Ok).map_err(text)?;
        guest.mount(order_of(row, &inside, kernel), &stop).map_err(text)?;
        let fact = |key: &str| guest.facts().get(key).unwrap_or_default().to_owned();
        let (driver, block_bytes) = (fact("mount.driver"), fact("mount.block_size_bytes"));
        let (files, bytes) = guest.check(inside.needs_disk, &stop).map_err(text)?;
        let is_last = self.shared.last().is_none_or(|last| last.name == row.name);
        match row.is_made_inside() || is_last {
            true => guest.end(&stop).map_err(text)?,
            false => {
                guest.unmount(&stop).map_err(text)?;
                self.guest = Some(guest);
            }
        }
        Ok(CheckResult::Kept { files, bytes, driver, block_bytes })
    }
}
