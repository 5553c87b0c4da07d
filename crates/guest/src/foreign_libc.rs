//! A kernel that runs as a program, with the C library of the suite it comes from: a later one than this
//! machine's. Its own interpreter must load it, as the kernel puts the heap of a program behind its interpreter's
//! choice of place: started through `ld.so PROGRAM`, user-mode Linux finds its heap terabytes away.
//!
//! ```text
//! packages/user-mode-linux_7.2um1/fitted/linux.uml    a copy that names the interpreter below
//! packages/libc6_2.43-7/usr/lib/x86_64-linux-gnu/     interpreter and library
//! ```
//!
//! The name of the interpreter is written behind the end of the copy, and the program header points there:
//! execve(2) reads it from the file (elf(5), PT_INTERP).

use std::{
    ffi::OsString,
    fs, io,
    os::unix::{ffi::OsStrExt, fs::PermissionsExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{
    packages::{PackageCache, PackageError, Unpacked, cannot},
    program_files::{Segment, interpreter, segments},
};

/// The library's package.
const LIBC: &str = "libc6";
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";
const INTERPRETER: &str = "ld-linux-x86-64.so.2";

/// A program that runs here, with the words that go before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runnable {
    /// The program, or a fitted copy.
    pub program: PathBuf,
    /// What runs it.
    pub runner: Vec<OsString>,
}

/// The program of a package as it runs here: itself, or a copy with a later C library, which is fetched.
///
/// # Errors
/// When no library can be had with which it runs.
pub fn runnable(
    cache: &PackageCache,
    package: &Unpacked,
    program: &Path,
) -> Result<Runnable, PackageError> {
    let plain = Runnable { program: program.into(), runner: Vec::new() };
    if runs(&plain) {
        return Ok(plain);
    }
    let held = cache.held(LIBC).map(|libc| fitted(package, program, &libc)).transpose()?;
    if let Some(fitted) = held.filter(runs) {
        return Ok(fitted);
    }
    let fitted = fitted(package, program, &cache.get_newest(LIBC)?)?;
    match runs(&fitted) {
        true => Ok(fitted),
        false => Err(PackageError::Strange {
            package: format!("{} {}", package.name, package.version),
            what: format!("program that runs here, nor with Debian's newest {LIBC}"),
        }),
    }
}

/// Kernels print their release and end (user_mode_linux_howto_v2.rst).
fn runs(runnable: &Runnable) -> bool {
    let mut words = runnable.runner.iter().cloned().chain([runnable.program.clone().into()]);
    let Some(first) = words.next() else { return false };
    let mut command = Command::new(first);
    command.args(words).arg("--version").stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn fitted(package: &Unpacked, program: &Path, libc: &Unpacked) -> Result<Runnable, PackageError> {
    let libraries = libc.folder.join(LIBRARIES);
    let folder = package.folder.join("fitted");
    let copy = folder.join(program.file_name().unwrap_or_default());
    fit(program, &copy, &libraries.join(INTERPRETER)).map_err(cannot("write", &copy))?;
    let mut path = OsString::from("LD_LIBRARY_PATH=");
    path.push(&libraries);
    // env sets it for the program alone, not for what stands before it.
    Ok(Runnable { program: copy, runner: vec!["env".into(), path] })
}

/// Writes the copy, unless it is there and names this interpreter.
fn fit(program: &Path, copy: &Path, interpreter_path: &Path) -> io::Result<()> {
    let named = fs::read(copy).ok().and_then(|elf| interpreter(&elf));
    if named.as_deref() == Some(interpreter_path) {
        return Ok(());
    }
    let no_program = || io::Error::other("it is no 64-bit ELF program with an interpreter");
    let elf = with_interpreter(fs::read(program)?, interpreter_path).ok_or_else(no_program)?;
    fs::create_dir_all(copy.parent().unwrap_or(copy))?;
    let new = copy.with_extension(format!("new-{}", std::process::id()));
    fs::write(&new, elf)?;
    fs::set_permissions(&new, fs::Permissions::from_mode(0o755))?;
    fs::rename(&new, copy)
}

/// Field offsets in a program header of 64 bits: p_offset, p_filesz, p_memsz.
const OFFSET: usize = 8;
const SIZES: [usize; 2] = [32, 40];

fn with_interpreter(mut elf: Vec<u8>, path: &Path) -> Option<Vec<u8>> {
    let headers = segments(&elf)?;
    let Segment { header, .. } = headers.into_iter().find(Segment::is_interpreter)?;
    let (at, name) = (elf.len() as u64, path.as_os_str().as_bytes());
    elf.extend(name);
    elf.push(0);
    let mut put = |field: usize, value: u64| {
        let field = elf.get_mut(header + field..header + field + 8)?;
        field.copy_from_slice(&value.to_le_bytes());
        Some(())
    };
    put(OFFSET, at)?;
    SIZES.into_iter().try_for_each(|field| put(field, name.len() as u64 + 1))?;
    Some(elf)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_names_its_own_interpreter_and_runs() {
        let me = std::env::current_exe().unwrap();
        let Some(own) = interpreter(&fs::read(&me).unwrap()) else {
            println!("SKIPPED: this test is a static program");
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        let other = folder.path().join("a-longer-name-for-the-interpreter");
        std::os::unix::fs::symlink(own, &other).unwrap();
        let copy = folder.path().join("fitted/me");
        fit(&me, &copy, &other).unwrap();
        assert_eq!(interpreter(&fs::read(&copy).unwrap()), Some(other.clone()));
        let runs = || Command::new(&copy).arg("--list").stdout(Stdio::null()).status();
        assert!(runs().unwrap().success());
        let made = fs::metadata(&copy).unwrap().modified().unwrap();
        fit(&me, &copy, &other).unwrap();
        assert_eq!(fs::metadata(&copy).unwrap().modified().unwrap(), made, "not written again");
        fs::remove_file(&other).unwrap();
        assert!(runs().is_err(), "the interpreter it names is the one that loads it");
    }

    #[test]
    fn a_script_has_no_interpreter_of_this_kind() {
        assert_eq!(with_interpreter(b"#!/bin/sh\n".to_vec(), Path::new("/x")), None);
    }
}
