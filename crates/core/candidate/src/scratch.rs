//! The scratch: one place where every candidate of a run is made, one after the other. The order
//! of trials is the lab's.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pickfs_record::record::{ImageRecord, RawProbe};
use pickfs_record::{BackingKind, BackingSpec, CandidateSpec, Durability, Environment, StepRecord};

use crate::availability::{self, Availability, Unavailable};
use crate::calls::Helpers;
use crate::card;
use crate::carry_out;
use crate::directory::Directories;
use crate::environment;
use crate::error::TargetError;
use crate::fs::{FileSystem, Ground, LogPlace, Place, periods};
use crate::identity::Identity;
use crate::image::Image;
use crate::memory;
use crate::mounted::{self, Mounted, Promise};
use crate::named_device::NamedDevice;
use crate::plan::{self, Bed};
use crate::raw_probe;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress<'a> {
    pub what: &'static str,
    pub done_bytes: u64,
    pub total_bytes: u64,
    /// Set to true, it ends the work with [`TargetError::Interrupted`].
    pub stop: &'a Cell<bool>,
}

#[derive(Debug)]
pub struct Scratch {
    pub(crate) base: Base,
    pub(crate) helpers: Helpers,
    pub(crate) repaired_bytes: u64,
    limit_bytes: u64,
}

#[derive(Debug)]
pub(crate) enum Base {
    Image(Image),
    Device { device: NamedDevice, log: Option<Box<NamedDevice>> },
    Directory(Directories),
}

