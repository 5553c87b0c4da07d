//! A program with all that it needs to run elsewhere: itself and its shared libraries, each
//! without what only a debugger reads. Its own interpreter is asked which libraries it would load
//! (ld.so(8), `--list`); the program is not run. Layout: elf(5).

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use elf::abi::{PT_INTERP, PT_LOAD};
use thiserror::Error;

use crate::module_info::elf64;

#[derive(Debug, Error)]
pub enum ProgramError {
    #[error("cannot {what} {path}: {cause}")]
    File { what: &'static str, path: PathBuf, cause: io::Error },
    #[error("{path} is no 64-bit ELF program")]
    NoElf { path: PathBuf },
    #[error("libraries of {path} cannot be listed: {said}")]
    NoList { path: PathBuf, said: String },
}

impl ProgramError {
    pub(crate) fn file(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |cause| ProgramError::File { what, path, cause }
    }
}

/// A file to be taken along, under the path where the program looks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramFile {
    pub path: PathBuf,
    /// What is loaded of it.
    pub content: Vec<u8>,
}

/// The program first, then its interpreter and its libraries.
pub fn program_files(program: &Path) -> Result<Vec<ProgramFile>, ProgramError> {
    files_with(program, &[])
}

/// An unpacked tree stands for `/`: libraries lie there or are this machine's, and each file gets
/// the path that it has below the tree.
pub fn program_files_of_tree(
    tree: &Path,
    program: &Path,
) -> Result<Vec<ProgramFile>, ProgramError> {
    let libraries = TREE_LIBRARIES.map(|folder| tree.join(folder).to_string_lossy().into_owned());
    let words = ["--library-path".to_owned(), libraries.join(":")];
    let mut files = files_with(&tree.join(program), &words)?;
    for file in &mut files {
        if let Ok(below) = file.path.strip_prefix(tree) {
            file.path = Path::new("/").join(below);
        }
    }
    Ok(files)
}

/// Where libraries lie below an unpacked tree.
pub(crate) const TREE_LIBRARIES: [&str; 2] = ["lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu"];

fn files_with(program: &Path, words: &[String]) -> Result<Vec<ProgramFile>, ProgramError> {
    let main = loaded(program)?;
    let mut files = vec![main];
    if let Some(interpreter) = interpreter(&files[0].content) {
        for path in libraries(program, &interpreter, words)? {
            files.push(loaded(&path)?);
        }
    }
    Ok(files)
}

fn loaded(path: &Path) -> Result<ProgramFile, ProgramError> {
    let content = fs::read(path).map_err(ProgramError::file("read", path))?;
    let content = loaded_part(content).ok_or_else(|| ProgramError::NoElf { path: path.into() })?;
    Ok(ProgramFile { path: path.into(), content })
}

fn libraries(
    program: &Path,
    interpreter: &Path,
    words: &[String],
) -> Result<Vec<PathBuf>, ProgramError> {
    let no_list = |said: String| ProgramError::NoList { path: program.into(), said };
    let output = Command::new(interpreter).args(words).arg("--list").arg(program).output();
    let output = output.map_err(|error| no_list(error.to_string()))?;
    if !output.status.success() {
        return Err(no_list(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    let mut paths = vec![interpreter.to_owned()];
    for path in listed(&String::from_utf8_lossy(&output.stdout)) {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    Ok(paths)
}

/// `\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x...)`; the vDSO has no path.
fn listed(text: &str) -> Vec<PathBuf> {
    let path = |line: &str| {
        let from = line.split_once("=> ").map_or(line, |(_, path)| path).trim();
        let path = from.split(" (").next()?;
        path.starts_with('/').then(|| PathBuf::from(path))
    };
    text.lines().filter_map(path).collect()
}

fn interpreter(elf: &[u8]) -> Option<PathBuf> {
    let elf = elf64(elf)?;
    let segment = elf.segments()?.iter().find(|segment| segment.p_type == PT_INTERP)?;
    let text = std::str::from_utf8(elf.segment_data(&segment).ok()?).ok()?;
    Some(PathBuf::from(text.trim_end_matches('\0')))
}

/// Cuts behind the last byte that is mapped and takes the section table, which lies there, out of the header.
fn loaded_part(mut elf: Vec<u8>) -> Option<Vec<u8>> {
    let loaded = elf64(&elf)?.segments()?.iter().filter(|segment| segment.p_type == PT_LOAD);
    let end = loaded.map(|segment| (segment.p_offset + segment.p_filesz) as usize).max()?;
    let end = end.min(elf.len()).max(64);
    elf.truncate(end);
    // e_shoff, then e_shnum and e_shstrndx.
    elf.get_mut(40..48)?.fill(0);
    elf.get_mut(60..64)?.fill(0);
    Some(elf)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pickfs_testkit::install;

    #[test]
    fn a_cut_program_still_runs() {
        let me = std::env::current_exe().unwrap();
        let files = program_files(&me).unwrap();
        assert!(files[0].content.len() < fs::read(&me).unwrap().len());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cut");
        install(&path, &files[0].content);
        let output = Command::new(&path).arg("--list").output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    #[test]
    fn libraries_are_read_from_the_list_of_the_interpreter() {
        let text = "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibc.so.6 => /lib/x/libc.so.6 (0x00007f)\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        assert_eq!(
            listed(text),
            [Path::new("/lib/x/libc.so.6"), Path::new("/lib64/ld-linux-x86-64.so.2")]
        );
    }

    #[test]
    fn a_program_of_a_tree_gets_the_paths_that_it_has_below_it() {
        let tree = tempfile::tempdir().unwrap();
        let program = tree.path().join("sbin/tool");
        fs::create_dir(tree.path().join("sbin")).unwrap();
        fs::copy("/bin/true", &program).unwrap();
        let files = program_files_of_tree(tree.path(), Path::new("sbin/tool")).unwrap();
        assert_eq!(files[0].path, Path::new("/sbin/tool"));
        let is_libc = |file: &ProgramFile| file.path.to_string_lossy().contains("/libc.so");
        assert!(files.iter().any(|file| is_libc(file) && !file.path.starts_with(tree.path())));
    }

    #[test]
    fn a_script_is_no_program() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("script");
        fs::write(&path, "#!/bin/sh\n").unwrap();
        assert!(matches!(program_files(&path), Err(ProgramError::NoElf { .. })));
    }
}
