//! A recorded disk with a candidate on it.
//!
//! ```text
//! candidate    its own mkfs, its own mount options
//! /dev/loopN   direct I/O; a flush of the file system becomes an fsync of the file
//! FUSE         the recorder, a process of its own
//! ```

use std::{
    ffi::OsString,
    fs::{self, File},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use pickfs_candidate::{
    Availability, TargetError, Unavailable,
    availability::{availability, find_program},
    carry_out::{Calls, NoCalls, carry_out_all},
    fs::{FileSystem, Ground, Place, find, words},
};
use pickfs_record::{Action, CandidateSpec, StepRecord};
use pickfs_sys::loop_device::LoopDevice;
use rustix::fs::{FlockOperation, OFlags, flock};

use super::{
    error::GroundError,
    guests::Guests,
    mounting::Mounting,
    recorder::{Recorder, Source, plain_file},
    watchdog::Watchdog,
};
use crate::log::{IMAGE_BYTES_MAX, Position};

/// Longer than any recovery of an image of this size, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a session needs of its machine.
#[derive(Debug, Clone)]
pub struct Means {
    /// This program.
    pub program: PathBuf,
    /// Of ours alone; mount points are made in it and taken away again.
    pub folder: PathBuf,
    /// Where another kernel writes and mounts.
    pub guests: Option<Arc<Guests>>,
}

impl Means {
    /// Release of the kernel that writes and mounts.
    pub(crate) fn kernel(&self) -> String {
        let here = || rustix::system::uname().release().to_string_lossy().into_owned();
        self.guests.as_ref().map_or_else(here, |guests| guests.to_string())
    }
}

/// What makes and checks candidates of guests and is not installed here.
impl Calls for &Means {
    fn call(&mut self, name: &str, args: &[String]) -> Result<String, TargetError> {
        NoCalls.call(name, args)
    }

    fn brought(&self, program: &str) -> Option<Vec<OsString>> {
        Some(self.guests.as_ref()?.tools.beside(program)?.words())
    }
}

/// Dropping it takes away what is mounted, the loop device, then the recorder.
#[derive(Debug)]
pub struct Disk {
    pub(super) mounting: Mounting,
    device: Option<LoopDevice>,
    // Dropped in this order.
    pub(super) recorder: Recorder,
    _folders: Folders,
    pub(super) row: &'static FileSystem,
    pub(super) spec: CandidateSpec,
    pub(super) place: Place,
    watchdog: Watchdog,
    /// A recording: mounted twice at once, one would be taken for the other.
    _lock: Option<File>,
}

impl Drop for Disk {
    fn drop(&mut self) {
        self.watch();
        let _ = self.take_away();
    }
}

/// Mount points, of the recorder's file system and of the candidate.
#[derive(Debug)]
struct Folders([PathBuf; 2]);

impl Drop for Folders {
    fn drop(&mut self) {
        // One that is still in use stays to be seen.
        self.0.iter().for_each(|folder| drop(fs::remove_dir(folder)));
    }
}

impl Disk {
    /// The candidate is made on it.
    pub fn make(
        means: &Means,
        spec: &CandidateSpec,
        image_bytes: u64,
        log: &mut Vec<StepRecord>,
    ) -> Result<Self, GroundError> {
        let row = checked(means, spec, image_bytes)?;
        let disk = Self::on(means, row, spec, (None, image_bytes))?;
        let steps = row.make(spec, &disk.place);
        if steps.iter().any(|step| matches!(step.action, Action::Call { .. })) {
            return Err(not_here(row.name, "it takes more than programs and a mount"));
        }
        disk.watch();
        carry_out_all(&steps, &mut &*means, log)?;
        disk.mounting.forget_pages()?;
        disk.unwatch()?;
        Ok(disk)
    }

    /// A recording that was saved, perhaps by somebody else, with what its file system is mounted by. The disk had at
    /// least so many bytes, where the recording does not say it.
    pub fn of_recording(
        means: &Means,
        spec: &CandidateSpec,
        recording: &Path,
        least_bytes: u64,
    ) -> Result<Self, GroundError> {
        let row = checked(means, spec, IMAGE_BYTES_MAX)?;
        let locked = plain_file(recording).map_err(io("open", recording))?;
        if flock(&locked, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Err(unfit(row.name, "another process looks at this recording"));
        }
        let mut spec = spec.clone();
        let safe = ["nosuid", "nodev", "noexec"].iter().chain(row.of_copy);
        spec.mount_options.extend(safe.map(|option| option.to_string()));
        let source = (Some(recording.into()), least_bytes);
        let mut disk = Self::on(means, row, &spec, source)?;
        disk._lock = Some(locked);
        Ok(disk)
    }

    fn on(
        means: &Means,
        row: &'static FileSystem,
        spec: &CandidateSpec,
        source: Source,
    ) -> Result<Self, GroundError> {
        let folders = ["crash-disk", "crash-mount"].map(|name| means.folder.join(name));
        for folder in &folders {
            fs::create_dir_all(folder).map_err(io("make", folder))?;
        }
        let folders = Folders(folders);
        let recorder = Recorder::start(&means.program, &folders.0[0], source)?;
        let path = recorder.disk();
        let direct = OFlags::DIRECT.bits() as i32;
        let file = File::options().read(true).write(true).custom_flags(direct).open(&path);
        let device = LoopDevice::attach(&file.map_err(io("open", &path))?)?;
        let is_direct = device.status()?.direct_io;
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let place = Place {
            device: text(device.path()),
            at: text(&folders.0[1]),
            make_bytes: None,
            memory_bytes: 0,
            sector_bytes: 512,
            unique_name: format!("pickfs-{:012x}", fastrand::u64(..) >> 16),
            log: None,
        };
        let mounting = Mounting::of(row, spec, &place, |step| step);
        let watchdog = Watchdog::over(recorder.breaker());
        let (spec, device, _lock, _folders) = (spec.clone(), Some(device), None, folders);
        let disk = Self { mounting, device, recorder, _folders, row, spec, place, watchdog, _lock };
        if !is_direct {
            let why = "the loop device keeps pages of its own, which would hide the states";
            return Err(not_here(row.name, why));
        }
        Ok(disk)
    }

    /// From now on the disk is taken away from who waits too long for it.
    pub fn watch(&self) {
        self.watchdog.arm(PATIENCE);
    }

    /// # Errors
    /// It was taken away.
    pub fn unwatch(&self) -> Result<(), GroundError> {
        if self.watchdog.disarm() { Ok(()) } else { Err(GroundError::Stuck(PATIENCE)) }
    }

    pub fn recorder(&mut self) -> &mut Recorder {
        &mut self.recorder
    }

    /// Of the recording.
    pub(crate) fn position(&self) -> Position {
        self.recorder.position()
    }

    pub fn device(&self) -> &Path {
        &self.mounting.device
    }

    /// Where it is mounted, or would be.
    pub fn at(&self) -> &Path {
        &self.mounting.at
    }

    pub fn mount(&mut self) -> Result<(), GroundError> {
        self.mounting.mount()
    }

    /// In order, and with a report.
    pub fn end(mut self) -> Result<(), GroundError> {
        self.watch();
        self.take_away()?;
        self.recorder.end()
    }

    /// Waits: the mount point of the recorder is in use until the kernel has let go of its file.
    fn take_away(&mut self) -> Result<(), GroundError> {
        let unmounted = self.mounting.unmount();
        let detached = self.device.take().map_or(Ok(()), LoopDevice::detach);
        unmounted?;
        Ok(detached?)
    }
}

fn checked(
    means: &Means,
    spec: &CandidateSpec,
    image_bytes: u64,
) -> Result<&'static FileSystem, GroundError> {
    match (availability(&spec.fs), &means.guests) {
        (Availability::Missing(missing), None) => return Err(missing.into()),
        (_, Some(guests)) => guests.check(&spec.fs)?,
        _ => {}
    }
    words::check(spec)?;
    let mut words = spec.mount_options.iter().chain(&spec.mkfs_options);
    if let Some(word) = words.find(|word| word.contains("panic")) {
        return Err(unfit(&spec.fs, format!("`{word}` ends this machine where one is damaged")));
    }
    let row = find(&spec.fs).filter(|row| row.ground == Ground::BlockDevice);
    let row = row.ok_or_else(|| not_here(&spec.fs, "it lives on no disk"))?;
    if let Some(name) = row.replayer.split(' ').next().filter(|name| !name.is_empty()) {
        if find_program(name).is_none() && means.brought(name).is_none() {
            return Err(not_here(
                row.name,
                format!("{name}, which replays its journal, is not here"),
            ));
        }
    }
    if image_bytes < row.minimum_bytes {
        return Err(Unavailable::too_small(row, image_bytes).into());
    }
    if image_bytes > IMAGE_BYTES_MAX {
        let why = format!("a disk has at most {IMAGE_BYTES_MAX} bytes; ask for a smaller one");
        return Err(unfit(row.name, why));
    }
    Ok(row)
}

fn unfit(fs: &str, why: impl Into<String>) -> GroundError {
    GroundError::Unfit { fs: fs.into(), why: why.into() }
}

pub(super) fn not_here(fs: &str, why: impl Into<String>) -> GroundError {
    GroundError::NotHere { fs: fs.into(), why: why.into() }
}

fn io(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> GroundError {
    let path = path.to_owned();
    move |cause| GroundError::Io { what, path, cause }
}
