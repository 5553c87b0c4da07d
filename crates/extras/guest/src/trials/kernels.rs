//! The kernels of a run's guests, one for each engine and level of `guest.kernel`, and the programs of their file
//! systems that this machine has not installed: fetched before anything is made. What cannot be had, or what a
//! kernel lacks, is left out with the reason.

use std::{
    collections::{BTreeMap, HashMap, hash_map::Entry},
    ffi::OsString,
};

use crate::{
    Ask, Engine, GuestError, Kernel, PackageCache, Tool, kvm, packages::PackageError, qemu_program,
    rebuilt,
};
use pickfs_candidate::{
    GuestImage,
    availability::to_be_brought,
    fs::{self, FileSystem, Support},
    knob::{KERNEL, OF_GUESTS},
};
use pickfs_record::{Cell, Plan, record::SkippedCell};

use super::{engine_of, stage::Guests};
use pickfs_lab::{
    engines::{self, Gap, GuestStage, NATIVE},
    expand::Expansion,
    machine::Means,
};

#[derive(Default)]
pub struct Kernels {
    kernels: HashMap<Key, Kernel>,
    tools: Tools,
}

type Key = (Engine, Option<String>);

fn key(engine: Engine, cell: &Cell) -> Key {
    (engine, cell.knobs.get(KERNEL).cloned())
}

/// QEMU alone can tell whether KVM runs a guest here, so it is fetched before engines are chosen, where KVM may do
/// and the plan asks for a guest. That it cannot be had is told when it is needed.
pub fn bring_qemu(plan: &Plan, ask: Ask) {
    let varies = plan.axes.iter().any(|axis| OF_GUESTS.contains(&axis.name.as_str()));
    let set = |knob| plan.params.get(knob).is_some_and(|value| value != NATIVE);
    if (varies || OF_GUESTS.into_iter().any(set)) && kvm::obstacle().is_none() {
        let cache = PackageCache::open_default().map(|cache| cache.asking(ask));
        let _ = cache.and_then(|cache| qemu_program::get(&cache));
    }
}

impl Kernels {
    /// What these cells run under and are made by; `ask` is asked before something is fetched.
    ///
    /// # Errors
    /// When a kernel cannot be had; the error names those that can.
    pub fn fetch(cells: &[Cell], ask: Option<Ask>) -> Result<Self, GuestError> {
        let mut all = Self::default();
        for cell in cells {
            let Some(engine) = engine_of(cell) else { continue };
            let cache = PackageCache::open_default()?;
            let cache = ask.iter().cloned().fold(cache, PackageCache::asking);
            if let Entry::Vacant(vacant) = all.kernels.entry(key(engine, cell)) {
                let level = cell.knobs.get(KERNEL).map(String::as_str);
                vacant.insert(engine.kernel(&cache, level)?);
            }
            if let Some(row) = fs::find(&cell.candidate.fs) {
                all.tools.want(&cache, row)?;
            }
        }
        Ok(all)
    }

    pub fn of(&self, cell: &Cell) -> Option<(Engine, &Kernel)> {
        let engine = engine_of(cell)?;
        Some((engine, self.kernels.get(&key(engine, cell))?))
    }

    pub fn tools(&self) -> &Tools {
        &self.tools
    }
}

impl engines::Kernels for Kernels {
    /// Levels that are the same kernel stay: they are the plan's own wish.
    fn leave_out(&self, expansion: &mut Expansion) {
        let of_row = |cell: &Cell, kernel| {
            let row = fs::find(&cell.candidate.fs)?;
            gap(row, kernel).or_else(|| self.tools.gap(row))
        };
        for cell in std::mem::take(&mut expansion.cells) {
            match self.of(&cell).and_then(|(_, kernel)| of_row(&cell, kernel)) {
                Some((reason, remedy)) => {
                    expansion.skipped.push(SkippedCell { cell, reason, remedy });
                }
                None => expansion.cells.push(cell),
            }
        }
    }

    fn stage(self: Box<Self>, means: Means, image: GuestImage) -> Box<dyn GuestStage> {
        Box::new(Guests::new(means, image, *self))
    }
}

