//! What a build needs of this machine. A compiler, make and the like must be installed; flex and bison,
//! which few machines have, are downloaded and unpacked into the cache.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use crate::error::ModuleError;
use crate::run::{Shell, find};
use crate::source::download;

/// Programs that must be there, with their packages.
const NEEDED: &[(&str, &str)] = &[
    ("gcc", "gcc"),
    ("ld", "binutils"),
    ("make", "make"),
    ("bc", "bc"),
    ("tar", "tar"),
    ("xz", "xz-utils"),
    ("gzip", "gzip"),
    ("dpkg", "dpkg"),
    ("apt-get", "apt"),
    ("apt-cache", "apt"),
];
/// Packages of flex and bison, behind what they stand on: bison, the last, tells that all are there.
const FETCHED: [&str; 4] = ["libsigsegv2", "m4", "flex", "bison"];
const LIBRARIES: [&str; 2] = ["usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu"];

/// What a build against ready headers needs.
const NEEDED_BY_HEADERS: &[(&str, &str)] =
    &[("gcc", "gcc"), ("ld", "binutils"), ("make", "make"), ("tar", "tar"), ("xz", "xz-utils")];

/// Looks for what a build against headers needs.
pub(crate) fn shell_for_headers() -> Result<Shell, ModuleError> {
    look_for(NEEDED_BY_HEADERS).map(|()| Shell::default())
}

fn look_for(needed: &[(&'static str, &'static str)]) -> Result<(), ModuleError> {
    for &(program, package) in needed {
        find(program).ok_or(ModuleError::NoProgram { program, package })?;
    }
    Ok(())
}

/// Looks for all of them; gives back a shell that finds them.
pub(crate) fn shell(cache: &Path) -> Result<Shell, ModuleError> {
    look_for(NEEDED)?;
    if find("flex").is_some() && find("bison").is_some() {
        return Ok(Shell::default());
    }
    let folder = cache.join("tools");
    if !folder.join("usr/bin/bison").is_file() {
        fs::create_dir_all(&folder).map_err(ModuleError::io("make", &folder))?;
        for package in FETCHED {
            let file = download(&folder, package)?;
            Shell::default().run(&folder, "dpkg", &["-x", &file, "."])?;
        }
    }
    Ok(Shell { variables: variables(&folder) })
}

/// What lets unpacked programs find each other.
fn variables(folder: &Path) -> Vec<(&'static str, OsString)> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let before = |first: Vec<std::path::PathBuf>, rest: &OsString| {
        let all = first.into_iter().chain(std::env::split_paths(rest));
        std::env::join_paths(all).unwrap_or_else(|_| rest.clone())
    };
    let libraries = LIBRARIES.map(|library| folder.join(library)).to_vec();
    vec![
        ("PATH", before(vec![folder.join("usr/bin")], &path)),
        ("LD_LIBRARY_PATH", before(libraries, &OsString::new())),
        ("BISON_PKGDATADIR", folder.join("usr/share/bison").into()),
        ("M4", folder.join("usr/bin/m4").into()),
    ]
}
