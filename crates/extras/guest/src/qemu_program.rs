//! QEMU itself: the one that is installed, or Debian's package unpacked into the cache with the libraries that
//! this machine lacks. What runs here is words: the program, behind the variables that an unpacked one
//! needs to find its parts.

use std::{
    ffi::OsString,
    process::{Command, Stdio},
};

use pickfs_candidate::availability::find_program;

use crate::{
    guest_tools::Tool,
    packages::{PackageCache, PackageError},
    program_files::TREE_LIBRARIES,
};

pub const PROGRAM: &str = "qemu-system-x86_64";
pub const PACKAGE: &str = "qemu-system-x86";
/// Firmware and boot programs.
const DATA: [&str; 2] = ["usr/share/qemu", "usr/share/seabios"];

/// Where it is installed or unpacked already; asks nobody.
pub fn held(cache: &PackageCache) -> Option<Vec<OsString>> {
    let installed = find_program(PROGRAM).map(|path| vec![path.into()]);
    installed.or_else(|| Some(unpacked(&Tool::held(cache, PROGRAM, PACKAGE)?)))
}

/// Fetched where it is not there.
pub fn get(cache: &PackageCache) -> Result<Vec<OsString>, PackageError> {
    let words = match held(cache) {
        Some(words) => words,
        None => match Tool::get(cache, PROGRAM, PACKAGE) {
            Ok(tool) => unpacked(&tool),
            Err(refused @ PackageError::Refused { .. }) => return Err(refused),
            Err(error) => return Err(PackageError::NoQemu { why: error.to_string() }),
        },
    };
    runs(&words).map_err(|why| PackageError::NoQemu { why })?;
    Ok(words)
}

/// A program of a tree, which is told where its parts are.
fn unpacked(tool: &Tool) -> Vec<OsString> {
    let modules = tool.tree.join(TREE_LIBRARIES[1]).join("qemu");
    let mut words =
        vec!["/usr/bin/env".into(), format!("QEMU_MODULE_DIR={}", modules.display()).into()];
    words.extend(tool.words());
    for folder in DATA {
        words.extend(["-L".into(), tool.tree.join(folder).into()]);
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
        let tool = Tool { tree: "/c/qemu".into(), path: "usr/bin/qemu-system-x86_64".into() };
        let words = unpacked(&tool);
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        assert_eq!(words[1], "QEMU_MODULE_DIR=/c/qemu/usr/lib/x86_64-linux-gnu/qemu");
        assert_eq!(words[4], "/c/qemu/usr/bin/qemu-system-x86_64");
        assert_eq!(words[5..7], ["-L", "/c/qemu/usr/share/qemu"]);
    }

    #[test]
    fn what_does_not_run_is_told() {
        assert!(runs(&["/no/such/qemu".into()]).is_err());
        assert!(runs(&["/usr/bin/env".into(), "true".into()]).is_ok());
        assert!(runs(&["/usr/bin/env".into(), "false".into()]).is_err());
    }
}