impl Scratch {
    /// Makes the image, or takes the directory. After an error nothing is left behind.
    pub fn prepare(
        backing: &BackingSpec,
        run_dir: &Path,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Self, TargetError> {
        let mut limit_bytes = u64::MAX;
        let base = match backing {
            BackingSpec::Loop { size_bytes, directory } => {
                let directory = directory.as_deref().unwrap_or(run_dir);
                Base::Image(Image::on_disk(directory, *size_bytes, progress)?)
            }
            BackingSpec::Ram { size_bytes } => {
                Base::Image(Image::in_memory(run_dir, *size_bytes, progress)?)
            }
            BackingSpec::Device { path, erase, state, size_bytes, log_device } => {
                limit_bytes = size_bytes.unwrap_or(u64::MAX);
                let device = NamedDevice::pin(path, *erase, *state)?;
                // Both answer before either is written.
                let log =
                    log_device.as_ref().map(|node| device.pin_log(node, *erase)).transpose()?;
                let device = device.prepared(limit_bytes, progress)?;
                let filled = log.map(|log| {
                    let used = LogPlace::on(log.path());
                    log.prepared(used.bytes, progress).map(Box::new)
                });
                let log = filled.transpose()?;
                Base::Device { device, log }
            }
            BackingSpec::Directory { path, places } => {
                Base::Directory(Directories::take(path, places)?)
            }
        };
        let helpers = Helpers::default();
        Ok(Self { base, helpers, repaired_bytes: 0, limit_bytes })
    }

    /// From now on candidates are made in the first `bytes` only, a multiple of 4096: the same
    /// size on a larger device. The raw probe and the card keep to them too.
    pub fn limit_size(&mut self, bytes: u64) {
        self.limit_bytes = bytes;
    }

    /// What the scratch itself is; a candidate on memory says [`BackingKind::Memory`] instead.
    pub fn kind(&self) -> BackingKind {
        match &self.base {
            Base::Image(image) => image.kind(),
            Base::Device { .. } => BackingKind::Disk,
            Base::Directory(_) => BackingKind::Directory,
        }
    }

    pub fn device(&self) -> Option<&Path> {
        match &self.base {
            Base::Image(image) => Some(image.device_path()),
            Base::Device { device, .. } => Some(device.path()),
            Base::Directory(_) => None,
        }
    }

    /// A run stores them, and a resumed run compares them by [`crate::interlock::same_device`].
    pub fn identities(&self) -> [Option<&Identity>; 2] {
        match &self.base {
            Base::Device { device, log } => {
                [Some(device.identity()), log.as_ref().map(|log| log.identity())]
            }
            _ => [None, None],
        }
    }

    /// Now; `None` without an image.
    pub fn image_state(&self) -> Result<Option<ImageRecord>, TargetError> {
        match &self.base {
            Base::Image(image) => image.state().map(Some),
            _ => Ok(None),
        }
    }

    /// Where each candidate has its own place.
    pub fn turn_to(&mut self, candidate: &CandidateSpec) {
        if let Base::Directory(directories) = &mut self.base {
            directories.turn_to(&candidate.label);
        }
    }

    /// Direct 4 KiB writes, each with a flush, at random places. Whatever file system was on the
    /// backing is gone.
    pub fn raw_probe(&mut self, seconds: f64) -> Result<RawProbe, TargetError> {
        let length = Duration::from_secs_f64(seconds);
        if let Base::Directory(directory) = &self.base {
            return directory.here().raw_probe(length);
        }
        let path = self.claim()?;
        raw_probe::probe(&path, self.size_bytes(), length)
    }

    /// `card.*`, in about `seconds`, with `device.*` and `host.*`. Whatever file system was on the
    /// backing is gone.
    pub fn card(&mut self, seconds: f64) -> Result<Environment, TargetError> {
        let length = Duration::from_secs_f64(seconds);
        let mut facts = Environment::default();
        let flush_ns = if let Base::Directory(directories) = &self.base {
            match directories.card(length, &mut facts)? {
                Some(flush_ns) => flush_ns,
                None => return Ok(facts),
            }
        } else {
            self.put_backing(&mut facts);
            let path = self.claim()?;
            let flush_ns = card::measure(&path, self.size_bytes(), length, &mut facts)?;
            self.log_card(length, &mut facts)?;
            flush_ns
        };
        let cache = facts.get("host.write_cache").or(facts.get("device.write_cache"));
        if let Some(doubt) = card::flush_doubt(flush_ns, cache, self.kind()) {
            facts.put("card.flush_doubt", doubt);
        }
        Ok(facts)
    }

    /// `card.log_*`
    fn log_card(&mut self, length: Duration, facts: &mut Environment) -> Result<(), TargetError> {
        let Base::Device { log: Some(log), .. } = &mut self.base else { return Ok(()) };
        let mut figures = Environment::default();
        log.claim()?;
        let used = LogPlace::on(log.path());
        let flush_ns = card::measure(log.path(), used.bytes, length, &mut figures)?;
        let cache = facts.get("log_device.write_cache");
        if let Some(doubt) = card::flush_doubt(flush_ns, cache, BackingKind::Disk) {
            figures.put("card.flush_doubt", doubt);
        }
        for (key, value) in figures.0 {
            facts.put(&key.replacen('.', ".log_", 1), value);
        }
        Ok(())
    }

    /// A named one is asked again, and is ours then.
    fn claim(&mut self) -> Result<PathBuf, TargetError> {
        if let Base::Device { device, .. } = &mut self.base {
            device.claim()?;
        }
        Ok(self.device().map(Path::to_owned).unwrap_or_default())
    }

    /// `at` is made if it is not there. After an error everything is undone again;
    /// [`TargetError::skip`] tells why the candidate cannot be tried, and then nothing was
    /// touched.
    pub fn make_and_mount(
        &mut self,
        candidate: &CandidateSpec,
        at: &Path,
        log: &mut Vec<StepRecord>,
    ) -> Result<Mounted<'_>, TargetError> {
        self.turn_to(candidate);
        let row = self.check(candidate)?;
        let place = self.place(at);
        let life = plan::life(candidate, self.bed(), &place)?;
        self.repaired_bytes = 0;
        if self.bed() != Bed::Directory {
            self.helpers.make_mount_point(at)?;
        }
        let begun = carry_out::carry_out_all(&life.begin, self, log);
        let facts = begun.and_then(|()| self.facts(row, Path::new(&place.at)));
        let (environment, image) = match facts {
            Ok(facts) => facts,
            Err(error) => {
                let _ = mounted::end_all(&life.end, self, &mut Vec::new());
                return Err(error);
            }
        };
        let backing = self.backing_of(row);
        let promise = promise(row, candidate, backing);
        let directory = PathBuf::from(place.at);
        let (cool, anew, end, ended) = (life.cool, life.anew, life.end, false);
        let scratch = self;
        Ok(Mounted {
            scratch,
            directory,
            environment,
            backing,
            image,
            promise,
            cool,
            anew,
            end,
            ended,
        })
    }

