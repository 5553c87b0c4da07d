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
        let mut archive = Archive::default();
        FOLDERS.iter().for_each(|folder| archive.folder(folder));
        archive.device("dev/console", 5, 1);
        archive.file("etc/mtab", 0o644, b"");
        self.put_programs(&mut archive)?;
        for path in self.early.iter().chain(&self.modules) {
            let content = std::fs::read(path).map_err(file("read", path))?;
            archive.file(&inside(path), 0o644, &content);
        }
        let early: String = self.early.iter().map(|path| inside(path) + "\n").collect();
        archive.file(EARLY_LIST, 0o644, early.as_bytes());
        std::fs::write(to, archive.finish()).map_err(file("write", to))
    }

    fn put_programs(&self, archive: &mut Archive) -> Result<(), ProgramError> {
        let mut there: Vec<PathBuf> = Vec::new();
        let mut worker = program_files(&self.worker)?;
        worker[0].path = "/init".into();
        let mut files = worker;
        for program in &self.programs {
            files.extend(program_files(program)?);
        }
        for (tree, program) in &self.foreign {
            files.extend(program_files_of_tree(tree, program)?);
        }
        for ProgramFile { path, content } in files {
            if !there.contains(&path) {
                archive.file(&path.to_string_lossy(), 0o755, &content);
                there.push(path);
            }
        }
        Ok(())
    }
}

fn inside(module: &Path) -> String {
    format!("{MODULES}/{}", module.file_name().unwrap_or_default().to_string_lossy())
}
