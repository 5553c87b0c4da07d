use std::{
    os::fd::AsRawFd,
    path::{Path, PathBuf},
};

use crate::{
    Boot, Engine, FirstFiles, Guest, GuestError, Kernel, Order, Start,
    engine::{CHANNEL_MODULES, DISK_INSIDE},
};
use pickfs_candidate::{
    availability::find_program,
    fs::{FileSystem, Formatter, Ground},
    guest_image::Inside,
};

use pickfs_record::Action;
use rustix::fs::{MemfdFlags, memfd_create};

use super::kernels::Tools;

pub const MOUNTED_AT: &str = "/mnt/target";
/// Memory of a guest, beside what a file system in memory may hold.
const MEMORY_BYTES: u64 = 512 << 20;

pub struct Machinery<'a> {
    pub engine: Engine,
    pub kernel: &'a Kernel,
    pub tools: &'a Tools,
    pub disk: &'a Path,
    pub worker: &'a Path,
    /// By name, of this machine or of a package that made one of its file systems; what is nowhere stays out.
    pub programs: &'a [&'a str],
    pub processors: usize,
    /// Where it is not the usual.
    pub memory_bytes: Option<u64>,
}

/// Its first files are in memory while it starts, so nothing of it is left behind whatever ends us.
pub fn boot(
    machinery: &Machinery<'_>,
    rows: &[&FileSystem],
    stop: &dyn Fn() -> bool,
) -> Result<Guest, GuestError> {
    let &Machinery { engine, kernel, tools, disk, worker, processors, memory_bytes, .. } =
        machinery;
    let (mut programs, mut foreign) = programs_of(rows, tools);
    for name in machinery.programs {
        match find_program(name) {
            Some(program) => programs.push(program),
            None => foreign.extend(tools.beside(name).map(|tool| (tool.tree, tool.path))),
        }
    }
    let files = FirstFiles {
        worker: worker.to_owned(),
        programs,
        foreign,
        early: kernel.modules.with_needed(CHANNEL_MODULES),
        modules: modules_of(rows, kernel),
    };
    // The engine inherits it.
    let memory = memfd_create("pickfs-first-files", MemfdFlags::empty()).map_err(|cause| {
        GuestError::NotStarted { program: worker.to_owned(), cause: cause.into() }
    })?;
    let boot = Boot {
        first_files: format!("/proc/self/fd/{}", memory.as_raw_fd()).into(),
        disk: Some(disk.to_owned()),
        memory_bytes: memory_of(rows, disk, memory_bytes),
        processors,
    };
    files.write(&boot.first_files)?;
    Guest::boot(&Start {
        engine,
        kernel,
        boot: &boot,
        worker,
        stretched_by: engine.slowness(),
        stop,
    })
}

pub fn order_of(row: &FileSystem, inside: &Inside, kernel: &Kernel) -> Order {
    let steps = (inside.mount.clone(), inside.unmount.clone());
    let disk = inside.needs_disk.then(|| DISK_INSIDE.to_owned());
    Order { disk, make: inside.make.clone(), ..mount_order(row, steps, kernel) }
}

/// For what is made already.
pub fn mount_order(
    row: &FileSystem,
    (mount, unmount): (Vec<Action>, Vec<Action>),
    kernel: &Kernel,
) -> Order {
    let modules = FirstFiles { modules: modules_of(&[row], kernel), ..FirstFiles::default() };
    Order {
        fs: row.name.into(),
        modules: modules.modules_inside(),
        disk: Some(DISK_INSIDE.to_owned()),
        make: Vec::new(),
        mount,
        unmount,
        at: MOUNTED_AT.into(),
    }
}

fn modules_of(rows: &[&FileSystem], kernel: &Kernel) -> Vec<PathBuf> {
    let modules = |row: &&FileSystem| {
        row.guest.modules_before.iter().copied().chain(row.guest_modules()).collect::<Vec<_>>()
    };
    kernel.modules.with_needed(&rows.iter().flat_map(modules).collect::<Vec<_>>())
}

/// Programs of the host, and of trees, that run in the guest: those that serve a mount, and those that make what
/// only a guest makes.
fn programs_of(rows: &[&FileSystem], tools: &Tools) -> (Vec<PathBuf>, Vec<(PathBuf, PathBuf)>) {
    let (mut programs, mut foreign) = (Vec::new(), Vec::new());
    for row in rows {
        let formatter = match row.formatter {
            Formatter::Packaged(program) if row.is_made_inside() => Some(program),
            _ => None,
        };
        for program in formatter.iter().chain(row.helpers) {
            match tools.of(program.name) {
                Some(tool) => foreign.push((tool.tree.clone(), tool.path.clone())),
                None => programs.extend(find_program(program.name)),
            }
        }
    }
    (programs, foreign)
}

/// What lives in memory is as large as the disk.
fn memory_of(rows: &[&FileSystem], disk: &Path, asked: Option<u64>) -> u64 {
    let in_memory = rows.iter().any(|row| row.ground == Ground::Memory);
    let caches = rows.iter().any(|row| row.guest.has_own_cache);
    let of_files = disk.metadata().ok().filter(|_| in_memory).map_or(0, |facts| facts.len());
    of_files + asked.unwrap_or(MEMORY_BYTES + if caches { MEMORY_BYTES } else { 0 })
}
