//! The first file system of a guest: the worker as its first program, modules, and whatever
//! programs a mount needs. The kernel unpacks it into memory before anything runs.
//!
//! ```text
//! /init              the worker; as process 1 it is the agent (crate worker)
//! /lib/..., /lib64/  its interpreter and libraries, where it is not static
//! /pickfs/early      modules that the channel itself needs, one path a line
//! /pickfs/modules/   modules
//! /dev/console       so that a panic before anything else has a place to be told
//! ```

use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::{
    cpio::Archive,
    program_files::{ProgramError, ProgramFile, program_files, program_files_of_tree},
};

#[derive(Debug, Error)]
pub enum FirstFilesError {
    #[error(transparent)]
    Program(#[from] ProgramError),
    #[error("cannot {what} {path}: {cause}")]
    File { what: &'static str, path: PathBuf, cause: std::io::Error },
}

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

    pub fn write(&self, to: &Path) -> Result<(), FirstFilesError> {
        let file = |what, path: &Path| {
            let path = path.to_owned();
            move |cause| FirstFilesError::File { what, path, cause }
        };
        let mut content = Vec::new();
        for path in self.early.iter().chain(&self.modules) {
            content.push((inside(path), 0o644, std::fs::read(path).map_err(file("read", path))?));
        }
        let early: String = self.early.iter().map(|path| inside(path) + "\n").collect();
        content.push((EARLY_LIST.into(), 0o644, early.into_bytes()));
        content.push(("etc/mtab".into(), 0o644, Vec::new()));
        let programs = self.programs()?.into_iter();
        content.extend(programs.map(|it| (it.path.to_string_lossy().into(), 0o755, it.content)));
        let archive = || {
            let mut archive = Archive::default();
            FOLDERS.iter().try_for_each(|folder| archive.folder(folder))?;
            archive.device("dev/console", (5, 1))?;
            content.iter().try_for_each(|(path, mode, bytes)| archive.file(path, *mode, bytes))?;
            archive.finish()
        };
        let written = archive().and_then(|archive| std::fs::write(to, archive));
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
