//! OpenZFS from the unpacked package zfs-dkms, without dkms: its own configure asks the headers of the kernel some
//! two hundred questions by small builds, then its nine modules are made. Nothing of its source is changed.
//!
//! Source: openzfs.github.io, Building ZFS; `dkms.conf` of the package.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::ModuleError;
use crate::run::Shell;

/// The module that needs all others; with it all are there.
pub const LAST: &str = "zfs";
const FOLDER: &str = "module";

/// In a folder, which must not be there; gives their names and files, `zfs` last.
pub(crate) fn build(
    shell: &Shell,
    package: &Path,
    (own, shared): (PathBuf, PathBuf),
    folder: &Path,
) -> Result<Vec<(String, PathBuf)>, ModuleError> {
    let source = source_in(package)?;
    let (from, to) = (source.to_string_lossy(), folder.to_string_lossy());
    shell.run(package, "cp", &["-r", &from, &to])?;
    let (own, shared) = (own.display(), shared.display());
    let words = [
        "--disable-dependency-tracking".to_owned(),
        "--with-config=kernel".into(),
        format!("--with-linux={shared}"),
        format!("--with-linux-obj={own}"),
        "KERNEL_CC=gcc".into(),
    ];
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let configure = folder.join("configure");
    shell.run(folder, &configure.to_string_lossy(), &words)?;
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    shell.run(folder, "make", &[&format!("-j{jobs}")])?;
    let mut modules = Vec::new();
    collect(&folder.join(FOLDER), &mut modules)?;
    modules.sort_by_key(|(name, _)| (name == LAST, name.clone()));
    match modules.last() {
        Some((name, _)) if name == LAST => Ok(modules),
        _ => Err(ModuleError::Failed {
            command: "make".into(),
            status: "no module zfs".into(),
            output: String::new(),
        }),
    }
}

/// `usr/src/zfs-2.1.11`, whatever its version.
fn source_in(package: &Path) -> Result<PathBuf, ModuleError> {
    let folder = package.join("usr/src");
    let entries = fs::read_dir(&folder).map_err(ModuleError::io("list", &folder))?;
    let mut all = entries.flatten().map(|entry| entry.path());
    let found = all.find(|path| path.join("configure").is_file());
    let missing = ModuleError::NoSource { package: "zfs-dkms".into(), release: "any".into() };
    found.ok_or(missing)
}

fn collect(folder: &Path, into: &mut Vec<(String, PathBuf)>) -> Result<(), ModuleError> {
    for entry in fs::read_dir(folder).map_err(ModuleError::io("list", folder))?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, into)?;
        } else if path.extension().is_some_and(|end| end == "ko") {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            into.push((name, path));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_modules_are_kept_and_the_one_that_needs_the_others_is_the_last() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("package/usr/src/zfs-2.1.11");
        fs::create_dir_all(&source).unwrap();
        let package = folder.path().join("package");
        assert!(source_in(&package).unwrap_err().is_skip());
        let configure = "#!/bin/sh\nfor name in zfs/zfs spl/spl zcommon/zcommon; do\n\
             mkdir -p module/${name%/*}; echo \"$@\" > module/$name.ko; done\n\
             printf 'all:\\n\\ttrue\\n' > Makefile\n";
        fs::write(source.join("configure"), configure).unwrap();
        Shell::default().run(&source, "chmod", &["+x", "configure"]).unwrap();
        let headers = (PathBuf::from("/h/own"), PathBuf::from("/h/common"));
        let built = build(&Shell::default(), &package, headers, &folder.path().join("build"));
        let built = match built {
            Err(ModuleError::Io { .. }) => return println!("SKIPPED(unit): make not found"),
            built => built.unwrap(),
        };
        let names: Vec<_> = built.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["spl", "zcommon", "zfs"]);
        let words = fs::read_to_string(&built[2].1).unwrap();
        assert!(words.contains("--with-linux=/h/common --with-linux-obj=/h/own"), "{words}");
    }
}
