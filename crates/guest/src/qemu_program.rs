//! QEMU itself: the one that is installed, or Debian's package unpacked into the cache with the libraries that
//! this machine lacks. What runs here is words: the program, behind the variables that an unpacked one
//! needs to find its parts.

use std::{
    ffi::OsString,
    path::Path,
    process::{Command, Stdio},
};

use crate::{
    package_set::{Members, PackageSet},
    packages::{PackageCache, PackageError},
};

/// The program.
pub const PROGRAM: &str = "qemu-system-x86_64";
/// The package that holds it.
pub const PACKAGE: &str = "qemu-system-x86";
const SET: PackageSet<'_> = PackageSet { main: PACKAGE, members: Members::WithMissing };
const LIBRARIES: [&str; 2] = ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"];
/// Firmware and boot programs.
const DATA: [&str; 2] = ["usr/share/qemu", "usr/share/seabios"];

/// The words that run it, where it is installed or unpacked already; asks nobody.
pub fn held(cache: &PackageCache) -> Option<Vec<OsString>> {
    installed().or_else(|| Some(unpacked(&SET.held(cache)?.folder)))
}

/// The words that run it; fetched where it is not there.
///
/// # Errors
/// When it cannot be had or does not run, with the way out.
pub fn get(cache: &PackageCache) -> Result<Vec<OsString>, PackageError> {
    let words = match held(cache) {
        Some(words) => words,
        None => match SET.get(cache) {
            Ok(set) => unpacked(&set.folder),
            Err(refused @ PackageError::Refused { .. }) => return Err(refused),
            Err(error) => return Err(PackageError::NoQemu { why: error.to_string() }),
        },
    };
    runs(&words).map_err(|why| PackageError::NoQemu { why })?;
    Ok(words)
}

fn installed() -> Option<Vec<OsString>> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let program = std::env::split_paths(&path).map(|folder| folder.join(PROGRAM));
    program.into_iter().find(|path| path.is_file()).map(|path| vec![path.into()])
}

fn unpacked(tree: &Path) -> Vec<OsString> {
    let libraries = LIBRARIES.map(|folder| tree.join(folder).to_string_lossy().into_owned());
    let modules = tree.join(LIBRARIES[0]).join("qemu");
    let mut words: Vec<OsString> = vec![
        "/usr/bin/env".into(),
        format!("LD_LIBRARY_PATH={}", libraries.join(":")).into(),
        format!("QEMU_MODULE_DIR={}", modules.display()).into(),
        tree.join("usr/bin").join(PROGRAM).into(),
    ];
    for folder in DATA {
        words.extend(["-L".into(), tree.join(folder).into()]);
    }
    words
}

fn runs(words: &[OsString]) -> Result<(), String> {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).arg("--version").stdin(Stdio::null());
    let output = command.output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if output.status.success() { Ok(()) } else { Err(format!("it does not run: {said}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unpacked_program_finds_its_parts() {
        let words = unpacked(Path::new("/c/qemu"));
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        let libraries =
            "LD_LIBRARY_PATH=/c/qemu/usr/lib/x86_64-linux-gnu:/c/qemu/lib/x86_64-linux-gnu";
        assert_eq!(words[1], libraries);
        assert_eq!(words[2], "QEMU_MODULE_DIR=/c/qemu/usr/lib/x86_64-linux-gnu/qemu");
        assert_eq!(words[3], "/c/qemu/usr/bin/qemu-system-x86_64");
        assert_eq!(words[4..6], ["-L", "/c/qemu/usr/share/qemu"]);
    }

    #[test]
    fn what_does_not_run_is_told() {
        assert!(runs(&["/no/such/qemu".into()]).is_err());
        assert!(runs(&["/usr/bin/env".into(), "true".into()]).is_ok());
        assert!(runs(&["/usr/bin/env".into(), "false".into()]).is_err());
    }
}