/// Programs by name: unpacked, or why they cannot be had.
#[derive(Debug, Default)]
pub struct Tools(BTreeMap<&'static str, Result<Tool, String>>);

impl Tools {
    pub fn want(&mut self, cache: &PackageCache, row: &FileSystem) -> Result<(), PackageError> {
        for program in to_be_brought(row) {
            if !self.0.contains_key(program.name) {
                let tool = match Tool::get(cache, program.name, program.package) {
                    Err(refused @ PackageError::Refused { .. }) => return Err(refused),
                    tool => tool.map_err(|error| error.to_string()),
                };
                self.0.insert(program.name, tool);
            }
        }
        Ok(())
    }

    pub(crate) fn gap(&self, row: &FileSystem) -> Option<Gap> {
        let failed = |name| self.0.get(name)?.as_ref().err().map(|why| (name, why.clone()));
        let (name, why) = to_be_brought(row).into_iter().find_map(|one| failed(one.name))?;
        Some((format!("{name} cannot be had: {why}"), "install its package".into()))
    }

    pub(crate) fn of(&self, name: &str) -> Option<&Tool> {
        self.0.get(name)?.as_ref().ok()
    }

    /// A program that came with one of these.
    pub fn beside(&self, program: &str) -> Option<Tool> {
        self.0.values().flatten().find_map(|tool| tool.beside(program))
    }

    pub(crate) fn words(&self) -> impl Iterator<Item = (String, Vec<OsString>)> + '_ {
        let tools = self.0.iter().filter_map(|(name, tool)| Some((*name, tool.as_ref().ok()?)));
        tools.map(|(name, tool)| (name.to_owned(), tool.words()))
    }
}

pub(crate) fn gap(row: &FileSystem, kernel: &Kernel) -> Option<Gap> {
    let (fs_type, modules) = (row.type_in_a_guest(), row.guest_modules());
    let is_lacking = match row.guest.support {
        Support::Rebuilt => !rebuilt::is_there(fs_type, &kernel.release),
        _ => !modules.is_empty() && modules.iter().all(|one| kernel.modules.lacks(one)),
    };
    let reason =
        || format!("kernel {} of the guest has no writable file system {fs_type}", kernel.release);
    is_lacking.then(|| (reason(), "leave guest.kernel out, or name another".into()))
}

#[cfg(test)]
mod tests {
    use crate::modules::ModuleTree;

    use super::*;

    fn kernel_with(module: &str, built_in: &str) -> (tempfile::TempDir, Kernel) {
        let folder = tempfile::tempdir().expect("a folder");
        let tree = folder.path().join("kernel");
        std::fs::create_dir(&tree).expect("made");
        std::fs::write(tree.join(module), "").expect("written");
        std::fs::write(folder.path().join("modules.builtin"), built_in).expect("written");
        let kernel = Kernel {
            release: "7.2.7".into(),
            package: "k 7.2".into(),
            image: "/k".into(),
            qemu: Vec::new(),
            modules: ModuleTree::scan(&tree, folder.path()).expect("a tree"),
        };
        (folder, kernel)
    }

    fn gap_of(name: &str, kernel: &Kernel) -> Option<Gap> {
        gap(fs::find(name).expect("a row"), kernel)
    }

    #[test]
    fn a_program_that_cannot_be_had_leaves_its_row_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = PackageCache::at(folder.path());
        let tree = folder.path().join("packages/zfsutils-linux+set_1");
        std::fs::create_dir_all(tree).expect("made");
        let (zfs, mut tools) = (fs::find("zfs").expect("a row"), Tools::default());
        tools.want(&cache, zfs).expect("not refused");
        let reason = tools.gap(zfs).expect("a gap").0;
        assert!(reason.starts_with("zpool cannot be had: zfsutils-linux"), "{reason}");
        assert_eq!(tools.gap(fs::find("tmpfs").expect("a row")), None);
        assert!(tools.of("zpool").is_none() && tools.words().count() == 0);
    }

    #[test]
    fn the_driver_of_ext4_serves_ext2_too() {
        let (_kept, stock) = kernel_with("ext4.ko", "kernel/lib/crc16.ko\n");
        assert_eq!(gap_of("ext2", &stock), None);
        let (_kept, neither) = kernel_with("xfs.ko", "kernel/lib/crc16.ko\n");
        assert!(gap_of("ext2", &neither).is_some());
    }

    #[test]
    fn what_left_the_kernel_is_left_out_with_the_release() {
        let (_kept, kernel) = kernel_with("vfat.ko", "kernel/fs/ext4/ext4.ko\n");
        let reason = gap_of("reiserfs-3.6", &kernel).expect("a gap").0;
        assert!(reason.contains("7.2.7") && reason.contains("reiserfs"), "{reason}");
        for name in ["ext3", "ext4", "fat32", "tmpfs"] {
            assert_eq!(gap_of(name, &kernel), None, "{name}");
        }
        assert!(gap_of("ufs", &kernel).is_some(), "no module was rebuilt for it");
    }
}
