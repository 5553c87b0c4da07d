//! Whether this machine can try a file system, and what would help if not. Asks the kernel and
//! PATH; writes nothing. A module that is on disk and not loaded counts as there: mounting loads
//! it.

use std::path::{Path, PathBuf};

use pickfs_record::{closest::closest, quantity::bytes_text, typed::program};
use pickfs_sys::mount;
use thiserror::Error;

use crate::fs::{self, FileSystem, Formatter, Program};
use crate::packages::Family;

const SYSTEM_FOLDERS: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Availability {
    Ready,
    Missing(Unavailable),
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{reason}; {remedy}")]
pub struct Unavailable {
    pub reason: String,
    /// A package, a module, another kernel.
    pub remedy: String,
    /// Packages, as this distribution calls them, that hold what is missing; empty where no package helps.
    pub packages: Vec<&'static str>,
}

impl Unavailable {
    pub(crate) fn new(reason: String, remedy: impl Into<String>) -> Self {
        Self { reason, remedy: remedy.into(), packages: Vec::new() }
    }

    pub fn too_small(row: &FileSystem, have_bytes: u64) -> Self {
        let [least, has] = [row.minimum_bytes, have_bytes].map(bytes_text);
        let reason = format!("{} needs at least {least}, the scratch has {has}", row.name);
        Self::new(reason, "ask for a larger one")
    }
}

pub fn availability(name: &str) -> Availability {
    match fs::find(name) {
        Some(row) => of(row),
        None => {
            let reason = format!("file system `{name}` not known");
            Availability::Missing(Unavailable::new(reason, meant(name)))
        }
    }
}

pub(crate) fn meant(name: &str) -> String {
    let names = fs::names();
    // `reiserfs` is the stem of `reiserfs-3.6`.
    let has_stem = |known: &&str| closest(name, known.split('-').next()).is_some();
    let meant = closest(name, names.iter().copied());
    match meant.or_else(|| names.iter().copied().find(has_stem)) {
        Some(meant) => format!("did you mean `{meant}`? {} doctor lists all", program()),
        None => format!("known are {}", names.join(", ")),
    }
}

pub fn of(row: &FileSystem) -> Availability {
    let programs = || programs(row).find_map(|program| program_gap(&program));
    kernel_gap(row).or_else(programs).map_or(Availability::Ready, Availability::Missing)
}

fn kernel_gap(row: &FileSystem) -> Option<Unavailable> {
    let known = mount::known_types().unwrap_or_default();
    let is_known = known.iter().any(|one| one == row.kernel_type);
    (!is_known && !module_on_disk(row.kernel_type)).then(|| Unavailable {
        reason: format!("this kernel has no file system {}", row.kernel_type),
        remedy: row.kernel_remedy(),
        packages: Vec::new(),
    })
}

/// Those of a guest that are not on this machine, so that they must be fetched. What a guest makes
/// itself, it makes by a fetched tool.
pub fn to_be_brought(row: &FileSystem) -> Vec<Program> {
    let is_wanted = |one: &Program| row.is_made_inside() || find_program(one.name).is_none();
    programs(row).filter(is_wanted).collect()
}

fn programs(row: &FileSystem) -> impl Iterator<Item = Program> {
    let formatter = match row.formatter {
        Formatter::Packaged(program) => Some(program),
        Formatter::None | Formatter::Own => None,
    };
    formatter.into_iter().chain(row.helpers.iter().copied())
}

fn program_gap(program: &Program) -> Option<Unavailable> {
    if find_program(program.name).is_some() {
        return None;
    }
    Some(lack_of(program, Family::here()))
}

fn lack_of(program: &Program, family: Family) -> Unavailable {
    let of_debian = program.package;
    let (key, more) = of_debian.split_at(of_debian.find(' ').unwrap_or(of_debian.len()));
    let name = family.name(key);
    let remedy = match name {
        Some(name) if family == Family::Debian => format!("install {name}{more}"),
        Some(name) => format!("install {name}"),
        None => format!("no package of this distribution has it; Debian's is {of_debian}"),
    };
    let reason = format!("{} not found", program.name);
    Unavailable { reason, remedy, packages: name.into_iter().collect() }
}

/// The module of this type lies in the running kernel's folder, so a mount can load it.
fn module_on_disk(fs_type: &str) -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let folder = Path::new("/lib/modules").join(release.trim());
    let listed = |list: &str| {
        let text = std::fs::read_to_string(folder.join(list)).unwrap_or_default();
        module_listed(&text, fs_type)
    };
    listed("modules.dep") || listed("modules.builtin")
}

/// A line of modules.dep begins with the module's path; see modules.dep(5).
fn module_listed(list: &str, name: &str) -> bool {
    let stem = |line: &str| {
        let path = line.split(':').next().unwrap_or_default();
        let file = path.rsplit('/').next().unwrap_or_default();
        file.split('.').next().unwrap_or_default().replace('-', "_")
    };
    list.lines().any(|line| stem(line) == name.replace('-', "_"))
}

/// PATH first, then the folders of system programs.
pub fn find_program(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Path::new(name).is_file().then(|| name.into());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(SYSTEM_FOLDERS.iter().map(PathBuf::from));
    folders.map(|folder| folder.join(name)).find(|candidate| candidate.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(name: &str) -> Unavailable {
        match availability(name) {
            Availability::Missing(missing) => missing,
            Availability::Ready => panic!("{name} is ready"),
        }
    }

    #[test]
    fn a_missing_program_names_its_package() {
        let program = Program { name: "mkfs.nosuch", package: "nosuch-tools (contrib)" };
        let gap = lack_of(&program, Family::Debian);
        assert_eq!(gap.to_string(), "mkfs.nosuch not found; install nosuch-tools (contrib)");
        assert_eq!(gap.packages, ["nosuch-tools"]);
        let gap = lack_of(&program, Family::Alpine);
        assert!(
            gap.remedy.starts_with("no package of this distribution") && gap.packages.is_empty()
        );
        let program = Program { name: "mkfs.btrfs", package: "btrfs-progs" };
        let gap = lack_of(&program, Family::Suse);
        assert_eq!(gap.to_string(), "mkfs.btrfs not found; install btrfsprogs");
        assert_eq!(gap.packages, ["btrfsprogs"]);
    }

    #[test]
    fn an_unknown_name_is_told_with_the_one_that_was_meant() {
        assert!(missing("ext5").remedy.starts_with("did you mean `ext4`?"));
        assert!(missing("reiser5").remedy.starts_with("did you mean `reiserfs-3."));
        assert!(missing("squirrelfs").remedy.starts_with("known are ext4, xfs, "));
    }

    #[test]
    fn what_we_make_ourselves_needs_no_program() {
        for name in ["hpfs", "affs", "hfsplus", "hfsx", "ufs", "ufs2"] {
            let row = fs::find(name).unwrap();
            assert_eq!((row.formatter, programs(row).count()), (Formatter::Own, 0), "{name}");
        }
    }

    #[test]
    fn modules_are_found_by_the_stem_of_their_file() {
        let list =
            "kernel/fs/nilfs2/nilfs2.ko:\nkernel/fs/xfs/xfs.ko.xz: kernel/lib/libcrc32c.ko\n";
        assert!(module_listed(list, "xfs") && module_listed(list, "nilfs2"));
        assert!(!module_listed(list, "libcrc32c") && !module_listed(list, "fs"));
    }
}