    /// Everything that can be known before anything is touched.
    fn check(&self, candidate: &CandidateSpec) -> Result<Option<&'static FileSystem>, TargetError> {
        if let Base::Directory(directory) = &self.base {
            directory.here().check(candidate)?;
            return Ok(None);
        }
        let row = plan::row_of(candidate)?;
        if let Availability::Missing(missing) = availability::of(row) {
            return Err(missing.into());
        }
        let have_bytes = self.size_bytes();
        if have_bytes < row.minimum_bytes {
            return Err(Unavailable::too_small(row, have_bytes).into());
        }
        if row.ground == Ground::BlockDevice && !row.is_sized() && have_bytes < self.whole_bytes() {
            let device = self.device().unwrap_or(Path::new("the device")).display().to_string();
            let fs = row.name;
            let reason = format!("{fs} can only be made on the whole of {device}");
            return Err(Unavailable::new(reason, format!("leave the size out or {fs} out")).into());
        }
        if row.ground == Ground::Memory {
            let size = crate::fs::recipe::option_value(&candidate.mount_options, "size");
            let asked_bytes = size.and_then(memory::tmpfs_size_bytes).unwrap_or(have_bytes);
            memory::check(row.name, asked_bytes)?;
        }
        Ok(Some(row))
    }

    fn bed(&self) -> Bed {
        match &self.base {
            Base::Image(_) => Bed::Image,
            Base::Device { device, .. } => Bed::Device(device.state()),
            Base::Directory(_) => Bed::Directory,
        }
    }

    /// What a candidate gets.
    fn size_bytes(&self) -> u64 {
        self.whole_bytes().min(self.limit_bytes)
    }

    /// What there is.
    fn whole_bytes(&self) -> u64 {
        match &self.base {
            Base::Image(image) => image.size_bytes(),
            Base::Device { device, .. } => device.size_bytes(),
            Base::Directory(_) => 0,
        }
    }

    fn place(&self, at: &Path) -> Place {
        let unique_name = format!("pickfs-{:012x}", fastrand::u64(..) >> 16);
        let at = match &self.base {
            Base::Directory(directory) => directory.here().trial_folder(),
            _ => at.to_owned(),
        };
        let device = self.device().unwrap_or(Path::new("none"));
        let sector = pickfs_sys::block::BlockDevice::at(device).ok();
        let log = match &self.base {
            Base::Device { log: Some(log), .. } => Some(LogPlace::on(log.path())),
            _ => None,
        };
        Place {
            device: device.to_string_lossy().into_owned(),
            at: at.to_string_lossy().into_owned(),
            make_bytes: Some(self.limit_bytes).filter(|&limit| limit < self.whole_bytes()),
            memory_bytes: self.size_bytes(),
            sector_bytes: sector.and_then(|d| d.facts().logical_sector_bytes).unwrap_or(512),
            unique_name,
            log,
        }
    }

    fn backing_of(&self, row: Option<&FileSystem>) -> BackingKind {
        match row {
            Some(row) if row.ground == Ground::Memory => BackingKind::Memory,
            _ => self.kind(),
        }
    }

    fn facts(
        &self,
        row: Option<&'static FileSystem>,
        at: &Path,
    ) -> Result<(Environment, Option<ImageRecord>), TargetError> {
        let mut facts = Environment::default();
        environment::put_mount(&mut facts, at, row)?;
        if self.backing_of(row) == BackingKind::Memory {
            return Ok((facts, None));
        }
        self.put_backing(&mut facts);
        let repaired_bytes = self.repaired_bytes;
        let image = self.image_state()?.map(|state| ImageRecord { repaired_bytes, ..state });
        Ok((facts, image))
    }

    fn put_backing(&self, facts: &mut Environment) {
        match &self.base {
            Base::Image(image) => {
                environment::put_device(facts, "device", image.device_path());
                environment::put_host(facts, image.host());
            }
            Base::Device { device, log } => {
                environment::put_device(facts, "device", device.path());
                if let Some(log) = log {
                    environment::put_device(facts, "log_device", log.path());
                }
            }
            Base::Directory(directory) => directory.here().put_facts(facts),
        }
    }

    /// Waits until it is gone. Dropping does the same without a report.
    pub fn remove(mut self) -> Result<(), TargetError> {
        self.helpers.clear();
        match self.base {
            Base::Image(image) => image.remove(),
            Base::Device { .. } | Base::Directory(_) => Ok(()),
        }
    }
}

/// Memory under a candidate caps the durability.
pub(crate) fn promise(
    row: Option<&FileSystem>,
    candidate: &CandidateSpec,
    backing: BackingKind,
) -> Promise {
    let options = &candidate.mount_options;
    let (mut durability, mut why) = match row {
        Some(row) => row.durability(options),
        None => (Durability::PowerLoss, "as the file system of the directory is mounted"),
    };
    if backing == BackingKind::RamImage && durability > Durability::ProcessCrash {
        (durability, why) = (Durability::ProcessCrash, "the image is in memory");
    }
    Promise { durability, why: why.into(), periods: periods(row, options) }
}
