//! The first file system of a guest: the worker as its first program, modules, and whatever
//! programs a mount needs. The kernel unpacks it into memory before anything runs: cpio in its `newc` form
//! (`Documentation/driver-api/early-userspace/buffer-format.rst`), not compressed, as it has nothing to unpack then.
//!
//! ```text
//! /init              the worker; as process 1 it is the agent (crate worker)
//! /lib/..., /lib64/  its interpreter and libraries, where it is not static
//! /pickfs/early      modules that the channel itself needs, one path a line
//! /pickfs/modules/   modules
//! /dev/console       so that a panic before anything else has a place to be told
//! ```

use std::{
    collections::BTreeSet,
    io::{self, Write},
    path::{Path, PathBuf},
};

use crate::program_files::{ProgramError, ProgramFile, program_files, program_files_of_tree};
use cpio::newc::{Builder, trailer};

#[derive(Debug, Clone, Default)]
pub struct FirstFiles {
    pub worker: PathBuf,
    pub programs: Vec<PathBuf>,
    /// The tree, and the program below it.
    pub foreign: Vec<(PathBuf, PathBuf)>,
    /// Those that the channel needs, in order.
    pub early: Vec<PathBuf>,
    pub modules: Vec<PathBuf>,
}

const MODULES: &str = "/pickfs/modules";
pub const EARLY_LIST: &str = "/pickfs/early";
const FOLDERS: &[&str] = &["dev", "proc", "sys", "tmp", "run", "mnt", "etc"];

impl FirstFiles {
    pub fn modules_inside(&self) -> Vec<String> {
        self.modules.iter().map(|path| inside(path)).collect()
    }

    pub fn write(&self, to: &Path) -> Result<(), ProgramError> {
        let file = ProgramError::file;
        let mut content = Vec::new();
        for path in self.early.iter().chain(&self.modules) {
            content.push((inside(path), 0o644, std::fs::read(path).map_err(file("read", path))?));
        }
        let early: String = self.early.iter().map(|path| inside(path) + "\n").collect();
        content.push((EARLY_LIST.into(), 0o644, early.into_bytes()));
        content.push(("etc/mtab".into(), 0o644, Vec::new()));
        let programs = self.programs()?.into_iter();
        content.extend(programs.map(|it| (it.path.to_string_lossy().into(), 0o755, it.content)));
        let written = archive(&content).and_then(|archive| std::fs::write(to, archive));
        written.map_err(file("write", to))
    }

    /// Each once.
    fn programs(&self) -> Result<Vec<ProgramFile>, ProgramError> {
        let mut there: Vec<ProgramFile> = Vec::new();
        let mut worker = program_files(&self.worker)?;
        worker[0].path = "/init".into();
        let mut files = worker;
        for program in &self.programs {
            files.extend(program_files(program)?);
        }
        for (tree, program) in &self.foreign {
            files.extend(program_files_of_tree(tree, program)?);
        }
        for file in files {
            if !there.iter().any(|known| known.path == file.path) {
                there.push(file);
            }
        }
        Ok(there)
    }
}

fn inside(module: &Path) -> String {
    format!("{MODULES}/{}", module.file_name().unwrap_or_default().to_string_lossy())
}

const FOLDER: u32 = 0o040_755;
const CHARACTER: u32 = 0o020_600;
const REGULAR: u32 = 0o100_000;

/// Of files with their modes; folders stand before what is in them.
fn archive(files: &[(String, u32, Vec<u8>)]) -> io::Result<Vec<u8>> {
    let relative = |path| Path::new(path).strip_prefix("/").unwrap_or(Path::new(path));
    let mut folders: BTreeSet<&Path> = FOLDERS.iter().map(Path::new).collect();
    for (path, ..) in files {
        let above = relative(path).ancestors().skip(1);
        folders.extend(above.filter(|path| !path.as_os_str().is_empty()));
    }
    let folders = folders.into_iter().map(|path| (path, FOLDER, (0, 0), &[][..]));
    let console = (Path::new("dev/console"), CHARACTER, (5, 1), &[][..]);
    let files = files
        .iter()
        .map(|(path, mode, bytes)| (relative(path), REGULAR | mode, (0, 0), bytes.as_slice()));
    let mut archive = Vec::new();
    let entries = folders.chain([console]).chain(files);
    for (number, (path, mode, (major, minor), bytes)) in (0..).zip(entries) {
        let header = Builder::new(&path.to_string_lossy()).ino(number).mode(mode).nlink(1);
        let header = header.rdev_major(major).rdev_minor(minor);
        let mut entry = header.write(&mut archive, bytes.len() as u32);
        entry.write_all(bytes)?;
        entry.finish()?;
    }
    trailer(archive)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_stand_before_what_is_in_them_and_once() {
        let file = |path: &str, mode, bytes: &[u8]| (path.to_owned(), mode, bytes.to_vec());
        let files = [file("/lib/x86/libc.so.6", 0o755, b"12345"), file("lib/x86/m", 0o644, b"")];
        let archive = archive(&files).unwrap();
        let (mut rest, mut found) = (archive.as_slice(), Vec::new());
        loop {
            let reader = cpio::newc::Reader::new(rest).unwrap();
            let entry = reader.entry();
            if entry.is_trailer() {
                break;
            }
            if entry.name().contains(['b', 'c']) {
                found.push((entry.name().to_owned(), entry.mode(), entry.file_size()));
            }
            rest = reader.finish().unwrap();
        }
        let expected = [
            ("etc", FOLDER, 0),
            ("lib", FOLDER, 0),
            ("lib/x86", FOLDER, 0),
            ("proc", FOLDER, 0),
            ("dev/console", CHARACTER, 0),
            ("lib/x86/libc.so.6", 0o100_755, 5),
            ("lib/x86/m", 0o100_644, 0),
        ];
        assert_eq!(found, expected.map(|(name, mode, size)| (name.to_owned(), mode, size)));
    }
}
