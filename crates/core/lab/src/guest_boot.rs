use std::path::{Path, PathBuf};

use pickfs_candidate::{
    GuestImage,
    availability::find_program,
    fs::{FileSystem, Formatter, Ground},
    guest_image::Inside,
};
use pickfs_guest::{
    Boot, Deadlines, Engine, FirstFiles, Guest, GuestError, Kernel, Order, Start,
    engine::{CHANNEL_MODULES, DISK_INSIDE, modules_for},
};

use crate::{guest_folder::GuestFolder, kernels::Tools};

pub const MOUNTED_AT: &str = "/mnt/target";
/// Memory of a guest, beside what a file system in memory may hold.
const MEMORY_BYTES: u64 = 512 << 20;

pub struct GuestBoot {
    worker: PathBuf,
    folder: GuestFolder,
}

pub struct Machinery<'a> {
    pub engine: Engine,
    pub kernel: &'a Kernel,
    pub tools: &'a Tools,
    pub image: &'a GuestImage,
    pub processors: usize,
}

impl GuestBoot {
    pub fn new(worker: &Path) -> std::io::Result<GuestBoot> {
        Ok(GuestBoot { worker: worker.into(), folder: GuestFolder::make()? })
    }

    pub fn boot(
        &self,
        machinery: &Machinery<'_>,
        rows: &[&dyn FileSystem],
        stop: &dyn Fn() -> bool,
    ) -> Result<Guest, GuestError> {
        let &Machinery { engine, kernel, tools, image, processors } = machinery;
        let (programs, foreign) = programs_of(rows, tools);
        let files = FirstFiles {
            worker: self.worker.clone(),
            programs,
            foreign,
            early: kernel.modules.with_needed(CHANNEL_MODULES),
            modules: modules_of(rows, kernel),
        };
        let boot = Boot {
            first_files: self.folder.path().join("first-files.cpio"),
            disk: Some(image.path().to_owned()),
            memory_bytes: memory_bytes(rows, image),
            processors,
        };
        files.write(&boot.first_files)?;
        let deadlines = Deadlines { factor: engine.slowness() };
        Guest::boot(&Start { engine, kernel, boot: &boot, worker: &self.worker, deadlines, stop })
    }
}

pub fn order_of(row: &dyn FileSystem, inside: &Inside, kernel: &Kernel) -> Order {
    let modules = FirstFiles { modules: modules_of(&[row], kernel), ..FirstFiles::default() };
    Order {
        modules: modules.modules_inside(),
        disk: inside.needs_disk.then(|| DISK_INSIDE.to_owned()),
        make: inside.make.clone(),
        mount: inside.mount.clone(),
        unmount: inside.unmount.clone(),
        at: MOUNTED_AT.into(),
    }
}

fn modules_of(rows: &[&dyn FileSystem], kernel: &Kernel) -> Vec<PathBuf> {
    let types: Vec<&str> = rows.iter().flat_map(|row| row.types_in_a_guest()).collect();
    kernel.modules.with_needed(&modules_for(&types))
}

/// Programs of the host, and of trees, that run in the guest: those that serve a mount, and those that make what
/// only a guest makes.
fn programs_of(rows: &[&dyn FileSystem], tools: &Tools) -> (Vec<PathBuf>, Vec<(PathBuf, PathBuf)>) {
    let (mut programs, mut foreign) = (Vec::new(), Vec::new());
    for row in rows {
        let needs = row.needs();
        let formatter = match needs.formatter {
            Formatter::Packaged(program) if row.is_made_inside() => Some(program),
            _ => None,
        };
        for program in formatter.iter().chain(needs.helpers) {
            match tools.of(program.name) {
                Some(tool) => foreign.push((tool.tree.clone(), tool.path.clone())),
                None => programs.extend(find_program(program.name)),
            }
        }
    }
    (programs, foreign)
}

fn memory_bytes(rows: &[&dyn FileSystem], image: &GuestImage) -> u64 {
    let in_memory = rows.iter().any(|row| row.needs().ground == Ground::Memory);
    // OpenZFS keeps a cache of its own beside the kernel's.
    let zfs = rows.iter().any(|row| row.types_in_a_guest().contains(&"zfs"));
    let of_files = if in_memory { image.size_bytes() } else { 0 };
    MEMORY_BYTES + of_files + if zfs { MEMORY_BYTES } else { 0 }
}
