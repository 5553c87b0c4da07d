//! What every guest of a run is started with: the worker, a folder for small files, the rate of the
//! TSC, deadlines.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use pickfs_guest::{
    Boot, Deadlines, Engine, FirstFiles, Guest, GuestError, Kernel, Order, PackageCache, Start,
    engine::modules_for, guest_tools,
};
use pickfs_model::Action;
use pickfs_sys::tsc;
use pickfs_target::{GuestImage, availability::find_program, guest_image::Inside};

use crate::guest_folder::GuestFolder;

/// Where a guest mounts its candidate.
pub const MOUNTED_AT: &str = "/mnt/target";
/// Memory of a guest, beside what a file system in memory may hold.
const MEMORY_BYTES: u64 = 512 << 20;
/// How long the host's own reading of the TSC's rate takes.
const RATE_LENGTH: Duration = Duration::from_millis(200);

/// Starts guests.
pub struct GuestBoot {
    worker: PathBuf,
    folder: GuestFolder,
    tsc_hz: Option<f64>,
    deadlines: Deadlines,
}

impl GuestBoot {
    /// Ready to start guests with this worker.
    ///
    /// # Errors
    /// When the folder for small files cannot be made.
    pub fn new(worker: &Path) -> std::io::Result<GuestBoot> {
        let folder = GuestFolder::make()?;
        let tsc_hz = tsc::is_a_clock().then(|| tsc::rate_hz(RATE_LENGTH));
        Ok(GuestBoot { worker: worker.into(), folder, tsc_hz, deadlines: Deadlines::default() })
    }

    /// Boots a kernel over the image and mounts the candidate that was made on it.
    ///
    /// # Errors
    /// [`GuestError`]; nothing of the guest is left then.
    pub fn boot(
        &self,
        engine: &'static dyn Engine,
        kernel: &Kernel,
        image: &GuestImage,
        inside: &Inside,
        stop: &dyn Fn() -> bool,
    ) -> Result<Guest, GuestError> {
        let (programs, foreign) = programs_of(inside)?;
        let files = FirstFiles {
            worker: self.worker.clone(),
            programs,
            foreign,
            early: kernel.modules.with_needed(engine.channel_modules()),
            modules: kernel.modules.with_needed(&modules_for(&inside.kernel_types)),
        };
        let boot = Boot {
            first_files: self.folder.path().join("first-files.cpio"),
            disk: inside.needs_disk.then(|| image.path().to_owned()),
            memory_bytes: memory_bytes(image, inside),
            folder: self.folder.path().to_owned(),
        };
        files.write(&boot.first_files)?;
        let order = Order {
            modules: files.modules_inside(),
            disk: inside.needs_disk.then(|| engine.disk_inside().to_owned()),
            make: inside.make.clone(),
            mount: inside.mount.clone(),
            unmount: inside.unmount.clone(),
            at: MOUNTED_AT.into(),
            tsc_hz: self.tsc_hz.filter(|_| engine.shares_tsc()),
        };
        let worker = self.worker.as_path();
        let deadlines = Deadlines { factor: self.deadlines.factor * engine.slowness() };
        Guest::boot(&Start { engine, kernel, boot: &boot, worker, deadlines, stop }, order)
    }
}

/// Programs of the host, and of trees, that the steps run.
type Programs = (Vec<PathBuf>, Vec<(PathBuf, PathBuf)>);

fn programs_of(inside: &Inside) -> Result<Programs, GuestError> {
    let steps = inside.make.iter().chain(&inside.mount).chain(&inside.unmount);
    let mut names: Vec<&str> = steps
        .filter_map(|step| match step {
            Action::Exec { program, .. } => Some(program.as_str()),
            _ => None,
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    let (mut programs, mut foreign) = Programs::default();
    for name in names {
        match guest_tools::of(name) {
            Some(tool) => foreign.push(tool.get(&PackageCache::open_default()?)?),
            None => programs.extend(find_program(name)),
        }
    }
    Ok((programs, foreign))
}

fn memory_bytes(image: &GuestImage, inside: &Inside) -> u64 {
    match inside.needs_disk {
        // OpenZFS keeps a cache of its own beside the kernel's.
        true if inside.kernel_types.contains(&"zfs") => 2 * MEMORY_BYTES,
        true => MEMORY_BYTES,
        false => MEMORY_BYTES + image.size_bytes(),
    }
}
