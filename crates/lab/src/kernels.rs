//! The kernels of a run's guests: one for each engine and level of `guest.kernel`, fetched before
//! anything is made. A file system that a kernel of these lacks is left out with the reason.

use std::collections::{HashMap, hash_map::Entry};

use pickfs_guest::{Ask, Engine, GuestError, Kernel, PackageCache, rebuilt};
use pickfs_model::{Cell, record::SkippedCell};
use pickfs_target::{fs, knob::KERNEL};

use crate::{
    engines::{Gap, engine_of},
    expand::Expansion,
};

/// Types whose driver must have been built anew for the very release of a kernel.
const REBUILT: &[&str] = &["ufs", "reiserfs35", "zfs"];

/// Kernels by engine and level.
#[derive(Default)]
pub struct Kernels(HashMap<Key, Kernel>);

type Key = (&'static str, Option<String>);

fn key(engine: &'static dyn Engine, cell: &Cell) -> Key {
    (engine.name(), cell.knobs.get(KERNEL).cloned())
}

impl Kernels {
    /// The kernels that these cells run under; `ask` is asked before one is fetched.
    ///
    /// # Errors
    /// When one cannot be had; the error names those that can.
    pub fn fetch(cells: &[Cell], ask: Option<Ask>) -> Result<Self, GuestError> {
        let mut kernels = HashMap::new();
        for cell in cells {
            let Some(engine) = engine_of(cell) else { continue };
            if let Entry::Vacant(vacant) = kernels.entry(key(engine, cell)) {
                let cache = PackageCache::open_default()?;
                let cache = ask.iter().cloned().fold(cache, PackageCache::asking);
                let level = cell.knobs.get(KERNEL).map(String::as_str);
                vacant.insert(engine.kernel(&cache, level)?);
            }
        }
        Ok(Self(kernels))
    }

    /// What a cell runs under; `None` on this machine's own kernel.
    pub fn of(&self, cell: &Cell) -> Option<(&'static dyn Engine, &Kernel)> {
        let engine = engine_of(cell)?;
        Some((engine, self.0.get(&key(engine, cell))?))
    }

    /// Leaves out what a kernel cannot mount. Levels that are the same kernel stay: they are the plan's own wish.
    pub fn leave_out(&self, expansion: &mut Expansion) {
        for cell in std::mem::take(&mut expansion.cells) {
            match self.of(&cell).and_then(|(_, kernel)| gap(&cell.candidate.fs, kernel)) {
                Some((reason, remedy)) => {
                    expansion.skipped.push(SkippedCell { cell, reason, remedy });
                }
                None => expansion.cells.push(cell),
            }
        }
    }
}

/// Why a kernel cannot mount a file system, as far as its modules tell.
pub(crate) fn gap(name: &str, kernel: &Kernel) -> Option<Gap> {
    let lacks = |kind: &&str| match REBUILT.contains(kind) {
        true => !rebuilt::is_there(kind, &kernel.release),
        // The driver of ext4 serves ext2 where there is none of its own.
        false if *kind == "ext2" => ["ext2", "ext4"].iter().all(|one| kernel.modules.lacks(one)),
        false => module_of(kind).is_some_and(|module| kernel.modules.lacks(module)),
    };
    let lacking = fs::find(name)?.types_in_a_guest().into_iter().find(lacks)?;
    let reason =
        format!("kernel {} of the guest has no writable file system {lacking}", kernel.release);
    Some((reason, "leave guest.kernel out, or name another".into()))
}

/// The module of a type; `None` for what every kernel has.
fn module_of(fs_type: &str) -> Option<&str> {
    match fs_type {
        "tmpfs" | "ramfs" => None,
        "ext3" => Some("ext4"),
        "fuseblk" => Some("fuse"),
        other => Some(other),
    }
}

#[cfg(test)]
mod tests {
    use pickfs_guest::modules::ModuleTree;

    use super::*;

    fn kernel_with(modules: &str, built_in: &str) -> (tempfile::TempDir, Kernel) {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("modules.dep"), modules).expect("written");
        std::fs::write(folder.path().join("modules.builtin"), built_in).expect("written");
        let kernel = Kernel {
            release: "7.2.7".into(),
            package: "k 7.2um1".into(),
            image: "/k".into(),
            runner: Vec::new(),
            modules: ModuleTree::read(folder.path()).expect("a tree"),
        };
        (folder, kernel)
    }

    #[test]
    fn the_driver_of_ext4_serves_ext2_too() {
        let (_kept, stock) = kernel_with("kernel/fs/ext4/ext4.ko:\n", "kernel/lib/crc16.ko\n");
        assert_eq!(gap("ext2", &stock), None);
        let (_kept, neither) = kernel_with("kernel/fs/xfs/xfs.ko:\n", "kernel/lib/crc16.ko\n");
        assert!(gap("ext2", &neither).is_some());
    }

    #[test]
    fn what_left_the_kernel_is_left_out_with_the_release() {
        let (_kept, kernel) = kernel_with("kernel/fs/fat/vfat.ko:\n", "kernel/fs/ext4/ext4.ko\n");
        let reason = gap("reiserfs-3.6", &kernel).expect("a gap").0;
        assert!(reason.contains("7.2.7") && reason.contains("reiserfs"), "{reason}");
        for name in ["ext3", "ext4", "fat32", "tmpfs"] {
            assert_eq!(gap(name, &kernel), None, "{name}");
        }
        assert!(gap("ufs", &kernel).is_some(), "no module was rebuilt for it");
    }
}
