//! Candidates one after the other in guests, for what is no trial: each is made on one image, mounted, visited and
//! unmounted. They share a guest, but for those that only a guest makes, and none in which something went wrong is used
//! again.

use std::path::Path;

use crate::{
    Engine, Guest, GuestError, Kernel, PackageCache, engine::DISK_INSIDE, guest::left,
    packages::PackageError,
};
use pickfs_candidate::{GuestImage, Progress, TargetError, fs::FileSystem, guest_image::Inside};
use pickfs_record::{BackingSpec, CandidateSpec};
use thiserror::Error;

use super::{
    boot::{MOUNTED_AT, Machinery, boot, order_of},
    gap,
    kernels::{self, Tools},
    row_gap,
};
use pickfs_lab::{engines::Gap, interrupt::Interrupt};

#[derive(Debug, Error)]
pub enum TourError {
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(transparent)]
    Package(#[from] PackageError),
}

/// Why a candidate was not visited.
#[derive(Debug, Error)]
pub enum Unvisited {
    /// Its guest fell silent before it had mounted it: the next one may not.
    #[error("{0}")]
    Silent(String),
    #[error("{0}")]
    Failed(String),
}

#[derive(Clone, Copy)]
pub struct Means<'a> {
    pub engine: Engine,
    pub kernel: &'a Kernel,
    pub cache: &'a PackageCache,
    /// This program, which is the first one of the guest too.
    pub worker: &'a Path,
    pub processors: usize,
    pub interrupt: &'a Interrupt,
}

pub struct Tour<'a> {
    means: Means<'a>,
    tools: Tools,
    image: GuestImage,
    shared: Vec<&'static FileSystem>,
    guest: Option<Guest>,
}

impl<'a> Tour<'a> {
    /// Fetches what these need and makes their image, in a folder unless the backing names another.
    pub fn prepare(
        means: Means<'a>,
        rows: &[&'static FileSystem],
        (backing, folder): (&BackingSpec, &Path),
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Tour<'a>, TourError> {
        let fits = |row: &&&'static FileSystem| means.gap(row).is_none();
        let mut tools = Tools::default();
        for row in rows.iter().filter(fits) {
            tools.want(means.cache, row)?;
        }
        let mut image = GuestImage::prepare(backing, folder, progress)?;
        image.bring(tools.words());
        let shared = rows.iter().filter(fits).copied();
        let shared = shared.filter(|row| tools.gap(row).is_none() && !row.is_made_inside());
        let shared = shared.collect();
        Ok(Tour { means, tools, image, shared, guest: None })
    }

    /// Why a row cannot be visited, and what would help.
    pub fn gap(&self, row: &FileSystem) -> Option<Gap> {
        gap(row, self.means.engine, self.means.kernel, &self.tools)
    }

    /// `call` finds it mounted at [`MOUNTED_AT`] in the guest.
    pub fn visit<T>(
        &mut self,
        candidate: &CandidateSpec,
        row: &'static FileSystem,
        call: &mut dyn FnMut(&mut Guest, &Inside) -> Result<T, String>,
    ) -> Result<T, Unvisited> {
        let Means { engine, kernel, worker, processors, interrupt, .. } = self.means;
        let failed = |error: GuestError| Unvisited::Failed(error.to_string());
        let stop = || interrupt.is_raised();
        // One that makes its candidate itself finds the disk's partition when it boots, so it is a guest for that alone.
        let is_alone = row.is_made_inside();
        if is_alone {
            // This candidate had no part in how it ended.
            let _ = self.rest();
        }
        left().map_or(Ok(()), |why| Err(Unvisited::Failed(why)))?;
        let made = self.image.make(candidate, DISK_INSIDE, MOUNTED_AT, &mut Vec::new());
        let inside = made.map_err(|error| Unvisited::Failed(error.to_string()))?;
        let (own, running) = ([row], self.guest.take());
        let rows = if is_alone { &own[..] } else { &self.shared };
        let (tools, programs, disk, memory_bytes) = (&self.tools, &[], self.image.path(), None);
        let machinery =
            Machinery { engine, kernel, tools, disk, worker, programs, processors, memory_bytes };
        let booted = || boot(&machinery, rows, &stop);
        let mut guest = running.map_or_else(booted, Ok).map_err(failed)?;
        let mounted = guest.mount(order_of(row, &inside, kernel), &stop);
        mounted.map_err(|error| match error {
            GuestError::Missed { .. } => Unvisited::Silent(error.to_string()),
            _ => failed(error),
        })?;
        let found = call(&mut guest, &inside).map_err(Unvisited::Failed)?;
        match is_alone {
            true => guest.end(&stop).map_err(failed)?,
            false => {
                guest.unmount(&stop).map_err(failed)?;
                self.guest = Some(guest);
            }
        }
        Ok(found)
    }

    pub fn end(mut self) -> Result<(), TourError> {
        let rested = self.rest();
        self.image.remove()?;
        rested.map_err(|reason| TargetError::Other(reason).into())
    }

    fn rest(&mut self) -> Result<(), String> {
        let stop = || self.means.interrupt.is_raised();
        let ended = self.guest.take().map_or(Ok(()), |guest| guest.end(&stop));
        ended.map_err(|error| error.to_string())
    }
}

impl Means<'_> {
    fn gap(&self, row: &FileSystem) -> Option<Gap> {
        row_gap(row, self.engine).or_else(|| kernels::gap(row, self.kernel))
    }
}
